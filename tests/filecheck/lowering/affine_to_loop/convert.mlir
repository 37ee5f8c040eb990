// RUN: stepwell-opt %s -p convert-affine-to-loop | filecheck %s

// Affine arithmetic of indices becomes part of subscripts, and a value that a loop carries a buffer of one element.
func.func @strided_sum(%v: memref<64xf32>) -> f32 {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c30 = arith.constant 30 : index
  %t = scf.for %i = %c0 to %c30 step %c2 iter_args(%acc = %z) -> (f32) {
    %ii = arith.muli %i, %c2 : index
    %jj = arith.addi %ii, %c2 : index
    %e = memref.load %v[%jj] : memref<64xf32>
    %w = arith.addf %acc, %e : f32
    scf.yield %w : f32
  }
  func.return %t : f32
}
// CHECK-LABEL: func.func @strided_sum
// CHECK:         %carried = loop.alloc register : memref<f32>
// CHECK-NEXT:    loop.store %z, %carried[]
// CHECK-NEXT:    loop.for serial "i" %i = 0 to 30 step 2 {
// CHECK-NEXT:      %acc = loop.load %carried[]
// CHECK:           %e = loop.load %v[%i * 2 + 2]
// CHECK:           loop.store %w, %carried[]
// CHECK:         %t = loop.load %carried[]
// CHECK-NEXT:    func.return %t : f32

// A subscript that is loaded is a value that the map is over, and opaque to analysis.
func.func @looks_up(%v: memref<64xf32>, %n: memref<8xindex>) {
  affine.for %i = 0 to 8 {
    %at = affine.load %n[%i] : memref<8xindex>
    %e = memref.load %v[%at] : memref<64xf32>
    affine.store %e, %v[%i] : memref<64xf32>
  }
  func.return
}
// CHECK-LABEL: func.func @looks_up
// CHECK:         loop.for serial "i" %i = 0 to 8 {
// CHECK-NEXT:      %at = loop.load %n[%i]
// CHECK-NEXT:      %e = loop.load %v[%at]
// CHECK-NEXT:      loop.store %e, %v[%i]

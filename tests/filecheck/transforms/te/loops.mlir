// RUN: stepwell-opt %s -p te-fuse | filecheck %s --check-prefix=FUSE
// RUN: stepwell-opt %s -p te-fuse,te-bufferize,convert-te-to-loop | filecheck %s

// Loops are a kernel by themselves. What they start with is updated in place where nothing else needs it, and copied
// where it is an argument.

// FUSE-LABEL: func.func @in_place
// FUSE:         te.kernel "e"
// FUSE:         te.kernel "update" (%e_1 = %e) : (tensor<4xf32>) -> tensor<4xf32> {
// FUSE-NEXT:      te.loops "update" () -> (%out = %e_1) : () -> tensor<4xf32> {
// FUSE:         te.kernel "y"

// CHECK:        func.func private @in_place.update(%e: memref<4xf32> {stepwell.result}) {
// CHECK-NEXT:     %c = arith.constant
// CHECK-NEXT:     loop.store %c, %e[2] : memref<4xf32>
// CHECK-NEXT:     func.return
func.func @in_place(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %v = math.exp %a : f32
    te.yield %v : f32
  }
  %r = te.loops "update" () -> (%out = %e) : () -> tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    loop.store %c, %out[2] : memref<4xf32>
  }
  %y = te.compute [%i = 4] (%a = %r[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %v = math.exp %a : f32
    te.yield %v : f32
  }
  func.return %y : tensor<4xf32>
}

// CHECK:        func.func private @copied.update(%x: memref<4xf32>, %r: memref<4xf32> {stepwell.result}) {
// CHECK-NEXT:     "memref.copy"(%x, %r)
// CHECK-NEXT:     %c = arith.constant
// CHECK-NEXT:     loop.store %c, %r[2] : memref<4xf32>
func.func @copied(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = te.loops "update" () -> (%out = %x) : () -> tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    loop.store %c, %out[2] : memref<4xf32>
  }
  func.return %r : tensor<4xf32>
}

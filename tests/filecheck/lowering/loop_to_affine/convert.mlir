// RUN: stepwell-opt %s -p convert-loop-to-affine | filecheck %s
// RUN: stepwell-opt %s -p convert-loop-to-affine,convert-affine-to-loop | filecheck %s --check-prefix BACK

// Bounds, subscripts and conditions are maps over the same values. Names, kinds and modes of loops stay as attributes.
func.func @tiles(%A: memref<10x?xf32>, %n: index) {
  loop.for parallel "i" %i = 0 to 10 step 4 {
    loop.for parallel threads "j" %j = %i to min(%i + 4, %n) {
      %a = loop.load %A[%i, %j floordiv 2] : memref<10x?xf32>
      %b = loop.if (%j - %i - 1 >= 0) -> (f32) {
        loop.yield %a : f32
      } else {
        %z = arith.constant 0.0 : f32
        loop.yield %z : f32
      }
      loop.store %b, %A[%i, %j] : memref<10x?xf32>
    }
  }
  func.return
}
// CHECK:      affine.for %i = 0 to 10 step 4 {
// CHECK-NEXT:   affine.for %j = affine_map<(d0) -> (d0)>(%i) to min affine_map<(d0, d1) -> ((d0 + 4), d1)>(%i, %n) {
// CHECK-NEXT:     %a = affine.load %A[%i, %j floordiv 2]
// CHECK-NEXT:     %b = "affine.if"(%j, %i) <{condition = affine_set<(d0, d1) : (((d0 + (d1 * -1)) + -1) >= 0)>}> ({
// CHECK:          affine.store %b, %A[%i, %j]
// CHECK-NEXT:   } {stepwell.loop = "j", stepwell.kind = "parallel", stepwell.mode = "threads"}
// CHECK-NEXT: } {stepwell.loop = "i", stepwell.kind = "parallel"}

// Kinds and modes are not read back: other tools may have changed the bodies, and steps prove again what they need.
// BACK:      loop.for serial "i" %i = 0 to 10 step 4 {
// BACK-NEXT:   loop.for serial "j" %j = %i to min(%i + 4, %n) {
// BACK-NEXT:     %a = loop.load %A[%i, %j floordiv 2]
// BACK-NEXT:     %b = loop.if (%j - %i - 1 >= 0) -> (f32) {

// Registers and the stack are `memref.alloca`; what else is allocated is freed where its block ends.
func.func @scratch(%A: memref<8xf32>) {
  %S = loop.alloc stack : memref<8xf32>
  %T = loop.alloc arena : memref<8xf32>
  loop.for parallel "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<8xf32>
    loop.store %a, %T[%i] : memref<8xf32>
    loop.store %a, %S[%i] : memref<8xf32>
  }
  func.return
}
// CHECK-LABEL: @scratch
// CHECK-NEXT:    %S = memref.alloca() : memref<8xf32>
// CHECK-NEXT:    %T = memref.alloc() : memref<8xf32>
// CHECK:         memref.dealloc %T : memref<8xf32>
// CHECK-NEXT:    func.return

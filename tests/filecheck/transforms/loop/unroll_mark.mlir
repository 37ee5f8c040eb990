// RUN: stepwell-opt %s -p 'loop-unroll{loop=f/j mark=true}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-unroll{loop=f/j mark=true},convert-loop-to-core' | filecheck %s --check-prefix CORE
// RUN: not stepwell-opt %s -p 'loop-unroll{loop=f/k mark=true}' 2>&1 | filecheck %s --check-prefix ENDLESS
// RUN: not stepwell-opt %s -p 'loop-unroll{loop=f/j mark=true factor=2}' 2>&1 | filecheck %s --check-prefix FACTOR

// The loop stays, marked; below, its iterations are written out, each behind what is not known of its end.
// CHECK:      loop.for parallel "i" %i = 0 to 3 {
// CHECK-NEXT:   loop.for parallel unroll "j" %j = 0 to min(2, %n) {
// CHECK-NEXT:     loop.store %v, %A[%i, %j]

// What decides does not change in the loop around.
// CORE:         %[[FIRST:.*]] = arith.cmpi
// CORE:         %[[SECOND:.*]] = arith.cmpi
// CORE:         scf.for %i
// CORE:           scf.if %[[FIRST]] {
// CORE-NEXT:        memref.store %v, %A[%i, %c0]
// CORE-NEXT:      }
// CORE:           scf.if %[[SECOND]] {
// CORE-NEXT:        memref.store %v, %A[%i, %c1]
// CORE-NEXT:      }
// CORE-NOT:       scf.if

// ENDLESS: error: {{.*}}unroll("f/k", mark=True) is refused: the bounds of loop 'k' have no number in them that limits it; simplify and normalize it, or split it first
// FACTOR: error: {{.*}}unroll("f/j", factor=2, mark=True) is refused: only whole loops are marked; leave out the factor
func.func private @f(%A: memref<64x8xf32>, %v: f32, %n: index) {
  loop.for parallel "i" %i = 0 to 3 {
    loop.for parallel "j" %j = 0 to min(2, %n) {
      loop.store %v, %A[%i, %j] : memref<64x8xf32>
    }
  }
  loop.for parallel "k" %k = 0 to %n {
    loop.store %v, %A[%k, 0] : memref<64x8xf32>
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-normalize{function=f}' | filecheck %s --check-prefix CHECK
// RUN: stepwell-opt %s -p 'loop-simplify{function=f}' | filecheck %s --check-prefix SIMPLIFY

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   loop.for parallel "i" %i = 0 to 4 {
// CHECK-NEXT:     loop.store %v, %A[%i * 2 + 3]
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.for parallel "o" %o = 0 to 4 {
// CHECK-NEXT:     loop.for parallel "p" %p = 0 to min(4, %o * -4 + 14) {
// CHECK-NEXT:       loop.store %v, %A[%p + %o * 4]
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.for parallel "m" %m = max(%n, 3) to 9 step 2 {
// CHECK-NEXT:     loop.store %v, %A[%m]
// CHECK-NEXT:   }

// The numbers of iterations stay where a script may name them.
// SIMPLIFY-LABEL: func.func private @f
// SIMPLIFY-NEXT:   loop.for parallel "i" %i = 3 to 10 step 2 {
// SIMPLIFY:        loop.for parallel "o" %o = 0 to 14 step 4 {
// SIMPLIFY-NEXT:     loop.for parallel "p" %p = %o to min(%o + 4, 14) {
func.func private @f(%A: memref<64xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 3 to 10 step 2 {
    loop.store %v, %A[%i] : memref<64xf32>
  }
  loop.for parallel "o" %o = 0 to 14 step 4 {
    loop.for parallel "p" %p = %o to min(%o + 4, 14) {
      loop.store %v, %A[%p] : memref<64xf32>
    }
  }
  loop.for parallel "m" %m = max(%n, 3) to 9 step 2 {
    loop.store %v, %A[%m] : memref<64xf32>
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-partition{loop=f/i}' | filecheck %s --check-prefix CHECK
// RUN: not stepwell-opt %s -p 'loop-partition{loop=f/s}' 2>&1 | filecheck %s --check-prefix FIRST
// RUN: not stepwell-opt %s -p 'loop-partition{loop=f/m}' 2>&1 | filecheck %s --check-prefix NONE

// A condition on the loop and those inside of it holds for all of their iterations between the borders.
// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   loop.for parallel "i.front" %i = 0 to 1 {
// CHECK-NEXT:     loop.for parallel "k.front" %k = 0 to 3 {
// CHECK-NEXT:       loop.if (%i + %k - 1 >= 0, -%i - %k + 20 >= 0) {
// CHECK:        loop.for parallel "i" %i_1 = 1 to 19 {
// CHECK-NEXT:     loop.for parallel "k" %k_1 = 0 to 3 {
// CHECK-NEXT:       loop.store %v, %A[%i_1 + %k_1 - 1]
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.for parallel "i.back" %i_2 = 19 to 20 {
// CHECK-NEXT:     loop.for parallel "k.back" %k_2 = 0 to 3 {
// CHECK-NEXT:       loop.if (%i_2 + %k_2 - 1 >= 0, -%i_2 - %k_2 + 20 >= 0) {
// FIRST: error: {{.*}}partition("f/s") is refused: a condition inside of loop 's' begins to hold at another point than the next one, and it is not known which is first; index_set_split it where the condition changes
// NONE: error: {{.*}}partition("f/m") is refused: no condition inside of loop 'm' depends on it; index_set_split it at a point, or peel it
func.func private @f(%A: memref<20xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to 20 {
    loop.for parallel "k" %k = 0 to 3 {
      loop.if (%i + %k - 1 >= 0, -%i - %k + 20 >= 0) {
        loop.store %v, %A[%i + %k - 1] : memref<20xf32>
      }
    }
  }
  loop.for parallel "m" %m = 0 to 20 {
    loop.store %v, %A[%m] : memref<20xf32>
  }
  loop.for parallel "s" %s = 0 to 20 {
    loop.if (%s - %n >= 0, %s - 5 >= 0) {
      loop.store %v, %A[%s] : memref<20xf32>
    }
  }
  func.return
}

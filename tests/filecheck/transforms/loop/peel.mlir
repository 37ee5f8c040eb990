// RUN: stepwell-opt %s -p 'loop-peel{loop=f/i front=1 back=2}' | filecheck %s --check-prefix CHECK
// RUN: stepwell-opt %s -p 'loop-peel{loop=f/s front=1 back=1}' | filecheck %s --check-prefix STEPS
// RUN: stepwell-opt %s -p 'loop-peel{loop=f/m back=1}' | filecheck %s --check-prefix BACK
// RUN: not stepwell-opt %s -p 'loop-peel{loop=f/m front=1}' 2>&1 | filecheck %s --check-prefix MANY
// RUN: not stepwell-opt %s -p 'loop-peel{loop=f/m}' 2>&1 | filecheck %s --check-prefix NOTHING
// RUN: not stepwell-opt %s -p 'loop-peel{loop=f/m front=-1}' 2>&1 | filecheck %s --check-prefix NEGATIVE

// Loops in the copies have names of their own.
// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   loop.for parallel "i.front" %i = 0 to 1 {
// CHECK-NEXT:     loop.for parallel "j.front" %j = 0 to %i {
// CHECK-NEXT:       loop.store %v, %A[%i + %j]
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.for parallel "i" %i_1 = 1 to 8 {
// CHECK-NEXT:     loop.for parallel "j" %j_1 = 0 to %i_1 {
// CHECK-NEXT:       loop.store %v, %A[%i_1 + %j_1]
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.for parallel "i.back" %i_2 = 8 to 10 {
// CHECK-NEXT:     loop.for parallel "j.back" %j_2 = 0 to %i_2 {
// CHECK-NEXT:       loop.store %v, %A[%i_2 + %j_2]
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// One iteration from the end is found by the number of them.
// STEPS-LABEL: func.func private @f
// STEPS:        loop.for parallel "s.front" %s = -2 to min(1, %n) step 3 {
// STEPS-NEXT:     loop.store %v, %A[%s + 2]
// STEPS-NEXT:   }
// STEPS-NEXT:   loop.for parallel "s" %s_1 = 1 to (%n + 2) ceildiv 3 * 3 - 5 step 3 {
// STEPS-NEXT:     loop.store %v, %A[%s_1 + 2]
// STEPS-NEXT:   }
// STEPS-NEXT:   loop.for parallel "s.back" %s_2 = max(1, (%n + 2) ceildiv 3 * 3 - 5) to %n step 3 {
// STEPS-NEXT:     loop.store %v, %A[%s_2 + 2]
// STEPS-NEXT:   }
// A maximum at the start does not matter at the back.
// BACK-LABEL: func.func private @f
// BACK:        loop.for parallel "m" %m = max(0, %n) to 19 {
// BACK-NEXT:     loop.store %v, %A[%m]
// BACK-NEXT:   }
// BACK-NEXT:   loop.for parallel "m.back" %m_1 = max(%n, 19) to 20 {
// BACK-NEXT:     loop.store %v, %A[%m_1]
// BACK-NEXT:   }
// MANY: error: {{.*}}peel("f/m", front=1) is refused: loop 'm' starts at a maximum of several expressions, so the point to peel at is no affine expression; simplify or index_set_split it first
// NOTHING: error: {{.*}}peel("f/m") is refused: there is nothing to peel; give front=1, back=1 or both
// NEGATIVE: error: {{.*}}peel("f/m", front=-1) is refused: a number of iterations is negative; give 0 or more
func.func private @f(%A: memref<64xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to %i {
      loop.store %v, %A[%i + %j] : memref<64xf32>
    }
  }
  loop.for parallel "s" %s = -2 to %n step 3 {
    loop.store %v, %A[%s + 2] : memref<64xf32>
  }
  loop.for parallel "m" %m = max(0, %n) to 20 {
    loop.store %v, %A[%m] : memref<64xf32>
  }
  func.return
}

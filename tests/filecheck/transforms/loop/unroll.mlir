// RUN: stepwell-opt %s -p 'loop-unroll{loop=f/i}' | filecheck %s --check-prefix CHECK
// RUN: stepwell-opt %s -p 'loop-unroll{loop=f/k factor=3}' | filecheck %s --check-prefix PEEL
// RUN: stepwell-opt %s -p 'loop-unroll{loop=f/k factor=3 tail=guard}' | filecheck %s --check-prefix GUARD
// RUN: stepwell-opt %s -p 'loop-unroll{loop=f/o factor=2 tail=perfect}' | filecheck %s --check-prefix PERFECT
// RUN: stepwell-opt %s -p 'loop-unroll{loop=scratch/i factor=4 tail=pad}' | filecheck %s --check-prefix PAD
// RUN: stepwell-opt %s -p 'loop-unroll{loop=f/p}' | filecheck %s --check-prefix EXACT
// RUN: not stepwell-opt %s -p 'loop-unroll{loop=f/k}' 2>&1 | filecheck %s --check-prefix SYMBOL
// RUN: not stepwell-opt %s -p 'loop-unroll{loop=f/big}' 2>&1 | filecheck %s --check-prefix BIG
// RUN: not stepwell-opt %s -p 'loop-unroll{loop=f/k factor=2 tail=perfect}' 2>&1 | filecheck %s --check-prefix RAGGED
// RUN: not stepwell-opt %s -p 'loop-unroll{loop=f/k factor=2 tail=pad}' 2>&1 | filecheck %s --check-prefix OUTSIDE

// Each copy has buffers and loops of its own.
// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   %T = loop.alloc stack
// CHECK-NEXT:   loop.for parallel "j" %j = 0 to 4 {
// CHECK-NEXT:     loop.store %v, %T[%j]
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.store %v, %A[3]
// CHECK-NEXT:   %T_u1 = loop.alloc stack
// CHECK-NEXT:   loop.for parallel "j.u1" %j_1 = 0 to 4 {
// CHECK-NEXT:     loop.store %v, %T_u1[%j_1]
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.store %v, %A[5]
// CHECK-NEXT:   %T_u2 = loop.alloc stack
// CHECK-NEXT:   loop.for parallel "j.u2" %j_2 = 0 to 4 {
// CHECK-NEXT:     loop.store %v, %T_u2[%j_2]
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.store %v, %A[7]
// PEEL-LABEL: func.func private @f
// PEEL:        loop.for parallel "k" %k = 0 to %n floordiv 3 * 3 step 3 attributes {stepwell.unrolled} {
// PEEL-NEXT:     loop.store %v, %A[%k]
// PEEL-NEXT:     loop.store %v, %A[%k + 1]
// PEEL-NEXT:     loop.store %v, %A[%k + 2]
// PEEL-NEXT:   }
// PEEL-NEXT:   loop.for parallel "k.tail" %k_1 = max(0, %n floordiv 3 * 3) to %n {
// PEEL-NEXT:     loop.store %v, %A[%k_1]
// PEEL-NEXT:   }
// GUARD-LABEL: func.func private @f
// GUARD:        loop.for parallel "k" %k = 0 to %n step 3 attributes {stepwell.unrolled} {
// GUARD-NEXT:     loop.store %v, %A[%k]
// GUARD-NEXT:     loop.if (-%k + %n - 2 >= 0) {
// GUARD-NEXT:       loop.store %v, %A[%k + 1]
// GUARD-NEXT:     }
// GUARD-NEXT:     loop.if (-%k + %n - 3 >= 0) {
// GUARD-NEXT:       loop.store %v, %A[%k + 2]
// GUARD-NEXT:     }
// GUARD-NEXT:   }
// PERFECT-LABEL: func.func private @f
// PERFECT:        loop.for parallel "o" %o = 0 to 16 step 16 attributes {stepwell.unrolled} {
// PERFECT-NEXT:     loop.for parallel "p" %p = %o to min(%o + 2, 16) {
// PERFECT-NEXT:       loop.store %v, %A[%p]
// PERFECT-NEXT:     }
// PERFECT-NEXT:     loop.for parallel "p.u1" %p_1 = %o + 8 to min(%o + 10, 16) {
// PERFECT-NEXT:       loop.store %v, %A[%p_1]
// PERFECT-NEXT:     }
// PERFECT-NEXT:   }
// Two iterations wherever it runs, which the bounds do not show.
// EXACT-LABEL: func.func private @f
// EXACT:        loop.for parallel "o" %o = 0 to 16 step 8 {
// EXACT-NEXT:     loop.store %v, %A[%o]
// EXACT-NEXT:     loop.store %v, %A[%o + 1]
// EXACT-NEXT:   }
// SYMBOL: error: {{.*}}unroll("f/k") is refused: the trip count of loop 'k' is not constant, so it cannot be written out; give a factor and a tail, or split or peel the loop first
// BIG: error: {{.*}}unroll("f/big") is refused: 100000 copies of 2 operations are more than 16384; give a smaller factor
// RAGGED: error: {{.*}}unroll("f/k", factor=2, tail="perfect") is refused: the trip count of loop 'k' is not constant, expected a multiple of 2; choose a factor that does, or tail='guard', 'peel' or 'pad'
// OUTSIDE: error: {{.*}}unroll("f/k", factor=2, tail="pad") is refused: the iterations beyond the end would write '%A' outside of its shape; use tail='guard' or 'peel', or stage the buffer with padding first
func.func private @f(%A: memref<64xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 3 to 9 step 2 {
    %T = loop.alloc stack : memref<4xf32>
    loop.for parallel "j" %j = 0 to 4 {
      loop.store %v, %T[%j] : memref<4xf32>
    }
    loop.store %v, %A[%i] : memref<64xf32>
  }
  loop.for parallel "k" %k = 0 to %n {
    loop.store %v, %A[%k] : memref<64xf32>
  }
  loop.for parallel "o" %o = 0 to 16 step 8 {
    loop.for parallel "p" %p = %o to min(%o + 2, 16) {
      loop.store %v, %A[%p] : memref<64xf32>
    }
  }
  loop.for parallel "big" %b = 0 to 100000 {
    loop.store %v, %A[0] : memref<64xf32>
  }
  func.return
}

// PAD-LABEL: func.func private @scratch
// PAD:        loop.for parallel "i" %i = 0 to 7 step 4 attributes {stepwell.unrolled} {
// PAD-NEXT:     loop.store %v, %T[%i]
// PAD-NEXT:     loop.store %v, %T[%i + 1]
// PAD-NEXT:     loop.store %v, %T[%i + 2]
// PAD-NEXT:     loop.store %v, %T[%i + 3]
// PAD-NEXT:   }
func.func private @scratch(%v: f32) {
  %T = loop.alloc stack : memref<8xf32>
  loop.for parallel "i" %i = 0 to 7 {
    loop.store %v, %T[%i] : memref<8xf32>
  }
  func.return
}

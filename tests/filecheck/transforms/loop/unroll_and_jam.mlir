// RUN: stepwell-opt %s -p 'loop-unroll-and-jam{loop=f/i factor=2}' | filecheck %s --check-prefix PEEL
// RUN: stepwell-opt %s -p 'loop-unroll-and-jam{loop=f/i factor=2 tail=guard}' | filecheck %s --check-prefix GUARD
// RUN: stepwell-opt %s -p 'loop-unroll-and-jam{loop=even/i factor=2 tail=perfect}' | filecheck %s --check-prefix PERFECT
// RUN: not stepwell-opt %s -p 'loop-unroll-and-jam{loop=even/i factor=3 tail=perfect}' 2>&1 | filecheck %s --check-prefix RAGGED
// RUN: not stepwell-opt %s -p 'loop-unroll-and-jam{loop=even/i factor=3 tail=pad}' 2>&1 | filecheck %s --check-prefix OUTSIDE
// RUN: stepwell-opt %s -p 'loop-unroll-and-jam{loop=scratch/i factor=2 tail=pad}' | filecheck %s --check-prefix PAD
// RUN: stepwell-opt %s -p 'loop-unroll-and-jam{loop=triangle/i factor=2}' | filecheck %s --check-prefix TRIANGLE
// RUN: stepwell-opt %s -p 'loop-unroll-and-jam{loop=kinds/i factor=2}' | filecheck %s --check-prefix KINDS
// RUN: not stepwell-opt %s -p 'loop-unroll-and-jam{loop=back/i factor=2}' 2>&1 | filecheck %s --check-prefix BACK
// RUN: stepwell-opt %s -p 'loop-unroll-and-jam{loop=jumps/i factor=2}' | filecheck %s --check-prefix JUMPS
// RUN: not stepwell-opt %s -p 'loop-unroll-and-jam{loop=parts/i factor=2}' 2>&1 | filecheck %s --check-prefix PARTS

// Straight code is copied iteration by iteration, before and in the loop.
// PEEL-LABEL: func.func private @f
// PEEL:        loop.for parallel "i" %i = 0 to 8 step 2 attributes {stepwell.unrolled} {
// PEEL-NEXT:     loop.store %zero, %C[%i]
// PEEL-NEXT:     loop.store %zero, %C[%i + 1]
// PEEL-NEXT:     loop.for reduction "k" %k = 0 to 7 attributes {stepwell.unrolled} {
// PEEL-NEXT:       %a = loop.load %A[%i, %k]
// PEEL-NEXT:       %b = loop.load %B[%k]
// PEEL-NEXT:       %p = arith.mulf %a, %b : f32
// PEEL-NEXT:       %c = loop.load %C[%i]
// PEEL-NEXT:       %s = arith.addf %c, %p fastmath<reassoc> : f32
// PEEL-NEXT:       loop.store %s, %C[%i]
// PEEL-NEXT:       %a_1 = loop.load %A[%i + 1, %k]
// PEEL-NEXT:       %b_1 = loop.load %B[%k]
// PEEL-NEXT:       %p_1 = arith.mulf %a_1, %b_1 : f32
// PEEL-NEXT:       %c_1 = loop.load %C[%i + 1]
// PEEL-NEXT:       %s_1 = arith.addf %c_1, %p_1 fastmath<reassoc> : f32
// PEEL-NEXT:       loop.store %s_1, %C[%i + 1]
// PEEL-NEXT:     }
// PEEL-NEXT:   }
// PEEL-NEXT:   loop.for parallel "i.tail" %i_1 = 8 to 9 {
// PEEL-NEXT:     loop.store %zero, %C[%i_1]
// PEEL-NEXT:     loop.for reduction "k.tail" %k_1 = 0 to 7 {
// PEEL-NEXT:       %a_2 = loop.load %A[%i_1, %k_1]
// PEEL-NEXT:       %b_2 = loop.load %B[%k_1]
// PEEL-NEXT:       %p_2 = arith.mulf %a_2, %b_2 : f32
// PEEL-NEXT:       %c_2 = loop.load %C[%i_1]
// PEEL-NEXT:       %s_2 = arith.addf %c_2, %p_2 fastmath<reassoc> : f32
// PEEL-NEXT:       loop.store %s_2, %C[%i_1]
// PEEL-NEXT:     }
// PEEL-NEXT:   }
// GUARD-LABEL: func.func private @f
// GUARD:        loop.for parallel "i" %i = 0 to 9 step 2 attributes {stepwell.unrolled} {
// GUARD-NEXT:     loop.store %zero, %C[%i]
// GUARD-NEXT:     loop.if (-%i + 7 >= 0) {
// GUARD-NEXT:       loop.store %zero, %C[%i + 1]
// GUARD-NEXT:     }
// GUARD-NEXT:     loop.for reduction "k" %k = 0 to 7 attributes {stepwell.unrolled} {
// GUARD-NEXT:       %a = loop.load %A[%i, %k]
// GUARD-NEXT:       %b = loop.load %B[%k]
// GUARD-NEXT:       %p = arith.mulf %a, %b : f32
// GUARD-NEXT:       %c = loop.load %C[%i]
// GUARD-NEXT:       %s = arith.addf %c, %p fastmath<reassoc> : f32
// GUARD-NEXT:       loop.store %s, %C[%i]
// GUARD-NEXT:       loop.if (-%i + 7 >= 0) {
// GUARD-NEXT:         %a_1 = loop.load %A[%i + 1, %k]
// GUARD-NEXT:         %b_1 = loop.load %B[%k]
// GUARD-NEXT:         %p_1 = arith.mulf %a_1, %b_1 : f32
// GUARD-NEXT:         %c_1 = loop.load %C[%i + 1]
// GUARD-NEXT:         %s_1 = arith.addf %c_1, %p_1 fastmath<reassoc> : f32
// GUARD-NEXT:         loop.store %s_1, %C[%i + 1]
// GUARD-NEXT:       }
// GUARD-NEXT:     }
// GUARD-NEXT:   }
func.func private @f(%A: memref<9x7xf32>, %B: memref<7xf32>, %C: memref<9xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "i" %i = 0 to 9 {
    loop.store %zero, %C[%i] : memref<9xf32>
    loop.for reduction "k" %k = 0 to 7 {
      %a = loop.load %A[%i, %k] : memref<9x7xf32>
      %b = loop.load %B[%k] : memref<7xf32>
      %p = arith.mulf %a, %b : f32
      %c = loop.load %C[%i] : memref<9xf32>
      %s = arith.addf %c, %p fastmath<reassoc> : f32
      loop.store %s, %C[%i] : memref<9xf32>
    }
  }
  func.return
}

// What only one of the copies runs is split off before and after what they share.
// TRIANGLE-LABEL: func.func private @triangle
// TRIANGLE-NEXT:   loop.for parallel "i" %i = 0 to 8 step 2 attributes {stepwell.unrolled} {
// TRIANGLE-NEXT:     loop.for parallel "j.pre" %j = %i to min(%i + 1, %i * 2) {
// TRIANGLE-NEXT:       loop.store %v, %A[%i, %j - %i]
// TRIANGLE-NEXT:     }
// TRIANGLE-NEXT:     loop.for parallel "j" %j_1 = %i + 1 to %i * 2 attributes {stepwell.unrolled} {
// TRIANGLE-NEXT:       loop.store %v, %A[%i, %j_1 - %i]
// TRIANGLE-NEXT:       loop.store %v, %A[%i + 1, %j_1 + (-%i - 1)]
// TRIANGLE-NEXT:     }
// TRIANGLE-NEXT:     loop.for parallel "j.u1.post" %j_2 = max(%i + 1, %i * 2) to %i * 2 + 2 {
// TRIANGLE-NEXT:       loop.store %v, %A[%i + 1, %j_2 + (-%i - 1)]
// TRIANGLE-NEXT:     }
// TRIANGLE-NEXT:   }
func.func private @triangle(%A: memref<8x8xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = %i to 2 * %i {
      loop.store %v, %A[%i, %j - %i] : memref<8x8xf32>
    }
  }
  func.return
}

// j was parallel in each iteration of i, but not for two of them.
// KINDS-LABEL: func.func private @kinds
// KINDS-NEXT:   loop.for serial "i" %i = 1 to 9 step 2 attributes {stepwell.unrolled} {
// KINDS-NEXT:     loop.for serial "j" %j = 1 to 9 attributes {stepwell.unrolled} {
// KINDS-NEXT:       %a = loop.load %A[%i - 1, %j - 1]
// KINDS-NEXT:       loop.store %a, %A[%i, %j]
// KINDS-NEXT:       %a_1 = loop.load %A[%i, %j - 1]
// KINDS-NEXT:       loop.store %a_1, %A[%i + 1, %j]
// KINDS-NEXT:     }
// KINDS-NEXT:   }
func.func private @kinds(%A: memref<9x9xf32>) {
  loop.for serial "i" %i = 1 to 9 {
    loop.for parallel "j" %j = 1 to 9 {
      %a = loop.load %A[%i - 1, %j - 1] : memref<9x9xf32>
      loop.store %a, %A[%i, %j] : memref<9x9xf32>
    }
  }
  func.return
}

// BACK: error: {{.*}}unroll_and_jam("back/i", factor=2) is refused: the load of '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' at distance (1, -1); iterations (i=1, j=1) and (i=2, j=0) would be swapped; unroll 'i' without jamming, or interchange it inwards first
func.func private @back(%A: memref<9x9xf32>) {
  loop.for serial "i" %i = 1 to 9 {
    loop.for serial "j" %j = 0 to 8 {
      %a = loop.load %A[%i - 1, %j + 1] : memref<9x9xf32>
      loop.store %a, %A[%i, %j] : memref<9x9xf32>
    }
  }
  func.return
}

// Of a maximum only what grows makes a difference between the copies.
// JUMPS-LABEL: func.func private @jumps
// JUMPS-NEXT:   loop.for serial "i" %i = 0 to 8 step 2 attributes {stepwell.unrolled} {
// JUMPS-NEXT:     loop.for serial "j.pre" %j = max(0, %i - 2) to min(%i - 1, 9) {
// JUMPS-NEXT:       loop.store %v, %A[%i, %j]
// JUMPS-NEXT:     }
// JUMPS-NEXT:     loop.for serial "j" %j_1 = max(0, %i - 1) to 9 attributes {stepwell.unrolled} {
// JUMPS-NEXT:       loop.store %v, %A[%i, %j_1]
// JUMPS-NEXT:       loop.store %v, %A[%i + 1, %j_1]
// JUMPS-NEXT:     }
// JUMPS-NEXT:   }
func.func private @jumps(%A: memref<9x9xf32>, %v: f32) {
  loop.for serial "i" %i = 0 to 8 {
    loop.for serial "j" %j = max(0, %i - 2) to 9 {
      loop.store %v, %A[%i, %j] : memref<9x9xf32>
    }
  }
  func.return
}

// PERFECT-LABEL: func.func private @even
// PERFECT-NEXT:   loop.for parallel "i" %i = 0 to 8 step 2 attributes {stepwell.unrolled} {
// PERFECT-NEXT:     loop.for parallel "j" %j = 0 to 8 attributes {stepwell.unrolled} {
// PERFECT-NEXT:       loop.store %v, %A[%j, %i]
// PERFECT-NEXT:       loop.store %v, %A[%j, %i + 1]
// PERFECT-NEXT:     }
// PERFECT-NEXT:   }
// RAGGED: error: {{.*}}unroll_and_jam("even/i", factor=3, tail="perfect") is refused: loop 'i' has 8 iterations, expected a multiple of 3; choose a factor that does, or tail='guard', 'peel' or 'pad'
// OUTSIDE: error: {{.*}}unroll_and_jam("even/i", factor=3, tail="pad") is refused: the iterations beyond the end would write '%A' outside of its shape; use tail='guard' or 'peel', or stage the buffer with padding first
func.func private @even(%A: memref<8x8xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to 8 {
      loop.store %v, %A[%j, %i] : memref<8x8xf32>
    }
  }
  loop.for parallel "k" %k = 0 to 8 {
    loop.for parallel "l" %l = 0 to 8 {
      loop.store %v, %A[%l, %k] : memref<8x8xf32>
    }
  }
  func.return
}

// A loop between a reduction's load and its store: two copies would both load first.
// PARTS: error: {{.*}}unroll_and_jam("parts/i", factor=2) is refused: the load of '%C' ({{.*}}) must come after the store to '%C' ({{.*}}): flow dependence through '%C' at distance (<); iterations (i=0) and (i=1) would be swapped; unroll 'i' without jamming, or interchange it inwards first
func.func private @parts(%A: memref<8x8xi32>, %B: memref<8x8xi32>, %C: memref<1xi32>) {
  loop.for reduction "i" %i = 0 to 8 {
    %c = loop.load %C[0] : memref<1xi32>
    %a = loop.load %A[%i, 0] : memref<8x8xi32>
    loop.for parallel "j" %j = 0 to 8 {
      loop.store %a, %B[%i, %j] : memref<8x8xi32>
    }
    %s = arith.addi %c, %a : i32
    loop.store %s, %C[0] : memref<1xi32>
  }
  func.return
}

// PAD-LABEL: func.func private @scratch
// PAD:        loop.for parallel "i" %i = 0 to 7 step 2 attributes {stepwell.unrolled} {
// PAD-NEXT:     loop.for parallel "j" %j = 0 to 9 attributes {stepwell.unrolled} {
// PAD-NEXT:       loop.store %v, %T[%i, %j]
// PAD-NEXT:       loop.store %v, %T[%i + 1, %j]
// PAD-NEXT:     }
// PAD-NEXT:   }
func.func private @scratch(%v: f32) {
  %T = loop.alloc stack : memref<8x9xf32>
  loop.for parallel "i" %i = 0 to 7 {
    loop.for parallel "j" %j = 0 to 9 {
      loop.store %v, %T[%i, %j] : memref<8x9xf32>
    }
  }
  func.return
}

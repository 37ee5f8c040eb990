// RUN: stepwell-opt %s -p 'loop-split{loop=f/i factor=4}' | filecheck %s --check-prefix GUARD
// RUN: stepwell-opt %s -p 'loop-split{loop=f/i factor=4 tail=peel}' | filecheck %s --check-prefix PEEL
// RUN: stepwell-opt %s -p 'loop-split{loop=f/i factor=5 tail=perfect outer=i}' | filecheck %s --check-prefix PERFECT
// RUN: not stepwell-opt %s -p 'loop-split{loop=f/i factor=4 tail=perfect}' 2>&1 | filecheck %s --check-prefix RAGGED
// RUN: not stepwell-opt %s -p 'loop-split{loop=f/i factor=4 tail=pad}' 2>&1 | filecheck %s --check-prefix OUTSIDE
// RUN: not stepwell-opt %s -p 'loop-split{loop=f/i factor=0}' 2>&1 | filecheck %s --check-prefix ZERO
// RUN: stepwell-opt %s -p 'loop-split{loop=steps/i factor=3 tail=peel}' | filecheck %s --check-prefix STEPS
// RUN: stepwell-opt %s -p 'loop-split{loop=padded/i factor=4 tail=pad}' | filecheck %s --check-prefix PAD
// RUN: not stepwell-opt %s -p 'loop-split{loop=padded/k factor=4 tail=pad}' 2>&1 | filecheck %s --check-prefix USED
// RUN: not stepwell-opt %s -p 'loop-split{loop=padded/k factor=4 outer=i}' 2>&1 | filecheck %s --check-prefix TAKEN
// RUN: not stepwell-opt %s -p 'loop-split{loop=once/i factor=4 tail=pad}' 2>&1 | filecheck %s --check-prefix ORDER
// RUN: stepwell-opt %s -p 'loop-split{loop=left_out/i factor=4 tail=pad}' | filecheck %s --check-prefix LEFT-OUT
// RUN: stepwell-opt %s -p 'loop-split{loop=rounded/i factor=4 tail=perfect}' | filecheck %s --check-prefix ROUNDED

// Notes on the loop stay with the one that has its body.
// GUARD-LABEL: func.func private @f
// GUARD-NEXT:   loop.for parallel "i.outer" %i_outer = 0 to 10 step 4 {
// GUARD-NEXT:     loop.for parallel "i.inner" %i = %i_outer to min(%i_outer + 4, 10) attributes {stepwell.pragma.keep} {
// GUARD-NEXT:       loop.store %v, %A[%i]
// GUARD-NEXT:     }
// GUARD-NEXT:   }
// PEEL-LABEL: func.func private @f
// PEEL-NEXT:   loop.for parallel "i.outer" %i_outer = 0 to 8 step 4 {
// PEEL-NEXT:     loop.for parallel "i.inner" %i = %i_outer to %i_outer + 4 attributes {stepwell.pragma.keep} {
// PEEL-NEXT:       loop.store %v, %A[%i]
// PEEL-NEXT:     }
// PEEL-NEXT:   }
// PEEL-NEXT:   loop.for parallel "i.tail" %i_1 = 8 to 10 attributes {stepwell.pragma.keep} {
// PEEL-NEXT:     loop.store %v, %A[%i_1]
// PEEL-NEXT:   }
// The name that becomes free may be given again.
// PERFECT-LABEL: func.func private @f
// PERFECT-NEXT:   loop.for parallel "i" %i = 0 to 10 step 5 {
// PERFECT-NEXT:     loop.for parallel "i.inner" %i_1 = %i to %i + 5 attributes {stepwell.pragma.keep} {
// PERFECT-NEXT:       loop.store %v, %A[%i_1]
// PERFECT-NEXT:     }
// PERFECT-NEXT:   }
// RAGGED: error: {{.*}}split("f/i", factor=4, tail="perfect") is refused: loop 'i' has 10 iterations, expected a multiple of 4; choose a factor that does, or tail='guard', 'peel' or 'pad'
// OUTSIDE: error: {{.*}}split("f/i", factor=4, tail="pad") is refused: the iterations beyond the end would write '%A' outside of its shape; use tail='guard' or 'peel', or stage the buffer with padding first
// ZERO: error: {{.*}}split("f/i", factor=0) is refused: factor is 0, expected at least 1
func.func private @f(%A: memref<10xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 10 attributes {stepwell.pragma.keep} {
    loop.store %v, %A[%i] : memref<10xf32>
  }
  func.return
}

// A step, a negative start, a symbol, and a loop inside that depends on it.
// STEPS-LABEL: func.func private @steps
// STEPS-NEXT:   loop.for serial "i.outer" %i_outer = -3 to (%n + 4) floordiv 6 * 6 - 3 step 6 {
// STEPS-NEXT:     loop.for serial "i.inner" %i = %i_outer to %i_outer + 6 step 2 {
// STEPS-NEXT:       loop.for serial "j" %j = 0 to %i + 3 {
// STEPS-NEXT:         loop.store %v, %A[%i + %j + 3]
// STEPS-NEXT:       }
// STEPS-NEXT:     }
// STEPS-NEXT:   }
// STEPS-NEXT:   loop.for serial "i.tail" %i_1 = max(-3, (%n + 4) floordiv 6 * 6 - 3) to %n step 2 {
// STEPS-NEXT:     loop.for serial "j.tail" %j_1 = 0 to %i_1 + 3 {
// STEPS-NEXT:       loop.store %v, %A[%i_1 + %j_1 + 3]
// STEPS-NEXT:     }
// STEPS-NEXT:   }
func.func private @steps(%A: memref<64xf32>, %n: index, %v: f32) {
  loop.for serial "i" %i = -3 to %n step 2 {
    loop.for serial "j" %j = 0 to %i + 3 {
      loop.store %v, %A[%i + %j + 3] : memref<64xf32>
    }
  }
  func.return
}

// Elements 10 and 11 of the scratch buffer are padding, which nothing reads.
// PAD-LABEL: func.func private @padded
// PAD:        loop.for parallel "i.outer" %i_outer = 0 to 10 step 4 {
// PAD-NEXT:     loop.for parallel "i.inner" %i = %i_outer to %i_outer + 4 {
// PAD-NEXT:       %a = loop.load %A[0]
// PAD-NEXT:       loop.store %a, %T[%i]
// PAD-NEXT:     }
// PAD-NEXT:   }
// USED: error: {{.*}}split("padded/k", factor=4, tail="pad") is refused: the iterations beyond the end would write '%B' outside of its shape; use tail='guard' or 'peel', or stage the buffer with padding first
// TAKEN: error: {{.*}}split("padded/k", factor=4, outer="i") is refused: there is a loop 'i' already; choose another name
func.func private @padded(%A: memref<10xf32>, %B: memref<10xf32>) {
  %T = loop.alloc stack : memref<12xf32>
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.load %A[0] : memref<10xf32>
    loop.store %a, %T[%i] : memref<12xf32>
  }
  loop.for parallel "k" %k = 0 to 10 {
    %t = loop.load %T[%k] : memref<12xf32>
    loop.store %t, %B[%k] : memref<10xf32>
  }
  func.return
}

// A load that a condition has something else for is left out beyond the end.
// LEFT-OUT-LABEL: func.func private @left_out
// LEFT-OUT:        loop.for parallel "i.inner" %i = %i_outer to %i_outer + 4 {
// LEFT-OUT-NEXT:     %a = loop.if (%i - 1 >= 0, -%i + 9 >= 0) -> (f32) {
// LEFT-OUT-NEXT:       %{{.*}} = loop.load %A[%i - 1]
func.func private @left_out(%A: memref<9xf32>, %zero: f32) {
  %T = loop.alloc stack : memref<12xf32>
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.if (%i - 1 >= 0) -> (f32) {
      %0 = loop.load %A[%i - 1] : memref<9xf32>
      loop.yield %0 : f32
    } else {
      loop.yield %zero : f32
    }
    loop.store %a, %T[%i] : memref<12xf32>
  }
  func.return
}

// The minimum never cuts a block, since o counts by 8 up to 16: whole blocks of 4.
// ROUNDED-LABEL: func.func private @rounded
// ROUNDED-NEXT:   loop.for parallel "o" %o = 0 to 16 step 8 {
// ROUNDED-NEXT:     loop.for parallel "i.outer" %i_outer = %o to min(%o + 8, 16) step 4 {
// ROUNDED-NEXT:       loop.for parallel "i.inner" %i = %i_outer to %i_outer + 4 {
// ROUNDED-NEXT:         loop.store %v, %A[%i]
// ROUNDED-NEXT:       }
// ROUNDED-NEXT:     }
// ROUNDED-NEXT:   }
func.func private @rounded(%A: memref<16xf32>, %v: f32) {
  loop.for parallel "o" %o = 0 to 16 step 8 {
    loop.for parallel "i" %i = %o to min(%o + 8, 16) {
      loop.store %v, %A[%i] : memref<16xf32>
    }
  }
  func.return
}

// The loop runs once, so that its iterations may run in any order: those beyond the end would store to the same element.
// ORDER: error: {{.*}}split("once/i", factor=4, tail="pad") is refused: the iterations beyond the end would touch elements of '%T' that other iterations of the loop 'i' touch, which is said to run in any order; use tail='guard' or 'peel'
func.func private @once(%v: f32) {
  %T = loop.alloc stack : memref<4xf32>
  loop.for parallel "i" %i = 0 to 1 {
    loop.store %v, %T[3] : memref<4xf32>
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-tile{loop=f/i factors=4,8}' | filecheck %s --check-prefix GUARD
// RUN: stepwell-opt %s -p 'loop-tile{loop=f/i factors=4,8 tail=peel}' | filecheck %s --check-prefix PEEL
// RUN: stepwell-opt %s -p 'loop-tile{loop=f/i factors=5,17 tail=perfect}' | filecheck %s --check-prefix PERFECT
// RUN: not stepwell-opt %s -p 'loop-tile{loop=f/i factors=4,8 tail=perfect}' 2>&1 | filecheck %s --check-prefix RAGGED
// RUN: not stepwell-opt %s -p 'loop-tile{loop=f/i factors=4,5 tail=pad}' 2>&1 | filecheck %s --check-prefix OUTSIDE
// RUN: stepwell-opt %s -p 'loop-tile{loop=scratch/i factors=4,5 tail=pad}' | filecheck %s --check-prefix PAD
// RUN: stepwell-opt %s -p 'loop-tile{loop=triangle/i factors=4,4}' | filecheck %s --check-prefix TRIANGLE
// RUN: not stepwell-opt %s -p 'loop-tile{loop=triangle/i factors=4,4 tail=peel}' 2>&1 | filecheck %s --check-prefix CUT
// RUN: not stepwell-opt %s -p 'loop-tile{loop=seidel/i factors=2,2}' 2>&1 | filecheck %s --check-prefix SEIDEL
// RUN: not stepwell-opt %s -p 'loop-tile{loop=seidel/i factors=2,2,2}' 2>&1 | filecheck %s --check-prefix DEPTH

// GUARD-LABEL: func.func private @f
// GUARD-NEXT:   loop.for parallel "i.outer" %i_outer = 0 to 10 step 4 {
// GUARD-NEXT:     loop.for parallel "j.outer" %j_outer = 0 to 17 step 8 {
// GUARD-NEXT:       loop.for parallel "i.inner" %i = %i_outer to min(%i_outer + 4, 10) {
// GUARD-NEXT:         loop.for parallel "j.inner" %j = %j_outer to min(%j_outer + 8, 17) {
// GUARD-NEXT:           loop.store %v, %A[%i, %j]
// GUARD-NEXT:         }
// GUARD-NEXT:       }
// GUARD-NEXT:     }
// GUARD-NEXT:   }
// Whole tiles with constant bounds, then what is left of each row of tiles, then the last row.
// PEEL-LABEL: func.func private @f
// PEEL-NEXT:   loop.for parallel "i.outer" %i_outer = 0 to 8 step 4 {
// PEEL-NEXT:     loop.for parallel "j.outer" %j_outer = 0 to 16 step 8 {
// PEEL-NEXT:       loop.for parallel "i.inner" %i = %i_outer to %i_outer + 4 {
// PEEL-NEXT:         loop.for parallel "j.inner" %j = %j_outer to %j_outer + 8 {
// PEEL-NEXT:           loop.store %v, %A[%i, %j]
// PEEL-NEXT:         }
// PEEL-NEXT:       }
// PEEL-NEXT:     }
// PEEL-NEXT:     loop.for parallel "i.inner.tail" %i_1 = %i_outer to %i_outer + 4 {
// PEEL-NEXT:       loop.for parallel "j.tail_1" %j_1 = 16 to 17 {
// PEEL-NEXT:         loop.store %v, %A[%i_1, %j_1]
// PEEL-NEXT:       }
// PEEL-NEXT:     }
// PEEL-NEXT:   }
// PEEL-NEXT:   loop.for parallel "j.outer.tail" %j_outer_tail = 0 to 16 step 8 {
// PEEL-NEXT:     loop.for parallel "i.tail_1" %i_2 = 8 to 10 {
// PEEL-NEXT:       loop.for parallel "j.inner.tail" %j_2 = %j_outer_tail to %j_outer_tail + 8 {
// PEEL-NEXT:         loop.store %v, %A[%i_2, %j_2]
// PEEL-NEXT:       }
// PEEL-NEXT:     }
// PEEL-NEXT:   }
// PEEL-NEXT:   loop.for parallel "i.tail" %i_3 = 8 to 10 {
// PEEL-NEXT:     loop.for parallel "j.tail" %j_3 = 16 to 17 {
// PEEL-NEXT:       loop.store %v, %A[%i_3, %j_3]
// PEEL-NEXT:     }
// PEEL-NEXT:   }
// PERFECT-LABEL: func.func private @f
// PERFECT-NEXT:   loop.for parallel "i.outer" %i_outer = 0 to 10 step 5 {
// PERFECT-NEXT:     loop.for parallel "j.outer" %j_outer = 0 to 17 step 17 {
// PERFECT-NEXT:       loop.for parallel "i.inner" %i = %i_outer to %i_outer + 5 {
// PERFECT-NEXT:         loop.for parallel "j.inner" %j = %j_outer to %j_outer + 17 {
// PERFECT-NEXT:           loop.store %v, %A[%i, %j]
// PERFECT-NEXT:         }
// PERFECT-NEXT:       }
// PERFECT-NEXT:     }
// PERFECT-NEXT:   }
// RAGGED: error: {{.*}}tile("f/i", factors=[4, 8], tail="perfect") is refused: loop 'i' has 10 iterations, expected a multiple of 4 in whole tiles; choose a factor that divides, or tail='guard', 'peel' or 'pad'
// OUTSIDE: error: {{.*}}tile("f/i", factors=[4, 5], tail="pad") is refused: the iterations beyond the end would write '%A' outside of its shape; use tail='guard' or 'peel', or stage the buffer with padding first
func.func private @f(%A: memref<10x17xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 17 {
      loop.store %v, %A[%i, %j] : memref<10x17xf32>
    }
  }
  func.return
}

// Tiles beyond the diagonal are left out, those on it are cut.
// TRIANGLE-LABEL: func.func private @triangle
// TRIANGLE-NEXT:   loop.for parallel "i.outer" %i_outer = 0 to 8 step 4 {
// TRIANGLE-NEXT:     loop.for parallel "j.outer" %j_outer = 0 to %i_outer + 4 step 4 {
// TRIANGLE-NEXT:       loop.for parallel "i.inner" %i = %i_outer to %i_outer + 4 {
// TRIANGLE-NEXT:         loop.for parallel "j.inner" %j = %j_outer to min(%j_outer + 4, %i + 1) {
// TRIANGLE-NEXT:           loop.store %v, %A[%i, %j]
// TRIANGLE-NEXT:         }
// TRIANGLE-NEXT:       }
// TRIANGLE-NEXT:     }
// TRIANGLE-NEXT:   }
// CUT: error: {{.*}}tile("triangle/i", factors=[4, 4], tail="peel") is refused: the bounds of 'j' depend on other loops of the nest, so tiles are cut where those go on; use tail='guard'
func.func private @triangle(%A: memref<8x8xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to %i + 1 {
      loop.store %v, %A[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

// PAD-LABEL: func.func private @scratch
// PAD:        loop.for parallel "i.outer" %i_outer = 0 to 10 step 4 {
// PAD-NEXT:     loop.for parallel "j.outer" %j_outer = 0 to 17 step 5 {
// PAD-NEXT:       loop.for parallel "i.inner" %i = %i_outer to %i_outer + 4 {
// PAD-NEXT:         loop.for parallel "j.inner" %j = %j_outer to %j_outer + 5 {
// PAD-NEXT:           loop.store %v, %T[%i, %j]
// PAD-NEXT:         }
// PAD-NEXT:       }
// PAD-NEXT:     }
// PAD-NEXT:   }
func.func private @scratch(%A: memref<10x17xf32>, %v: f32) {
  %T = loop.alloc stack : memref<12x20xf32>
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 17 {
      loop.store %v, %T[%i, %j] : memref<12x20xf32>
    }
  }
  func.return
}

// SEIDEL: error: {{.*}}tile("seidel/i", factors=[2, 2]) is refused: the load of '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' at distance (1, -1); iterations (i=1, j=2) and (i=2, j=1) would be swapped; skew the nest first, or tile fewer loops
// DEPTH: error: {{.*}}tile("seidel/i", factors=[2, 2, 2]) is refused: loop 'j' has no loop in its body; name fewer loops
func.func private @seidel(%A: memref<9x9xf32>) {
  loop.for serial "i" %i = 1 to 9 {
    loop.for serial "j" %j = 0 to 8 {
      %a = loop.load %A[%i - 1, %j + 1] : memref<9x9xf32>
      loop.store %a, %A[%i, %j] : memref<9x9xf32>
    }
  }
  func.return
}

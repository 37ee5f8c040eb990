// RUN: stepwell-opt %s -p 'loop-reorder{loop=triangle/i order=j,i}' | filecheck %s --check-prefix TRIANGLE
// RUN: stepwell-opt %s -p 'loop-reorder{loop=steps/i order=j,i}' | filecheck %s --check-prefix STEPS
// RUN: stepwell-opt %s -p 'loop-reorder{loop=inner/i.outer order=i.outer,j,i.inner}' | filecheck %s --check-prefix KEPT
// RUN: stepwell-opt %s -p 'loop-reorder{loop=inner/i.outer order=j,i.inner,i.outer}' | filecheck %s --check-prefix TURNED
// RUN: not stepwell-opt %s -p 'loop-reorder{loop=inner/i.outer order=j,i.outer}' 2>&1 | filecheck %s --check-prefix BETWEEN
// RUN: stepwell-opt %s -p 'loop-reorder{loop=imperfect/i order=k,i}' | filecheck %s --check-prefix IMPERFECT
// RUN: not stepwell-opt %s -p 'loop-reorder{loop=mayskip/i order=k,i}' 2>&1 | filecheck %s --check-prefix MAYSKIP
// RUN: stepwell-opt %s -p 'loop-reorder{loop=kinds/i order=j,i}' | filecheck %s --check-prefix KINDS
// RUN: not stepwell-opt %s -p 'loop-reorder{loop=back/i order=j,i}' 2>&1 | filecheck %s --check-prefix BACK
// RUN: not stepwell-opt %s -p 'loop-reorder{loop=back/i order=j,k}' 2>&1 | filecheck %s --check-prefix NONE

// TRIANGLE-LABEL: func.func private @triangle
// TRIANGLE-NEXT:   loop.for parallel "j" %j = 0 to 8 {
// TRIANGLE-NEXT:     loop.for parallel "i" %i = %j to 8 {
// TRIANGLE-NEXT:       loop.store %v, %A[%i, %j]
// TRIANGLE-NEXT:     }
// TRIANGLE-NEXT:   }
func.func private @triangle(%A: memref<8x8xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to %i + 1 {
      loop.store %v, %A[%i, %j] : memref<8x8xf32>
    }
  }
  func.return
}

// Bounds are computed anew, for loops that count by one.
// STEPS-LABEL: func.func private @steps
// STEPS-NEXT:   loop.for serial "j" %j = 0 to 9 {
// STEPS-NEXT:     loop.for serial "i" %i = 0 to (%j * -2 + 17) floordiv 3 + 1 {
// STEPS-NEXT:       loop.store %v, %A[%i * 3 + 2, %j * 2 + %i * 3 + 2]
// STEPS-NEXT:     }
// STEPS-NEXT:   }
func.func private @steps(%A: memref<64x64xf32>, %v: f32) {
  loop.for serial "i" %i = 2 to 20 step 3 {
    loop.for serial "j" %j = %i to 20 step 2 {
      loop.store %v, %A[%i, %j] : memref<64x64xf32>
    }
  }
  func.return
}

// The bounds of i.inner name a loop that stays outside: they stay as they are.
// KEPT-LABEL: func.func private @inner
// KEPT-NEXT:   loop.for parallel "i.outer" %io = 0 to 10 step 4 {
// KEPT-NEXT:     loop.for parallel "j" %j = 0 to 9 {
// KEPT-NEXT:       loop.for parallel "i.inner" %i = %io to min(%io + 4, 10) {
// KEPT-NEXT:         loop.store %v, %A[%i, %j]
// KEPT-NEXT:       }
// KEPT-NEXT:     }
// KEPT-NEXT:   }
// Here they do not.
// TURNED-LABEL: func.func private @inner
// TURNED-NEXT:   loop.for parallel "j" %j = 0 to 9 {
// TURNED-NEXT:     loop.for parallel "i.inner" %i = 0 to 10 {
// TURNED-NEXT:       loop.for parallel "i.outer" %io = (%i - 3) ceildiv 4 to %i floordiv 4 + 1 {
// TURNED-NEXT:         loop.store %v, %A[%i, %j]
// TURNED-NEXT:       }
// TURNED-NEXT:     }
// TURNED-NEXT:   }
// BETWEEN: error: {{.*}}reorder("inner/i.outer", order=["j", "i.outer"]) is refused: the order leaves out 'i.inner' of the nest from 'i.outer' down; name all of 'i.outer', 'i.inner', 'j' in their new order
func.func private @inner(%A: memref<64x64xf32>, %v: f32) {
  loop.for parallel "i.outer" %io = 0 to 10 step 4 {
    loop.for parallel "i.inner" %i = %io to min(%io + 4, 10) {
      loop.for parallel "j" %j = 0 to 9 {
        loop.store %v, %A[%i, %j] : memref<64x64xf32>
      }
    }
  }
  func.return
}

// What stands beside the inner loop runs in its first iteration.
// IMPERFECT-LABEL: func.func private @imperfect
// IMPERFECT:        loop.for serial "k" %k = 0 to 9 {
// IMPERFECT-NEXT:     loop.for parallel "i" %i = 0 to 8 {
// IMPERFECT-NEXT:       loop.if (%k == 0) {
// IMPERFECT-NEXT:         loop.store %zero, %C[%i]
// IMPERFECT-NEXT:       }
// IMPERFECT-NEXT:       %a = loop.load %A[%i, %k]
// IMPERFECT-NEXT:       %c = loop.load %C[%i]
// IMPERFECT-NEXT:       %s = arith.addf %c, %a : f32
// IMPERFECT-NEXT:       loop.store %s, %C[%i]
// IMPERFECT-NEXT:     }
// IMPERFECT-NEXT:   }
func.func private @imperfect(%A: memref<8x9xf32>, %C: memref<8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "i" %i = 0 to 8 {
    loop.store %zero, %C[%i] : memref<8xf32>
    loop.for reduction "k" %k = 0 to 9 {
      %a = loop.load %A[%i, %k] : memref<8x9xf32>
      %c = loop.load %C[%i] : memref<8xf32>
      %s = arith.addf %c, %a : f32
      loop.store %s, %C[%i] : memref<8xf32>
    }
  }
  func.return
}

// j was parallel in each iteration of i; outside it carries the dependence.
// KINDS-LABEL: func.func private @kinds
// KINDS-NEXT:   loop.for serial "j" %j = 1 to 9 {
// KINDS-NEXT:     loop.for serial "i" %i = 1 to 9 {
// KINDS-NEXT:       %a = loop.load %A[%i - 1, %j - 1]
// KINDS-NEXT:       loop.store %a, %A[%i, %j]
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

// BACK: error: {{.*}}reorder("back/i", order=["j", "i"]) is refused: the load of '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' at distance (1, -1); iterations (i=1, j=1) and (i=2, j=0) would be swapped; skew the inner loop by the outer one, or leave the order of these two
// NONE: error: {{.*}}reorder("back/i", order=["j", "k"]) is refused: there is no loop 'k' in the body of 'j'; name loops that are nested in each other, the outermost one as the loop
func.func private @back(%A: memref<9x9xf32>) {
  loop.for serial "i" %i = 1 to 9 {
    loop.for serial "j" %j = 0 to 8 {
      %a = loop.load %A[%i - 1, %j + 1] : memref<9x9xf32>
      loop.store %a, %A[%i, %j] : memref<9x9xf32>
    }
  }
  func.return
}

// MAYSKIP: error: {{.*}}reorder("mayskip/i", order=["k", "i"]) is refused: 'loop.store' stands beside 'k' in the body of 'i', and would not run where 'k' has no iteration; make the nest perfect with fission first
func.func private @mayskip(%C: memref<8xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.store %v, %C[%i] : memref<8xf32>
    loop.for serial "k" %k = 0 to %n {
      loop.store %v, %C[%i] : memref<8xf32>
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=rows/A at=j}' | filecheck %s --check-prefix ELEMENT
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=rows/A at=i distance=3}' | filecheck %s --check-prefix ROW
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=rows/C at=i}' | filecheck %s --check-prefix COLUMN
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=panels/B at=n inside=k locality=2}' | filecheck %s --check-prefix PARTS
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=panels/B at=n inside=m}' | filecheck %s --check-prefix LINES
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=rows/C at=i inside=j}' | filecheck %s --check-prefix PIECES
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=tiles/C at=n inside=k}' | filecheck %s --check-prefix STEPS
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=tiles/C at=n inside=m}' | filecheck %s --check-prefix ROWS
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=apart/C at=n inside=k}' | filecheck %s --check-prefix APART
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=apart/C at=n inside=k distance=0}' | filecheck %s --check-prefix SAME
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=ones/A at=i}' | filecheck %s --check-prefix ONES
// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=tiles/A at=k then=n distance=4}' | filecheck %s --check-prefix NEXT
// RUN: stepwell-opt %s -p 'loop-split{loop=tiles/k factor=2 tail=perfect},loop-prefetch{buffer=tiles/A at=k.inner then=n distance=4}' | filecheck %s --check-prefix BLOCKS
// RUN: stepwell-opt %s -p 'loop-split{loop=tiles/k factor=2 tail=perfect},loop-prefetch{buffer=tiles/A at=k.inner then=k.outer}' | filecheck %s --check-prefix BLOCK
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=tiles/A at=k then=n distance=7}' 2>&1 | filecheck %s --check-prefix FAR
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=tiles/A at=m then=k}' 2>&1 | filecheck %s --check-prefix INSIDE
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=tiles/A at=j then=m}' 2>&1 | filecheck %s --check-prefix MOVES
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=open/A at=j then=i}' 2>&1 | filecheck %s --check-prefix VARYING
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=rows/A at=j inside=i}' 2>&1 | filecheck %s --check-prefix AROUND
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=panels/B at=n inside=open}' 2>&1 | filecheck %s --check-prefix UNCOUNTED
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=rows/A at=i distance=-1}' 2>&1 | filecheck %s --check-prefix DISTANCE
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=rows/j},loop-prefetch{buffer=rows/A at=j}' 2>&1 | filecheck %s --check-prefix LANES
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=rows/A at=i},loop-prefetch{buffer=rows/A.staged at=i}' 2>&1 | filecheck %s --check-prefix ANEW
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=open/A at=i}' 2>&1 | filecheck %s --check-prefix OPEN
// RUN: not stepwell-opt %s -p 'loop-prefetch{buffer=open/B at=j}' 2>&1 | filecheck %s --check-prefix UNUSED

// ELEMENT-LABEL: func.func private @rows
// ELEMENT-NEXT:   loop.for parallel "i" %i = -2 to 30 step 2 {
// ELEMENT-NEXT:     loop.for parallel "j" %j = 0 to 40 {
// ELEMENT-NEXT:       loop.prefetch %A[%i + 2, %j + 1], read, locality<3>
// ELEMENT-NEXT:       %a = loop.load %A[%i + 2, %j]
// Three iterations later is six further on; a line of 64 bytes holds 16 elements. A caller's array begins anywhere in a line:
// 40 elements are of four lines at most, and hints from the first to the last are no further apart than a line.
// ROW-LABEL: func.func private @rows
// ROW-NEXT:   loop.for parallel "i" %i = -2 to 30 step 2 {
// ROW-NEXT:     loop.for parallel "A.prefetch0" %A_prefetch0 = 0 to 40 step 13 {
// ROW-NEXT:       loop.prefetch %A[%i + 8, %A_prefetch0], read, locality<3>
// ROW-NEXT:     }
// ROW-NEXT:     loop.for parallel "j" %j = 0 to 40 {
// Each element of a column stands in a line of its own, and all are only written.
// COLUMN-LABEL: func.func private @rows
// COLUMN-NEXT:   loop.for parallel "i" %i = -2 to 30 step 2 {
// COLUMN-NEXT:     loop.for parallel "C.prefetch0" %C_prefetch0 = 0 to 40 {
// COLUMN-NEXT:       loop.prefetch %C[%C_prefetch0, %i + 4], write, locality<3>
// Each of the 40 elements of a column is a piece, and its line is asked for in one of 40 iterations.
// PIECES-LABEL: func.func private @rows
// PIECES:          loop.for parallel "j" %j = 0 to 40 {
// PIECES-NEXT:       loop.prefetch %C[%j, %i + 4], write, locality<3>
// DISTANCE: error: {{.*}}prefetch.mlir:53:3: prefetch("rows/A", at="i", distance=-1) is refused: distance is -1, expected at least 0
// LANES: error: {{.*}}prefetch.mlir:54:5: prefetch("rows/A", at="j") is refused: loop 'j' runs in vector lanes; prefetch at a loop around it
// ANEW: error: {{.*}}prefetch.mlir:53:3: prefetch("rows/A.staged", at="i") is refused: '%A.staged' is made anew in each iteration of 'i'; there is nothing to fetch
func.func private @rows(%A: memref<40x40xi32>, %C: memref<40x40xi32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = -2 to 30 step 2 {
    loop.for parallel "j" %j = 0 to 40 {
      %a = loop.load %A[%i + 2, %j] : memref<40x40xi32>
      loop.store %a, %C[%j, %i + 2] : memref<40x40xi32>
    }
  }
  func.return
}

// Axes of one element behind them do not keep neighbours apart.
// ONES-LABEL: func.func private @ones
// ONES:          loop.for parallel "A.prefetch0" %{{.*}} = 0 to 40 step 13 {
// ONES-NEXT:       loop.prefetch %A[%{{.*}}, %{{.*}}, 0, 0]
func.func private @ones(%A: memref<40x40x1x1xi32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 40 {
    loop.for parallel "j" %j = 0 to 40 {
      %a = loop.load %A[%i, %j, 0, 0] : memref<40x40x1x1xi32>
      loop.store %a, %A[%i, %j, 0, 0] : memref<40x40x1x1xi32>
    }
  }
  func.return
}

// OPEN: error: {{.*}}prefetch.mlir:79:3: prefetch("open/A", at="i") is refused: the part of '%A' that one iteration of 'i' uses has no constant size; prefetch at a loop further in
// UNUSED: error: {{.*}}prefetch.mlir:80:5: prefetch("open/B", at="j") is refused: loop 'j' does not use '%B'
func.func private @open(%A: memref<?x?xi32>, %B: memref<?xi32>, %n: index) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to %n {
    loop.for parallel "j" %j = 0 to %i {
      %a = loop.load %A[%i, %j] : memref<?x?xi32>
      loop.store %a, %A[%i, %j] : memref<?x?xi32>
    }
  }
  func.return
}

// What is used of a panel, three rows of 8 elements, is shared out among 6 iterations, or among 3.
// PARTS-LABEL: func.func private @panels
// PARTS:          loop.for parallel "m" %m = 0 to 3 {
// PARTS-NEXT:       loop.for reduction "k" %k = 1 to 5 step 2 {
// PARTS-NEXT:         loop.prefetch %B[%n + 1, 0, %m * 8 + (%k - 1) floordiv 2 * 4], read, locality<2>
// LINES-LABEL: func.func private @panels
// LINES:          loop.for parallel "m" %m = 0 to 3 {
// LINES-NEXT:       loop.prefetch %B[%n + 1, 0, %m * 8], read, locality<3>
// AROUND: error: {{.*}}prefetch.mlir:{{.*}} is refused: loop 'i' is not inside of 'j'
// UNCOUNTED: error: {{.*}}prefetch.mlir:{{.*}} is refused: loop 'open' has several beginnings of which none is a number, or no greatest number of iterations, by which parts are counted; leave out 'inside'
func.func private @panels(%B: memref<5x4x8xi32>, %C: memref<5x8xi32>, %size: index) attributes {stepwell.noalias} {
  loop.for parallel "n" %n = 0 to 5 {
    loop.for parallel "m" %m = 0 to 3 {
      loop.for reduction "k" %k = 1 to 5 step 2 {
        loop.for parallel "j" %j = 0 to 8 {
          %b = loop.load %B[%n, %k - 1, %j] : memref<5x4x8xi32>
          %c = loop.load %B[%n, %k - 1, %j] : memref<5x4x8xi32>
          %d = arith.addi %b, %c : i32
          loop.store %d, %C[%n, %j] : memref<5x8xi32>
        }
      }
    }
    loop.for parallel "open" %o = 0 to %size {
      %z = arith.constant 0 : i32
      loop.store %z, %C[%n, 0] : memref<5x8xi32>
    }
  }
  func.return
}

// Three rows of 32 elements are six lines, for which there are 24 iterations, or 4: two of these lines in each of them then, some for
// the second time, and none beyond the last one.
// STEPS-LABEL: func.func private @tiles
// STEPS:            loop.for reduction "k" %k = 0 to 6 {
// STEPS-NEXT:         loop.prefetch %C[(%m * 6 + %k) floordiv 4 floordiv 2, %n * 32 + 32 + (%m * 6 + %k) floordiv 4 mod 2 * 16], write, locality<3>
// ROWS-LABEL: func.func private @tiles
// ROWS:           loop.for reduction "m" %m = 0 to 4 {
// ROWS-NEXT:        loop.for parallel "C.prefetch0" %C_prefetch0 = 0 to 32 step 16 {
// ROWS-NEXT:          loop.prefetch %C[(%m * 6 floordiv 4 + %C_prefetch0 floordiv 16) floordiv 2, %n * 32 + 32 + (%m * 6 floordiv 4 + %C_prefetch0 floordiv 16) mod 2 * 16], write, locality<3>
// Beyond the last term the first ones of the next columns are asked for: all rows of tiles have the same of these.
// NEXT-LABEL: func.func private @tiles
// NEXT:           loop.for reduction "k" %k = 0 to 6 {
// NEXT:               loop.prefetch %A[%k + 4 - (%k + 4) floordiv 6 * 6, %n * 32 + (%k + 4) floordiv 6 * 32 + %A_prefetch0], read, locality<3>
// In the next block the terms follow on those of the one before. In blocks of two terms this is decided for a block as a whole: when half of it is beyond the end.
// BLOCKS-LABEL: func.func private @tiles
// BLOCKS:             loop.for reduction "k.inner" %k = %k_outer to %k_outer + 2 {
// BLOCKS:                 loop.prefetch %A[%k + 4 - (%k_outer + 5) floordiv 6 * 6, %n * 32 + (%k_outer + 5) floordiv 6 * 32 + %A_prefetch0], read, locality<3>
// BLOCK-LABEL: func.func private @tiles
// BLOCK:              loop.for reduction "k.inner" %k = %k_outer to %k_outer + 2 {
// BLOCK:                  loop.prefetch %A[%k + 1, %n * 32 + %A_prefetch0], read, locality<3>
// FAR: error: {{.*}}prefetch.mlir:{{.*}} is refused: distance is 7, expected at most 6 with 'then'
// INSIDE: error: {{.*}}prefetch.mlir:{{.*}} is refused: loop 'k' is not around 'm'
// MOVES: error: {{.*}}prefetch.mlir:{{.*}} is refused: loop 'k', between 'm' and 'j', moves what that one uses, and not by its blocks
// VARYING: error: {{.*}}prefetch.mlir:{{.*}} is refused: loop 'j' has no constant number of iterations from a number or a loop around on; leave out 'then'
func.func private @tiles(%A: memref<6x96xf32>, %C: memref<3x96xf32>) attributes {stepwell.noalias} {
  loop.for parallel "n" %n = 0 to 3 {
    loop.for reduction "m" %m = 0 to 4 {
      loop.for reduction "k" %k = 0 to 6 {
        loop.for parallel "i" %i = 0 to 3 {
          loop.for parallel "j" %j = 0 to 32 {
            %a = loop.load %A[%k, %n * 32 + %j] : memref<6x96xf32>
            loop.store %a, %C[%i, %n * 32 + %j] : memref<3x96xf32>
          }
        }
      }
    }
  }
  func.return
}

// Rows of 100 elements do not begin with a line: of 32 elements there are three lines then. Without a distance they are what the iteration
// itself stores to later.
// APART-LABEL: func.func private @apart
// APART:            loop.for reduction "k" %k = 0 to 6 {
// APART-NEXT:         loop.prefetch %C[%k floordiv 3, %n * 32 + 32 + %k mod 3 * 16], write, locality<3>
// SAME-LABEL: func.func private @apart
// SAME:             loop.for reduction "k" %k = 0 to 6 {
// SAME-NEXT:          loop.prefetch %C[%k floordiv 3, %n * 32 + %k mod 3 * 16], write, locality<3>
func.func private @apart(%A: memref<6x100xf32>, %C: memref<2x100xf32>) attributes {stepwell.noalias} {
  loop.for parallel "n" %n = 0 to 3 {
    loop.for reduction "k" %k = 0 to 6 {
      loop.for parallel "i" %i = 0 to 2 {
        loop.for parallel "j" %j = 0 to 32 {
          %a = loop.load %A[%k, %n * 32 + %j] : memref<6x100xf32>
          loop.store %a, %C[%i, %n * 32 + %j] : memref<2x100xf32>
        }
      }
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-prefetch{buffer=starts/C at=n inside=k}' | filecheck %s --check-prefix STARTS
// Of several beginnings the loop has the greatest: iterations are counted from the number among them, so that there are four of "k".
// STARTS-LABEL: func.func private @starts
// STARTS:           loop.for reduction "k" %k = max(0, -%n + 2) to min(4, -%n + 7) {
// STARTS-NEXT:        loop.prefetch %C[%n + 1, %k * 16], write, locality<3>
func.func private @starts(%A: memref<8x64xf32>, %C: memref<5x64xf32>) attributes {stepwell.noalias} {
  loop.for parallel "n" %n = 0 to 5 {
    loop.for reduction "k" %k = max(0, -%n + 2) to min(4, -%n + 7) {
      loop.for parallel "j" %j = 0 to 64 {
        %a = loop.load %A[%k, %j] : memref<8x64xf32>
        loop.store %a, %C[%n, %j] : memref<5x64xf32>
      }
    }
  }
  func.return
}

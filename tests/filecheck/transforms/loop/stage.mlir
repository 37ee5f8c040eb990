// RUN: stepwell-opt %s -p 'loop-stage{buffer=rows/A at=i}' | filecheck %s --check-prefix READ
// RUN: stepwell-opt %s -p 'loop-stage{buffer=rows/C at=i into=out scope=thread}' | filecheck %s --check-prefix WRITE
// RUN: stepwell-opt %s -p 'loop-stage{buffer=rows/A at=x order=1,0 scope=register}' | filecheck %s --check-prefix TRANSPOSED
// RUN: stepwell-opt %s -p 'loop-stage{buffer=rows/A at=i panel=4 scope=arena}' | filecheck %s --check-prefix PANELS
// RUN: stepwell-opt %s -p 'loop-stage{buffer=rows/A at=i order=1,0 panel=2 pad=3}' | filecheck %s --check-prefix PADDED
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=rows/A at=i scope=disk}' 2>&1 | filecheck %s --check-prefix SCOPE
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=rows/A at=i order=0,0}' 2>&1 | filecheck %s --check-prefix ORDER
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=rows/Z at=i}' 2>&1 | filecheck %s --check-prefix UNUSED
// RUN: stepwell-opt %s -p 'loop-stage{buffer=update/A at=t}' | filecheck %s --check-prefix UPDATE
// RUN: stepwell-opt %s -p 'loop-stage{buffer=update/A at=i into=w scope=register}' | filecheck %s --check-prefix EACH
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=overlap/B at=z}' 2>&1 | filecheck %s --check-prefix OVERLAP
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=grows/D at=i}' 2>&1 | filecheck %s --check-prefix SIZE
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=grows/C at=q}' 2>&1 | filecheck %s --check-prefix RACE

// Read only: copied in. Written only: copied back. In each layout and scope; the last block has 2 rows.
// READ-LABEL: func.func private @rows
// READ-NEXT:   loop.for parallel "i" %i = 0 to 10 step 4 {
// READ-NEXT:     %A.staged = loop.alloc stack : memref<4x6xf32>
// READ-NEXT:     loop.for parallel "A.staged.in0" %c0 = 0 to min(4, -%i + 10) {
// READ-NEXT:       loop.for parallel "A.staged.in1" %c1 = 0 to 6 {
// READ-NEXT:         %0 = loop.load %A[%i + %c0, %c1]
// READ-NEXT:         loop.store %0, %A.staged[%c0, %c1]
// READ-NEXT:       }
// READ-NEXT:     }
// READ-NEXT:     loop.for parallel "x" %x = %i to min(%i + 4, 10) {
// READ-NEXT:       loop.for parallel "k" %k = 0 to 6 {
// READ-NEXT:         %a = loop.load %A.staged[%x - %i, %k]
// READ-NEXT:         %b = loop.load %A.staged[%x - %i, -%k + 5]
// READ-NEXT:         %s = arith.addf %a, %b : f32
// READ-NEXT:         loop.store %s, %C[%x, %k]
// READ-NEXT:       }
// READ-NEXT:     }
// READ-NEXT:   }
// WRITE-LABEL: func.func private @rows
// WRITE-NEXT:   loop.for parallel "i" %i = 0 to 10 step 4 {
// WRITE-NEXT:     %out = loop.alloc thread : memref<4x6xf32>
// WRITE-NEXT:     loop.for parallel "x" %x = %i to min(%i + 4, 10) {
// WRITE-NEXT:       loop.for parallel "k" %k = 0 to 6 {
// WRITE-NEXT:         %a = loop.load %A[%x, %k]
// WRITE-NEXT:         %b = loop.load %A[%x, -%k + 5]
// WRITE-NEXT:         %s = arith.addf %a, %b : f32
// WRITE-NEXT:         loop.store %s, %out[%x - %i, %k]
// WRITE-NEXT:       }
// WRITE-NEXT:     }
// WRITE-NEXT:     loop.for parallel "out.out0" %c0 = 0 to min(4, -%i + 10) {
// WRITE-NEXT:       loop.for parallel "out.out1" %c1 = 0 to 6 {
// WRITE-NEXT:         %0 = loop.load %out[%c0, %c1]
// WRITE-NEXT:         loop.store %0, %C[%i + %c0, %c1]
// WRITE-NEXT:       }
// WRITE-NEXT:     }
// WRITE-NEXT:   }
// TRANSPOSED-LABEL: func.func private @rows
// TRANSPOSED-NEXT:   loop.for parallel "i" %i = 0 to 10 step 4 {
// TRANSPOSED-NEXT:     loop.for parallel "x" %x = %i to min(%i + 4, 10) {
// TRANSPOSED-NEXT:       %A.staged = loop.alloc register : memref<6x1xf32>
// TRANSPOSED-NEXT:       loop.for parallel "A.staged.in1" %c1 = 0 to 6 {
// TRANSPOSED-NEXT:         %0 = loop.load %A[%x, %c1]
// TRANSPOSED-NEXT:         loop.store %0, %A.staged[%c1, 0]
// TRANSPOSED-NEXT:       }
// TRANSPOSED-NEXT:       loop.for parallel "k" %k = 0 to 6 {
// TRANSPOSED-NEXT:         %a = loop.load %A.staged[%k, 0]
// TRANSPOSED-NEXT:         %b = loop.load %A.staged[-%k + 5, 0]
// TRANSPOSED-NEXT:         %s = arith.addf %a, %b : f32
// TRANSPOSED-NEXT:         loop.store %s, %C[%x, %k]
// TRANSPOSED-NEXT:       }
// TRANSPOSED-NEXT:     }
// TRANSPOSED-NEXT:   }
// PANELS-LABEL: func.func private @rows
// PANELS-NEXT:   loop.for parallel "i" %i = 0 to 10 step 4 {
// PANELS-NEXT:     %A.staged = loop.alloc arena : memref<2x4x4xf32>
// PANELS-NEXT:     loop.for parallel "A.staged.in0" %c0 = 0 to 4 {
// PANELS-NEXT:       loop.for parallel "A.staged.in1" %c1 = 0 to 8 {
// PANELS-NEXT:         %0 = loop.if (-%i - %c0 + 9 >= 0, -%c1 + 5 >= 0) -> (f32) {
// PANELS-NEXT:           %1 = loop.load %A[%i + %c0, %c1]
// PANELS-NEXT:           loop.yield %1 : f32
// PANELS-NEXT:         } else {
// PANELS-NEXT:           %2 = arith.constant 0.000000e+00 : f32
// PANELS-NEXT:           loop.yield %2 : f32
// PANELS-NEXT:         }
// PANELS-NEXT:         loop.store %0, %A.staged[%c1 floordiv 4, %c0, %c1 mod 4]
// PANELS-NEXT:       }
// PANELS-NEXT:     }
// PANELS-NEXT:     loop.for parallel "x" %x = %i to min(%i + 4, 10) {
// PANELS-NEXT:       loop.for parallel "k" %k = 0 to 6 {
// PANELS-NEXT:         %a = loop.load %A.staged[%k floordiv 4, %x - %i, %k mod 4]
// PANELS-NEXT:         %b = loop.load %A.staged[(-%k + 5) floordiv 4, %x - %i, (-%k + 5) mod 4]
// PANELS-NEXT:         %s = arith.addf %a, %b : f32
// PANELS-NEXT:         loop.store %s, %C[%x, %k]
// PANELS-NEXT:       }
// PANELS-NEXT:     }
// PANELS-NEXT:   }
// PADDED-LABEL: func.func private @rows
// PADDED-NEXT:   loop.for parallel "i" %i = 0 to 10 step 4 {
// PADDED-NEXT:     %A.staged = loop.alloc stack : memref<3x6x2xf32>
// PADDED-NEXT:     loop.for parallel "A.staged.in0" %c0 = 0 to 6 {
// PADDED-NEXT:       loop.for parallel "A.staged.in1" %c1 = 0 to 6 {
// PADDED-NEXT:         %0 = loop.if (-%c0 + 3 >= 0, -%i - %c0 + 9 >= 0) -> (f32) {
// PADDED-NEXT:           %1 = loop.load %A[%i + %c0, %c1]
// PADDED-NEXT:           loop.yield %1 : f32
// PADDED-NEXT:         } else {
// PADDED-NEXT:           %2 = arith.constant 0.000000e+00 : f32
// PADDED-NEXT:           loop.yield %2 : f32
// PADDED-NEXT:         }
// PADDED-NEXT:         loop.store %0, %A.staged[%c0 floordiv 2, %c1, %c0 mod 2]
// PADDED-NEXT:       }
// PADDED-NEXT:     }
// PADDED-NEXT:     loop.for parallel "x" %x = %i to min(%i + 4, 10) {
// PADDED-NEXT:       loop.for parallel "k" %k = 0 to 6 {
// PADDED-NEXT:         %a = loop.load %A.staged[(%x - %i) floordiv 2, %k, (%x - %i) mod 2]
// PADDED-NEXT:         %b = loop.load %A.staged[(%x - %i) floordiv 2, -%k + 5, (%x - %i) mod 2]
// PADDED-NEXT:         %s = arith.addf %a, %b : f32
// PADDED-NEXT:         loop.store %s, %C[%x, %k]
// PADDED-NEXT:       }
// PADDED-NEXT:     }
// PADDED-NEXT:   }
// SCOPE: error: {{.*}}stage("rows/A", at="i", scope="disk") is refused: scope is 'disk', expected one of register, stack, thread, arena
// ORDER: error: {{.*}}stage("rows/A", at="i", order=[0, 0]) is refused: order is [0, 0], expected a permutation of the 2 axes
// UNUSED: error: {{.*}}function 'rows' has no buffer 'Z', expected one of its buffers; they are 'A', 'C'
func.func private @rows(%A: memref<10x6xf32> {stepwell.noalias}, %C: memref<10x6xf32> {stepwell.noalias}) {
  loop.for parallel "i" %i = 0 to 10 step 4 {
    loop.for parallel "x" %x = %i to min(%i + 4, 10) {
      loop.for parallel "k" %k = 0 to 6 {
        %a = loop.load %A[%x, %k] : memref<10x6xf32>
        %b = loop.load %A[%x, -%k + 5] : memref<10x6xf32>
        %s = arith.addf %a, %b : f32
        loop.store %s, %C[%x, %k] : memref<10x6xf32>
      }
    }
  }
  func.return
}

// Overlapping accesses, read and written: copied in and back.
// UPDATE-LABEL: func.func private @update
// UPDATE-NEXT:   loop.for serial "t" %t = 0 to 3 {
// UPDATE-NEXT:     %A.staged = loop.alloc stack : memref<9xi32>
// UPDATE-NEXT:     loop.for parallel "A.staged.in0" %c0 = 0 to 9 {
// UPDATE-NEXT:       %0 = loop.load %A[%c0]
// UPDATE-NEXT:       loop.store %0, %A.staged[%c0]
// UPDATE-NEXT:     }
// UPDATE-NEXT:     loop.for serial "i" %i = 1 to 8 {
// UPDATE-NEXT:       %l = loop.load %A.staged[%i - 1]
// UPDATE-NEXT:       %r = loop.load %A.staged[%i + 1]
// UPDATE-NEXT:       %s = arith.addi %l, %r : i32
// UPDATE-NEXT:       loop.store %s, %A.staged[%i]
// UPDATE-NEXT:     }
// UPDATE-NEXT:     loop.for parallel "A.staged.out0" %c0_1 = 0 to 9 {
// UPDATE-NEXT:       %1 = loop.load %A.staged[%c0_1]
// UPDATE-NEXT:       loop.store %1, %A[%c0_1]
// UPDATE-NEXT:     }
// UPDATE-NEXT:   }
// EACH-LABEL: func.func private @update
// EACH-NEXT:   loop.for serial "t" %t = 0 to 3 {
// EACH-NEXT:     loop.for serial "i" %i = 1 to 8 {
// EACH-NEXT:       %w = loop.alloc register : memref<3xi32>
// EACH-NEXT:       loop.for parallel "w.in0" %c0 = 0 to 3 {
// EACH-NEXT:         %0 = loop.load %A[%i - 1 + %c0]
// EACH-NEXT:         loop.store %0, %w[%c0]
// EACH-NEXT:       }
// EACH-NEXT:       %l = loop.load %w[0]
// EACH-NEXT:       %r = loop.load %w[2]
// EACH-NEXT:       %s = arith.addi %l, %r : i32
// EACH-NEXT:       loop.store %s, %w[1]
// EACH-NEXT:       loop.for parallel "w.out0" %c0_1 = 0 to 3 {
// EACH-NEXT:         %1 = loop.load %w[%c0_1]
// EACH-NEXT:         loop.store %1, %A[%i - 1 + %c0_1]
// EACH-NEXT:       }
// EACH-NEXT:     }
// EACH-NEXT:   }
func.func private @update(%A: memref<9xi32> {stepwell.noalias}) {
  loop.for serial "t" %t = 0 to 3 {
    loop.for serial "i" %i = 1 to 8 {
      %l = loop.load %A[%i - 1] : memref<9xi32>
      %r = loop.load %A[%i + 1] : memref<9xi32>
      %s = arith.addi %l, %r : i32
      loop.store %s, %A[%i] : memref<9xi32>
    }
  }
  func.return
}

// OVERLAP: error: {{.*}}stage("overlap/B", at="z") is refused: '%C' may be the same memory as '%B'; mark the arguments stepwell.noalias if they never overlap
func.func @overlap(%A: memref<9xi32>, %B: memref<10xi32>, %C: memref<9xi32>) {
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %B[%i] : memref<10xi32>
  }
  loop.for serial "z" %z = 0 to 1 {
  loop.for serial "j" %j = 0 to 9 {
    %x = loop.load %B[%j] : memref<10xi32>
    loop.store %x, %C[%j] : memref<9xi32>
  }
  }
  func.return
}

// The box of what thread q writes holds elements of the other threads too, which it would copy back.
// SIZE: error: {{.*}}stage("grows/D", at="i") is refused: '%D' is memref<?xi32>, whose sizes are not all known numbers
// RACE: error: {{.*}}stage("grows/C", at="q") is refused: loop 'q' is marked 'threads', and its iterations (q=0) and (q=1) would both touch '%C'; mark loops after all other steps
func.func private @grows(%A: memref<64xi32> {stepwell.noalias}, %C: memref<64xi32> {stepwell.noalias}, %D: memref<?xi32> {stepwell.noalias}) {
  loop.for parallel threads "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<64xi32>
    %d = loop.load %D[%i] : memref<?xi32>
    %s = arith.addi %a, %d : i32
    loop.store %s, %C[%i * 2] : memref<64xi32>
  }
  loop.for parallel threads "q" %q = 0 to 8 {
    loop.for parallel "r" %r = 0 to 2 {
      %e = loop.load %A[%r * 3] : memref<64xi32>
      loop.store %e, %C[%q * 2 + %r * 16] : memref<64xi32>
    }
  }
  func.return
}

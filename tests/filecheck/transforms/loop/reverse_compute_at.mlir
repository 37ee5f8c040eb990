// RUN: stepwell-opt %s -p 'loop-reverse-compute-at{buffer=pair/C at=i}' | filecheck %s --check-prefix PAIR
// RUN: stepwell-opt %s -p 'loop-split{loop=pair/i factor=4},loop-reverse-compute-at{buffer=pair/C at=i.outer}' | filecheck %s --check-prefix TILE
// RUN: stepwell-opt %s -p 'loop-reverse-compute-at{buffer=product/D at=i}' | filecheck %s --check-prefix ROW
// RUN: stepwell-opt %s -p 'loop-reverse-compute-at{buffer=product/D at=j}' | filecheck %s --check-prefix ELEMENT
// RUN: stepwell-opt %s -p 'loop-reverse-compute-at{buffer=product/D at=k}' | filecheck %s --check-prefix LAST
// RUN: not stepwell-opt %s -p 'loop-reverse-compute-at{buffer=product/C at=j}' 2>&1 | filecheck %s --check-prefix INSIDE
// RUN: stepwell-opt %s -p 'loop-reverse-compute-at{buffer=symbol/C at=i}' | filecheck %s --check-prefix SYMBOL
// RUN: not stepwell-opt %s -p 'loop-reverse-compute-at{buffer=larger/C at=i}' 2>&1 | filecheck %s --check-prefix LARGER
// RUN: stepwell-opt %s -p 'loop-reverse-compute-at{buffer=overlap/C at=i}' | filecheck %s --check-prefix OVERLAP
// RUN: not stepwell-opt %s -p 'loop-reverse-compute-at{buffer=swapped/C at=i}' 2>&1 | filecheck %s --check-prefix SWAPPED
// RUN: stepwell-opt %s -p 'loop-reverse-compute-at{buffer=either/C at=i}' | filecheck %s --check-prefix EITHER

// An element of the consumer comes as soon as the last one that it reads is there.
// PAIR-LABEL: func.func private @pair
// PAIR-NEXT:   %B = loop.alloc stack : memref<10xi32>
// PAIR-NEXT:   loop.for serial "i" %i = 0 to 10 {
// PAIR-NEXT:     %a = loop.load %A[%i]
// PAIR-NEXT:     %b = arith.addi %a, %a : i32
// PAIR-NEXT:     loop.store %b, %B[%i]
// PAIR-NEXT:     loop.for parallel "j" %j = max(0, %i - 1) to %i {
// PAIR-NEXT:       %x = loop.load %B[%j]
// PAIR-NEXT:       %y = loop.load %B[%j + 1]
// PAIR-NEXT:       %z = arith.addi %x, %y : i32
// PAIR-NEXT:       loop.store %z, %C[%j]
// PAIR-NEXT:     }
// PAIR-NEXT:   }
// TILE-LABEL: func.func private @pair
// TILE-NEXT:   %B = loop.alloc stack : memref<10xi32>
// TILE-NEXT:   loop.for serial "i.outer" %i_outer = 0 to 10 step 4 {
// TILE-NEXT:     loop.for parallel "i.inner" %i = %i_outer to min(%i_outer + 4, 10) {
// TILE-NEXT:       %a = loop.load %A[%i]
// TILE-NEXT:       %b = arith.addi %a, %a : i32
// TILE-NEXT:       loop.store %b, %B[%i]
// TILE-NEXT:     }
// TILE-NEXT:     loop.for parallel "j" %j = max(0, %i_outer - 1) to min(9, %i_outer + 3) {
// TILE-NEXT:       %x = loop.load %B[%j]
// TILE-NEXT:       %y = loop.load %B[%j + 1]
// TILE-NEXT:       %z = arith.addi %x, %y : i32
// TILE-NEXT:       loop.store %z, %C[%j]
// TILE-NEXT:     }
// TILE-NEXT:   }
func.func private @pair(%A: memref<10xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<10xi32>
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.load %A[%i] : memref<10xi32>
    %b = arith.addi %a, %a : i32
    loop.store %b, %B[%i] : memref<10xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %x = loop.load %B[%j] : memref<10xi32>
    %y = loop.load %B[%j + 1] : memref<10xi32>
    %z = arith.addi %x, %y : i32
    loop.store %z, %C[%j] : memref<9xi32>
  }
  func.return
}

// Under a loop of the reduction, in its last iteration.
// ROW-LABEL: func.func private @product
// ROW-NEXT:   %C = loop.alloc stack : memref<8x8xi32>
// ROW-NEXT:   loop.for parallel "i" %i = 0 to 8 {
// ROW-NEXT:     loop.for parallel "j" %j = 0 to 8 {
// ROW-NEXT:       %zero = arith.constant 0 : i32
// ROW-NEXT:       loop.store %zero, %C[%i, %j]
// ROW-NEXT:       loop.for reduction "k" %k = 0 to 8 {
// ROW-NEXT:         %a = loop.load %A[%i, %k]
// ROW-NEXT:         %b = loop.load %B[%k, %j]
// ROW-NEXT:         %p = arith.muli %a, %b : i32
// ROW-NEXT:         %c = loop.load %C[%i, %j]
// ROW-NEXT:         %s = arith.addi %c, %p : i32
// ROW-NEXT:         loop.store %s, %C[%i, %j]
// ROW-NEXT:       }
// ROW-NEXT:     }
// ROW-NEXT:     loop.for parallel "y" %y = %i to %i + 1 {
// ROW-NEXT:       loop.for parallel "x" %x = 0 to 8 {
// ROW-NEXT:         %v = loop.load %C[%y, %x]
// ROW-NEXT:         %w = arith.addi %v, %v : i32
// ROW-NEXT:         loop.store %w, %D[%y, %x]
// ROW-NEXT:       }
// ROW-NEXT:     }
// ROW-NEXT:   }
// ELEMENT-LABEL: func.func private @product
// ELEMENT-NEXT:   %C = loop.alloc stack : memref<8x8xi32>
// ELEMENT-NEXT:   loop.for parallel "i" %i = 0 to 8 {
// ELEMENT-NEXT:     loop.for parallel "j" %j = 0 to 8 {
// ELEMENT-NEXT:       %zero = arith.constant 0 : i32
// ELEMENT-NEXT:       loop.store %zero, %C[%i, %j]
// ELEMENT-NEXT:       loop.for reduction "k" %k = 0 to 8 {
// ELEMENT-NEXT:         %a = loop.load %A[%i, %k]
// ELEMENT-NEXT:         %b = loop.load %B[%k, %j]
// ELEMENT-NEXT:         %p = arith.muli %a, %b : i32
// ELEMENT-NEXT:         %c = loop.load %C[%i, %j]
// ELEMENT-NEXT:         %s = arith.addi %c, %p : i32
// ELEMENT-NEXT:         loop.store %s, %C[%i, %j]
// ELEMENT-NEXT:       }
// ELEMENT-NEXT:       loop.for parallel "y" %y = %i to %i + 1 {
// ELEMENT-NEXT:         loop.for parallel "x" %x = %j to %j + 1 {
// ELEMENT-NEXT:           %v = loop.load %C[%y, %x]
// ELEMENT-NEXT:           %w = arith.addi %v, %v : i32
// ELEMENT-NEXT:           loop.store %w, %D[%y, %x]
// ELEMENT-NEXT:         }
// ELEMENT-NEXT:       }
// ELEMENT-NEXT:     }
// ELEMENT-NEXT:   }
// LAST-LABEL: func.func private @product
// LAST-NEXT:   %C = loop.alloc stack : memref<8x8xi32>
// LAST-NEXT:   loop.for parallel "i" %i = 0 to 8 {
// LAST-NEXT:     loop.for parallel "j" %j = 0 to 8 {
// LAST-NEXT:       %zero = arith.constant 0 : i32
// LAST-NEXT:       loop.store %zero, %C[%i, %j]
// LAST-NEXT:       loop.for serial "k" %k = 0 to 8 {
// LAST-NEXT:         %a = loop.load %A[%i, %k]
// LAST-NEXT:         %b = loop.load %B[%k, %j]
// LAST-NEXT:         %p = arith.muli %a, %b : i32
// LAST-NEXT:         %c = loop.load %C[%i, %j]
// LAST-NEXT:         %s = arith.addi %c, %p : i32
// LAST-NEXT:         loop.store %s, %C[%i, %j]
// LAST-NEXT:         loop.if (%k - 7 == 0) {
// LAST-NEXT:           loop.for parallel "y" %y = %i to %i + 1 {
// LAST-NEXT:             loop.for parallel "x" %x = %j to %j + 1 {
// LAST-NEXT:               %v = loop.load %C[%y, %x]
// LAST-NEXT:               %w = arith.addi %v, %v : i32
// LAST-NEXT:               loop.store %w, %D[%y, %x]
// LAST-NEXT:             }
// LAST-NEXT:           }
// LAST-NEXT:         }
// LAST-NEXT:       }
// LAST-NEXT:     }
// LAST-NEXT:   }
// INSIDE: error: {{.*}}reverse_compute_at("product/C", at="j") is refused: the computation of '%C' is inside of loop 'j' already
func.func private @product(%A: memref<8x8xi32> {stepwell.noalias}, %B: memref<8x8xi32> {stepwell.noalias}, %D: memref<8x8xi32> {stepwell.noalias}) {
  %C = loop.alloc stack : memref<8x8xi32>
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to 8 {
      %zero = arith.constant 0 : i32
      loop.store %zero, %C[%i, %j] : memref<8x8xi32>
      loop.for reduction "k" %k = 0 to 8 {
        %a = loop.load %A[%i, %k] : memref<8x8xi32>
        %b = loop.load %B[%k, %j] : memref<8x8xi32>
        %p = arith.muli %a, %b : i32
        %c = loop.load %C[%i, %j] : memref<8x8xi32>
        %s = arith.addi %c, %p : i32
        loop.store %s, %C[%i, %j] : memref<8x8xi32>
      }
    }
  }
  loop.for parallel "y" %y = 0 to 8 {
    loop.for parallel "x" %x = 0 to 8 {
      %v = loop.load %C[%y, %x] : memref<8x8xi32>
      %w = arith.addi %v, %v : i32
      loop.store %w, %D[%y, %x] : memref<8x8xi32>
    }
  }
  func.return
}

// A negative start, a step, a symbol and a triangular consumer.
// SYMBOL-LABEL: func.func private @symbol
// SYMBOL-NEXT:   %B = loop.alloc stack : memref<64xi32>
// SYMBOL-NEXT:   loop.for serial "i" %i = -2 to %n step 3 {
// SYMBOL-NEXT:     %a = loop.load %A[%i + 2]
// SYMBOL-NEXT:     loop.store %a, %B[%i + 2]
// SYMBOL-NEXT:     loop.for parallel "j" %j = (%i + 2) ceildiv 3 * 3 - 2 to min(%n, %i + 3) step 3 {
// SYMBOL-NEXT:       loop.for parallel "t" %t = 0 to %j + 3 {
// SYMBOL-NEXT:         %x = loop.load %B[%j + 2]
// SYMBOL-NEXT:         loop.store %x, %C[%j + %t + 2]
// SYMBOL-NEXT:       }
// SYMBOL-NEXT:     }
// SYMBOL-NEXT:   }
func.func private @symbol(%A: memref<64xi32> {stepwell.noalias}, %C: memref<64xi32> {stepwell.noalias}, %n: index) {
  %B = loop.alloc stack : memref<64xi32>
  loop.for parallel "i" %i = -2 to %n step 3 {
    %a = loop.load %A[%i + 2] : memref<64xi32>
    loop.store %a, %B[%i + 2] : memref<64xi32>
  }
  loop.for parallel "j" %j = -2 to %n step 3 {
    loop.for parallel "t" %t = 0 to %j + 3 {
      %x = loop.load %B[%j + 2] : memref<64xi32>
      loop.store %x, %C[%j + %t + 2] : memref<64xi32>
    }
  }
  func.return
}

// No iteration of the producer, and none to run the consumer in.
// LARGER: error: {{.*}}reverse_compute_at("larger/C", at="i") is refused: the load of '%B' in iteration (j=0) would never run, as loop 'i' has no iteration for it; peel those iterations off first
func.func private @larger(%A: memref<10xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<10xi32>
  loop.for parallel "i" %i = 0 to 0 {
    %a = loop.load %A[%i] : memref<10xi32>
    %b = arith.addi %a, %a : i32
    loop.store %b, %B[%i] : memref<10xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %x = loop.load %B[%j] : memref<10xi32>
    %y = loop.load %B[%j + 1] : memref<10xi32>
    %z = arith.addi %x, %y : i32
    loop.store %z, %C[%j] : memref<9xi32>
  }
  func.return
}

// C may be A, all of which must have been read: in the last iteration it has been.
// OVERLAP-LABEL: func.func @overlap
// OVERLAP-NEXT:   loop.for serial "i" %i = 0 to 9 {
// OVERLAP-NEXT:     %a = loop.load %A[%i]
// OVERLAP-NEXT:     loop.store %a, %B[%i]
// OVERLAP-NEXT:     loop.if (%i - 8 == 0) {
// OVERLAP-NEXT:       loop.for serial "j" %j = 0 to 9 {
// OVERLAP-NEXT:         %x = loop.load %B[%j]
// OVERLAP-NEXT:         loop.store %x, %C[%j]
// OVERLAP-NEXT:       }
// OVERLAP-NEXT:     }
// OVERLAP-NEXT:   }
func.func @overlap(%A: memref<9xi32>, %B: memref<10xi32>, %C: memref<9xi32>) {
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %B[%i] : memref<10xi32>
  }
  loop.for serial "j" %j = 0 to 9 {
    %x = loop.load %B[%j] : memref<10xi32>
    loop.store %x, %C[%j] : memref<9xi32>
  }
  func.return
}

// The loop between still reads what the consumer overwrites.
// SWAPPED: error: {{.*}}reverse_compute_at("swapped/C", at="i") is refused: the store to '%C' ({{.*}}) must come after the load of '%C' ({{.*}}): anti dependence through '%C'; iterations (m=0) and (j=0) would be swapped; choose a loop further out, or fuse the loops with a shift
func.func private @swapped(%A: memref<9xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}, %E: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<9xi32>
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %B[%i] : memref<9xi32>
  }
  loop.for parallel "m" %m = 0 to 9 {
    %c = loop.load %C[%m] : memref<9xi32>
    loop.store %c, %E[%m] : memref<9xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %x = loop.load %B[%j] : memref<9xi32>
    loop.store %x, %C[%j] : memref<9xi32>
  }
  func.return
}

// What an iteration waits for is no affine bound: all of them go to the last one.
// EITHER-LABEL: func.func private @either
// EITHER-NEXT:   %B = loop.alloc stack : memref<9xi32>
// EITHER-NEXT:   loop.for serial "t" %t = 0 to 4 {
// EITHER-NEXT:     loop.for serial "i" %i = 0 to 9 {
// EITHER-NEXT:       %a = loop.load %A[%i]
// EITHER-NEXT:       loop.store %a, %B[%i]
// EITHER-NEXT:       loop.if (%i - 8 == 0) {
// EITHER-NEXT:         loop.for parallel "j" %j = 0 to 9 {
// EITHER-NEXT:           loop.if (%j - 5 >= 0) {
// EITHER-NEXT:             %x = loop.load %B[%j]
// EITHER-NEXT:             loop.store %x, %C[%j]
// EITHER-NEXT:           } else {
// EITHER-NEXT:             %u = loop.load %B[-%j + 8]
// EITHER-NEXT:             loop.store %u, %C[%j]
// EITHER-NEXT:           }
// EITHER-NEXT:         }
// EITHER-NEXT:       }
// EITHER-NEXT:     }
// EITHER-NEXT:   }
func.func private @either(%A: memref<9xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<9xi32>
  loop.for serial "t" %t = 0 to 4 {
    loop.for parallel "i" %i = 0 to 9 {
      %a = loop.load %A[%i] : memref<9xi32>
      loop.store %a, %B[%i] : memref<9xi32>
    }
    loop.for parallel "j" %j = 0 to 9 {
      loop.if (%j - 5 >= 0) {
        %x = loop.load %B[%j] : memref<9xi32>
        loop.store %x, %C[%j] : memref<9xi32>
      } else {
        %u = loop.load %B[-%j + 8] : memref<9xi32>
        loop.store %u, %C[%j] : memref<9xi32>
      }
    }
  }
  func.return
}

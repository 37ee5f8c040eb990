// RUN: stepwell-opt %s -p 'loop-compute-at{buffer=pair/B at=j}' | filecheck %s --check-prefix PAIR
// RUN: stepwell-opt %s -p 'loop-split{loop=pair/j factor=4},loop-compute-at{buffer=pair/B at=j.outer}' | filecheck %s --check-prefix TILE
// RUN: not stepwell-opt %s -p 'loop-compute-at{buffer=pair/B at=i}' 2>&1 | filecheck %s --check-prefix ALREADY
// RUN: stepwell-opt %s -p 'loop-compute-at{buffer=product/C at=y}' | filecheck %s --check-prefix PRODUCT
// RUN: stepwell-opt %s -p 'loop-compute-at{buffer=symbol/B at=j}' | filecheck %s --check-prefix SYMBOL
// RUN: stepwell-opt %s -p 'loop-compute-at{buffer=seen/B at=j}' | filecheck %s --check-prefix SEEN
// RUN: not stepwell-opt %s -p 'loop-compute-at{buffer=between/B at=j}' 2>&1 | filecheck %s --check-prefix CHANGED
// RUN: not stepwell-opt %s -p 'loop-compute-at{buffer=larger/B at=j}' 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not stepwell-opt %s -p 'loop-compute-at{buffer=overlap/B at=j}' 2>&1 | filecheck %s --check-prefix OVERLAP

// Each iteration computes the elements it reads, in a buffer as small as they need.
// PAIR-LABEL: func.func private @pair
// PAIR-NEXT:   loop.for parallel "j" %j = 0 to 9 {
// PAIR-NEXT:     %B = loop.alloc stack : memref<2xi32>
// PAIR-NEXT:     loop.for parallel "i" %i = %j to %j + 2 {
// PAIR-NEXT:       %a = loop.load %A[%i]
// PAIR-NEXT:       %b = arith.addi %a, %a : i32
// PAIR-NEXT:       loop.store %b, %B[%i - %j]
// PAIR-NEXT:     }
// PAIR-NEXT:     %x = loop.load %B[0]
// PAIR-NEXT:     %y = loop.load %B[1]
// PAIR-NEXT:     %z = arith.addi %x, %y : i32
// PAIR-NEXT:     loop.store %z, %C[%j]
// PAIR-NEXT:   }
// TILE-LABEL: func.func private @pair
// TILE-NEXT:   loop.for parallel "j.outer" %j_outer = 0 to 9 step 4 {
// TILE-NEXT:     %B = loop.alloc stack : memref<5xi32>
// TILE-NEXT:     loop.for parallel "i" %i = %j_outer to min(10, %j_outer + 5) {
// TILE-NEXT:       %a = loop.load %A[%i]
// TILE-NEXT:       %b = arith.addi %a, %a : i32
// TILE-NEXT:       loop.store %b, %B[%i - %j_outer]
// TILE-NEXT:     }
// TILE-NEXT:     loop.for parallel "j.inner" %j = %j_outer to min(%j_outer + 4, 9) {
// TILE-NEXT:       %x = loop.load %B[%j - %j_outer]
// TILE-NEXT:       %y = loop.load %B[%j - %j_outer + 1]
// TILE-NEXT:       %z = arith.addi %x, %y : i32
// TILE-NEXT:       loop.store %z, %C[%j]
// TILE-NEXT:     }
// TILE-NEXT:   }
// ALREADY: error: {{.*}}compute_at("pair/B", at="i") is refused: the computation of '%B' is inside of loop 'i' already
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

// A whole reduction moves, with its initialisation.
// PRODUCT-LABEL: func.func private @product
// PRODUCT-NEXT:   loop.for parallel "y" %y = 0 to 8 {
// PRODUCT-NEXT:     %C = loop.alloc stack : memref<1x8xi32>
// PRODUCT-NEXT:     loop.for parallel "i" %i = %y to %y + 1 {
// PRODUCT-NEXT:       loop.for parallel "j" %j = 0 to 8 {
// PRODUCT-NEXT:         %zero = arith.constant 0 : i32
// PRODUCT-NEXT:         loop.store %zero, %C[%i - %y, %j]
// PRODUCT-NEXT:         loop.for reduction "k" %k = 0 to 8 {
// PRODUCT-NEXT:           %a = loop.load %A[%i, %k]
// PRODUCT-NEXT:           %b = loop.load %B[%k, %j]
// PRODUCT-NEXT:           %p = arith.muli %a, %b : i32
// PRODUCT-NEXT:           %c = loop.load %C[%i - %y, %j]
// PRODUCT-NEXT:           %s = arith.addi %c, %p : i32
// PRODUCT-NEXT:           loop.store %s, %C[%i - %y, %j]
// PRODUCT-NEXT:         }
// PRODUCT-NEXT:       }
// PRODUCT-NEXT:     }
// PRODUCT-NEXT:     loop.for parallel "x" %x = 0 to 8 {
// PRODUCT-NEXT:       %v = loop.load %C[0, %x]
// PRODUCT-NEXT:       %w = arith.addi %v, %v : i32
// PRODUCT-NEXT:       loop.store %w, %D[%y, %x]
// PRODUCT-NEXT:     }
// PRODUCT-NEXT:   }
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
// SYMBOL-NEXT:   loop.for parallel "j" %j = -2 to %n step 3 {
// SYMBOL-NEXT:     %B = loop.alloc stack : memref<1xi32>
// SYMBOL-NEXT:     loop.for parallel "i" %i = (%j + 2) ceildiv 3 * 3 - 2 to %j + 1 step 3 {
// SYMBOL-NEXT:       %a = loop.load %A[%i + 2]
// SYMBOL-NEXT:       loop.store %a, %B[%i - %j]
// SYMBOL-NEXT:     }
// SYMBOL-NEXT:     loop.for parallel "t" %t = 0 to %j + 3 {
// SYMBOL-NEXT:       %x = loop.load %B[0]
// SYMBOL-NEXT:       loop.store %x, %C[%j + %t + 2]
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

// The caller sees the buffer, which stays as it is; neighbours compute the same element of it.
// SEEN-LABEL: func.func private @seen
// SEEN-NEXT:   loop.for serial "j" %j = 0 to 9 {
// SEEN-NEXT:     loop.for parallel "i" %i = %j to %j + 2 {
// SEEN-NEXT:       %a = loop.load %A[%i]
// SEEN-NEXT:       %b = arith.addi %a, %a : i32
// SEEN-NEXT:       loop.store %b, %B[%i]
// SEEN-NEXT:     }
// SEEN-NEXT:     %x = loop.load %B[%j]
// SEEN-NEXT:     %y = loop.load %B[%j + 1]
// SEEN-NEXT:     %z = arith.addi %x, %y : i32
// SEEN-NEXT:     loop.store %z, %C[%j]
// SEEN-NEXT:   }
func.func private @seen(%A: memref<10xi32> {stepwell.noalias}, %B: memref<10xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
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

// CHANGED: error: {{.*}}compute_at("between/B", at="j") is refused: the store to '%A' ({{.*}}) must come after the load of '%A' ({{.*}}): anti dependence through '%A'; iterations (i=0) and (m=0) would be swapped; keep the producer where it is
func.func private @between(%A: memref<9xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<9xi32>
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %B[%i] : memref<9xi32>
  }
  loop.for parallel "m" %m = 0 to 9 {
    %zero = arith.constant 0 : i32
    loop.store %zero, %A[%m] : memref<9xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %x = loop.load %B[%j] : memref<9xi32>
    loop.store %x, %C[-%j + 8] : memref<9xi32>
  }
  func.return
}

// The loop needs less than what is produced.
// MISSING: error: {{.*}}compute_at("larger/B", at="j") is refused: the caller sees elements of '%B' that loop 'j' does not need, so they would not be computed, as that of iteration (i=0); keep the producer where it is
func.func private @larger(%A: memref<10xi32> {stepwell.noalias}, %B: memref<10xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.load %A[%i] : memref<10xi32>
    %b = arith.addi %a, %a : i32
    loop.store %b, %B[%i] : memref<10xi32>
  }
  loop.for parallel "j" %j = 1 to 9 {
    %x = loop.load %B[%j] : memref<10xi32>
    %y = loop.load %B[%j + 1] : memref<10xi32>
    %z = arith.addi %x, %y : i32
    loop.store %z, %C[%j] : memref<9xi32>
  }
  func.return
}

// OVERLAP: error: {{.*}}compute_at("overlap/B", at="j") is refused: '%A' may be the same memory as '%B'; mark the arguments stepwell.noalias if they never overlap
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

// RUN: stepwell-opt %s -p 'loop-inline{buffer=pair/B}' | filecheck %s --check-prefix PAIR
// RUN: stepwell-opt %s -p 'loop-split{loop=pair/j factor=4 tail=peel},loop-inline{buffer=pair/B}' | filecheck %s --check-prefix TILES
// RUN: stepwell-opt %s -p 'loop-inline{buffer=symbol/B}' | filecheck %s --check-prefix SYMBOL
// RUN: stepwell-opt %s -p 'loop-inline{buffer=scalar/t}' | filecheck %s --check-prefix SCALAR
// RUN: stepwell-opt %s -p 'loop-peel{loop=scalar/i front=1},loop-inline{buffer=scalar/t}' | filecheck %s --check-prefix PEELED
// RUN: not stepwell-opt %s -p 'loop-peel{loop=peeled/i front=1},loop-inline{buffer=peeled/B}' 2>&1 | filecheck %s --check-prefix STORES
// RUN: not stepwell-opt %s -p 'loop-inline{buffer=between/B}' 2>&1 | filecheck %s --check-prefix CHANGED
// RUN: not stepwell-opt %s -p 'loop-inline{buffer=product/C}' 2>&1 | filecheck %s --check-prefix REDUCTION
// RUN: not stepwell-opt %s -p 'loop-inline{buffer=seen/B}' 2>&1 | filecheck %s --check-prefix SEEN
// RUN: not stepwell-opt %s -p 'loop-inline{buffer=larger/B}' 2>&1 | filecheck %s --check-prefix LARGER

// The value is computed at each load of it, and nothing is left of the buffer.
// PAIR-LABEL: func.func private @pair
// PAIR-NEXT:   loop.for parallel "j" %j = 0 to 9 {
// PAIR-NEXT:     %a = loop.load %A[%j]
// PAIR-NEXT:     %b = arith.addi %a, %a : i32
// PAIR-NEXT:     %a_1 = loop.load %A[%j + 1]
// PAIR-NEXT:     %b_1 = arith.addi %a_1, %a_1 : i32
// PAIR-NEXT:     %z = arith.addi %b, %b_1 : i32
// PAIR-NEXT:     loop.store %z, %C[%j]
// PAIR-NEXT:   }
// TILES-LABEL: func.func private @pair
// TILES-NEXT:   loop.for parallel "j.outer" %j_outer = 0 to 8 step 4 {
// TILES-NEXT:     loop.for parallel "j.inner" %j = %j_outer to %j_outer + 4 {
// TILES-NEXT:       %a = loop.load %A[%j]
// TILES-NEXT:       %b = arith.addi %a, %a : i32
// TILES-NEXT:       %a_1 = loop.load %A[%j + 1]
// TILES-NEXT:       %b_1 = arith.addi %a_1, %a_1 : i32
// TILES-NEXT:       %z = arith.addi %b, %b_1 : i32
// TILES-NEXT:       loop.store %z, %C[%j]
// TILES-NEXT:     }
// TILES-NEXT:   }
// TILES-NEXT:   loop.for parallel "j.tail" %j_1 = 8 to 9 {
// TILES-NEXT:     %a_2 = loop.load %A[8]
// TILES-NEXT:     %b_2 = arith.addi %a_2, %a_2 : i32
// TILES-NEXT:     %a_3 = loop.load %A[9]
// TILES-NEXT:     %b_3 = arith.addi %a_3, %a_3 : i32
// TILES-NEXT:     %z_1 = arith.addi %b_2, %b_3 : i32
// TILES-NEXT:     loop.store %z_1, %C[%j_1]
// TILES-NEXT:   }
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

// A negative start, a step, a symbol and a triangular reader.
// SYMBOL-LABEL: func.func private @symbol
// SYMBOL-NEXT:   loop.for parallel "j" %j = -2 to %n step 3 {
// SYMBOL-NEXT:     loop.for parallel "t" %t = 0 to %j + 3 {
// SYMBOL-NEXT:       %a = loop.load %A[%j + 2]
// SYMBOL-NEXT:       loop.store %a, %C[%j + %t + 2]
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

// Written and read in one loop, of which the first iteration is peeled: each load has its own store.
// SCALAR-LABEL: func.func private @scalar
// SCALAR-NEXT:   loop.for serial "i" %i = 0 to 9 {
// SCALAR-NEXT:     %a = loop.load %A[%i]
// SCALAR-NEXT:     loop.store %a, %C[-%i + 8]
// SCALAR-NEXT:   }
// PEELED-LABEL: func.func private @scalar
// PEELED-NEXT:   loop.for serial "i.front" %i = 0 to 1 {
// PEELED-NEXT:     %a = loop.load %A[0]
// PEELED-NEXT:     loop.store %a, %C[-%i + 8]
// PEELED-NEXT:   }
// PEELED-NEXT:   loop.for serial "i" %i_1 = 1 to 9 {
// PEELED-NEXT:     %a_1 = loop.load %A[%i_1]
// PEELED-NEXT:     loop.store %a_1, %C[-%i_1 + 8]
// PEELED-NEXT:   }
func.func private @scalar(%A: memref<9xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  %t = loop.alloc register : memref<i32>
  loop.for serial "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %t[] : memref<i32>
    %b = loop.load %t[] : memref<i32>
    loop.store %b, %C[-%i + 8] : memref<9xi32>
  }
  func.return
}

// STORES: error: {{.*}}inline("peeled/B") is refused: a load of '%B' gets values from 2 stores: in iteration (j=0) from one, in (j=1) from another; split the reader's loops with index_set_split first, so that each load has one store
func.func private @peeled(%A: memref<10xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
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

// CHANGED: error: {{.*}}inline("between/B") is refused: the store to '%A' ({{.*}}) must come after the load of '%A' ({{.*}}): anti dependence through '%A'; iterations (i=0) and (m=0) would be swapped; inline before the operand is overwritten
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

// REDUCTION: error: {{.*}}inline("product/C") is refused: '%C' is computed from elements of its own (a reduction or recurrence); use compute_at
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

// SEEN: error: {{.*}}inline("seen/B") is refused: '%B' is no scratch buffer of the function, so its contents are visible outside; choose a buffer made by loop.alloc
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

// The reader's region is larger than what is produced.
// LARGER: error: {{.*}}inline("larger/B") is refused: the load of '%B' reads an element that nothing has written, in iteration (j=5)
func.func private @larger(%A: memref<10xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<10xi32>
  loop.for parallel "i" %i = 0 to 5 {
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

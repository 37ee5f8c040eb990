// RUN: stepwell-opt %s -p 'loop-reverse-inline{buffer=one/B}' | filecheck %s --check-prefix ONE
// RUN: stepwell-opt %s -p 'loop-split{loop=one/j factor=8 tail=peel},loop-reverse-inline{buffer=one/B}' | filecheck %s --check-prefix TILES
// RUN: stepwell-opt %s -p 'loop-split{loop=one/i factor=5 tail=perfect},loop-reverse-inline{buffer=one/B}' | filecheck %s --check-prefix BOTH
// RUN: stepwell-opt %s -p 'loop-reverse-inline{buffer=symbol/B}' | filecheck %s --check-prefix SYMBOL
// RUN: stepwell-opt %s -p 'loop-reverse-inline{buffer=two/B}' | filecheck %s --check-prefix TWO
// RUN: not stepwell-opt %s -p 'loop-reverse-inline{buffer=pair/B}' 2>&1 | filecheck %s --check-prefix STENCIL
// RUN: not stepwell-opt %s -p 'loop-reverse-inline{buffer=product/C}' 2>&1 | filecheck %s --check-prefix REDUCTION
// RUN: not stepwell-opt %s -p 'loop-reverse-inline{buffer=seen/B}' 2>&1 | filecheck %s --check-prefix SEEN
// RUN: not stepwell-opt %s -p 'loop-reverse-inline{buffer=inplace/B}' 2>&1 | filecheck %s --check-prefix INPLACE

// The consumer runs as soon as its operand is produced, where it does at all.
// ONE-LABEL: func.func private @one
// ONE-NEXT:   loop.for parallel "i" %i = 0 to 10 {
// ONE-NEXT:     %a = loop.load %A[%i]
// ONE-NEXT:     %b = arith.addi %a, %a : i32
// ONE-NEXT:     loop.if (-%i + 8 >= 0) {
// ONE-NEXT:       %z = arith.addi %b, %b : i32
// ONE-NEXT:       loop.store %z, %C[%i]
// ONE-NEXT:     }
// ONE-NEXT:   }
// TILES-LABEL: func.func private @one
// TILES-NEXT:   loop.for parallel "i" %i = 0 to 10 {
// TILES-NEXT:     %a = loop.load %A[%i]
// TILES-NEXT:     %b = arith.addi %a, %a : i32
// TILES-NEXT:     loop.if (-%i + 7 >= 0) {
// TILES-NEXT:       %z = arith.addi %b, %b : i32
// TILES-NEXT:       loop.store %z, %C[%i]
// TILES-NEXT:     }
// TILES-NEXT:     loop.if (%i - 8 == 0) {
// TILES-NEXT:       %z_1 = arith.addi %b, %b : i32
// TILES-NEXT:       loop.store %z_1, %C[8]
// TILES-NEXT:     }
// TILES-NEXT:   }
// BOTH-LABEL: func.func private @one
// BOTH-NEXT:   loop.for parallel "i.outer" %i_outer = 0 to 10 step 5 {
// BOTH-NEXT:     loop.for parallel "i.inner" %i = %i_outer to %i_outer + 5 {
// BOTH-NEXT:       %a = loop.load %A[%i]
// BOTH-NEXT:       %b = arith.addi %a, %a : i32
// BOTH-NEXT:       loop.if (-%i + 8 >= 0) {
// BOTH-NEXT:         %z = arith.addi %b, %b : i32
// BOTH-NEXT:         loop.store %z, %C[%i]
// BOTH-NEXT:       }
// BOTH-NEXT:     }
// BOTH-NEXT:   }
func.func private @one(%A: memref<10xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<10xi32>
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.load %A[%i] : memref<10xi32>
    %b = arith.addi %a, %a : i32
    loop.store %b, %B[%i] : memref<10xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %x = loop.load %B[%j] : memref<10xi32>
    %z = arith.addi %x, %x : i32
    loop.store %z, %C[%j] : memref<9xi32>
  }
  func.return
}

// A negative start, a step and a symbol.
// SYMBOL-LABEL: func.func private @symbol
// SYMBOL-NEXT:   loop.for parallel "i" %i = -2 to %n step 3 {
// SYMBOL-NEXT:     %a = loop.load %A[%i + 2]
// SYMBOL-NEXT:     loop.store %a, %C[-%i + 60]
// SYMBOL-NEXT:   }
func.func private @symbol(%A: memref<64xi32> {stepwell.noalias}, %C: memref<64xi32> {stepwell.noalias}, %n: index) {
  %B = loop.alloc stack : memref<64xi32>
  loop.for parallel "i" %i = -2 to %n step 3 {
    %a = loop.load %A[%i + 2] : memref<64xi32>
    loop.store %a, %B[%i + 2] : memref<64xi32>
  }
  loop.for parallel "j" %j = -2 to %n step 3 {
    %x = loop.load %B[%j + 2] : memref<64xi32>
    loop.store %x, %C[-%j + 60] : memref<64xi32>
  }
  func.return
}

// Two consumers, in their order.
// TWO-LABEL: func.func private @two
// TWO-NEXT:   loop.for parallel "i" %i = 0 to 9 {
// TWO-NEXT:     %a = loop.load %A[%i]
// TWO-NEXT:     loop.store %a, %C[-%i + 8]
// TWO-NEXT:     loop.store %a, %D[%i]
// TWO-NEXT:   }
func.func private @two(%A: memref<9xi32> {stepwell.noalias}, %C: memref<9xi32> {stepwell.noalias}, %D: memref<9xi32> {stepwell.noalias}) {
  %B = loop.alloc stack : memref<9xi32>
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %A[%i] : memref<9xi32>
    loop.store %a, %B[%i] : memref<9xi32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %x = loop.load %B[-%j + 8] : memref<9xi32>
    loop.store %x, %C[%j] : memref<9xi32>
  }
  loop.for parallel "k" %k = 0 to 9 {
    %y = loop.load %B[%k] : memref<9xi32>
    loop.store %y, %D[%k] : memref<9xi32>
  }
  func.return
}

// STENCIL: error: {{.*}}reverse_inline("pair/B") is refused: an iteration of the consumer reads more than one element of '%B'; use inline, compute_at or reverse_compute_at
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

// REDUCTION: error: {{.*}}reverse_inline("product/C") is refused: '%C' is computed from elements of its own (a reduction or recurrence); use reverse_compute_at
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

// SEEN: error: {{.*}}reverse_inline("seen/B") is refused: '%B' is no scratch buffer of the function, so its contents are visible outside; choose a buffer made by loop.alloc
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

// An update in place: later iterations of the producer still read what the consumer writes.
// INPLACE: error: {{.*}}reverse_inline("inplace/B") is refused: the store to '%A' ({{.*}}) must come after the load of '%A' ({{.*}}): anti dependence through '%A'; iterations (i=2) and (j=1) would be swapped; compute it in a loop of its own, with reverse_compute_at
func.func private @inplace(%A: memref<9xi32>) {
  %B = loop.alloc stack : memref<9xi32>
  loop.for serial "i" %i = 1 to 9 {
    %a = loop.load %A[%i - 1] : memref<9xi32>
    loop.store %a, %B[%i] : memref<9xi32>
  }
  loop.for serial "j" %j = 1 to 9 {
    %b = loop.load %B[%j] : memref<9xi32>
    loop.store %b, %A[%j] : memref<9xi32>
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-decompose-reduction{buffer=product/C at=i}' | filecheck %s --check-prefix I
// RUN: stepwell-opt %s -p 'loop-decompose-reduction{buffer=product/C at=j}' | filecheck %s --check-prefix J
// RUN: not stepwell-opt %s -p 'loop-decompose-reduction{buffer=product/C at=k}' 2>&1 | filecheck %s --check-prefix K
// RUN: stepwell-opt %s -p 'loop-decompose-reduction{buffer=guarded/C at=k}' | filecheck %s --check-prefix GUARDED
// RUN: not stepwell-opt %s -p 'loop-decompose-reduction{buffer=scalar/acc at=i}' 2>&1 | filecheck %s --check-prefix SCALAR
// RUN: not stepwell-opt %s -p 'loop-decompose-reduction{buffer=twice/C at=i}' 2>&1 | filecheck %s --check-prefix TWICE

// The value comes along, and so do the loops around, without their marks and notes.
// I-LABEL: func.func private @product
// I-NEXT:   loop.for parallel "i.init" %i = -1 to 8 {
// I-NEXT:     loop.for parallel "j.init" %j = %i to 8 step 2 {
// I-NEXT:       %z = loop.load %D[%i + 1]
// I-NEXT:       loop.store %z, %C[%i + 1, %j + 1]
// I-NEXT:     }
// I-NEXT:   }
// I-NEXT:   loop.for parallel threads "i" %i_1 = -1 to 8 attributes {stepwell.pragma.keep} {
// I-NEXT:     loop.for parallel "j" %j_1 = %i_1 to 8 step 2 {
// I-NEXT:       loop.for reduction "k" %k = 0 to 9 {
// J-LABEL: func.func private @product
// J-NEXT:   loop.for parallel threads "i" %i = -1 to 8 attributes {stepwell.pragma.keep} {
// J-NEXT:     loop.for parallel "j.init" %j = %i to 8 step 2 {
// J-NEXT:       %z = loop.load %D[%i + 1]
// J-NEXT:       loop.store %z, %C[%i + 1, %j + 1]
// J-NEXT:     }
// J-NEXT:     loop.for parallel "j" %j_1 = %i to 8 step 2 {
// J-NEXT:       loop.for reduction "k" %k = 0 to 9 {
// K: error: {{.*}}decompose_reduction.mlir:33:7: decompose_reduction("product/C", at="k") is refused: loop 'k' has 0 stores to '%C' that could initialise the reduction, expected one
func.func private @product(%A: memref<9x9xi32>, %C: memref<9x9xi32>, %D: memref<9xi32>) attributes {stepwell.noalias} {
  loop.for parallel threads "i" %i = -1 to 8 attributes {stepwell.pragma.keep} {
    loop.for parallel "j" %j = %i to 8 step 2 {
      %z = loop.load %D[%i + 1] : memref<9xi32>
      loop.store %z, %C[%i + 1, %j + 1] : memref<9x9xi32>
      loop.for reduction "k" %k = 0 to 9 {
        %a = loop.load %A[%i + 1, %k] : memref<9x9xi32>
        %c = loop.load %C[%i + 1, %j + 1] : memref<9x9xi32>
        %s = arith.addi %c, %a : i32
        loop.store %s, %C[%i + 1, %j + 1] : memref<9x9xi32>
      }
    }
  }
  func.return
}

// What the other branch does stays where it is.
// GUARDED-LABEL: func.func private @guarded
// GUARDED:        loop.for parallel "k.init" %k = 0 to 9 {
// GUARDED-NEXT:     loop.if (%k == 0) {
// GUARDED-NEXT:       loop.store %zero, %C[0]
// GUARDED-NEXT:     }
// GUARDED-NEXT:   }
// GUARDED-NEXT:   loop.for serial "k" %k_1 = 0 to 9 {
// GUARDED-NEXT:     loop.if (%k_1 == 0) {
// GUARDED-NEXT:     } else {
// GUARDED-NEXT:       loop.store %zero, %D[%k_1]
// GUARDED-NEXT:     }
// GUARDED-NEXT:     %a = loop.load %A[%k_1]
func.func private @guarded(%A: memref<9xi32>, %C: memref<1xi32>, %D: memref<9xi32>) attributes {stepwell.noalias} {
  %zero = arith.constant 0 : i32
  loop.for serial "k" %k = 0 to 9 {
    loop.if (%k == 0) {
      loop.store %zero, %C[0] : memref<1xi32>
    } else {
      loop.store %zero, %D[%k] : memref<9xi32>
    }
    %a = loop.load %A[%k] : memref<9xi32>
    %c = loop.load %C[0] : memref<1xi32>
    %s = arith.addi %c, %a : i32
    loop.store %s, %C[0] : memref<1xi32>
  }
  func.return
}

// SCALAR: error: {{.*}}decompose_reduction.mlir:77:3: decompose_reduction("scalar/acc", at="i") is refused: the store to '%acc' ({{.*}}) must come after the load of '%acc' ({{.*}}): anti dependence through '%acc' at distance (<); iterations (i=0, k=0) and (i=1) would be swapped; choose a loop further in
func.func private @scalar(%A: memref<9x9xi32>, %C: memref<9xi32>) attributes {stepwell.noalias} {
  %acc = loop.alloc stack : memref<1xi32>
  %zero = arith.constant 0 : i32
  loop.for serial "i" %i = 0 to 9 {
    loop.store %zero, %acc[0] : memref<1xi32>
    loop.for reduction "k" %k = 0 to 9 {
      %a = loop.load %A[%i, %k] : memref<9x9xi32>
      %c = loop.load %acc[0] : memref<1xi32>
      %s = arith.addi %c, %a : i32
      loop.store %s, %acc[0] : memref<1xi32>
    }
  }
  func.return
}

// TWICE: error: {{.*}}decompose_reduction.mlir:92:3: decompose_reduction("twice/C", at="i") is refused: loop 'i' has 2 stores to '%C' that could initialise the reduction, expected one
func.func private @twice(%A: memref<9x9xi32>, %C: memref<9xi32>) attributes {stepwell.noalias} {
  %zero = arith.constant 0 : i32
  loop.for parallel "i" %i = 0 to 9 {
    loop.store %zero, %C[%i] : memref<9xi32>
    loop.store %zero, %C[%i] : memref<9xi32>
    loop.for reduction "k" %k = 0 to 9 {
      %a = loop.load %A[%i, %k] : memref<9x9xi32>
      %c = loop.load %C[%i] : memref<9xi32>
      %s = arith.addi %c, %a : i32
      loop.store %s, %C[%i] : memref<9xi32>
    }
  }
  func.return
}

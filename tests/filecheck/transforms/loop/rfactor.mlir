// RUN: stepwell-opt %s -p 'loop-rfactor{loop=rows/k}' | filecheck %s --check-prefix ROWS
// RUN: stepwell-opt %s -p 'loop-rfactor{loop=blocks/k.inner into=lanes}' | filecheck %s --check-prefix BLOCKS
// RUN: stepwell-opt %s -p 'loop-rfactor{loop=scalar/k}' | filecheck %s --check-prefix SCALAR
// RUN: not stepwell-opt %s -p 'loop-rfactor{loop=rows/i}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not stepwell-opt %s -p 'loop-rfactor{loop=strict/k}' 2>&1 | filecheck %s --check-prefix STRICT
// RUN: not stepwell-opt %s -p 'loop-rfactor{loop=prefix/k}' 2>&1 | filecheck %s --check-prefix PREFIX
// RUN: not stepwell-opt %s -p 'loop-rfactor{loop=two/k}' 2>&1 | filecheck %s --check-prefix TWO
// RUN: stepwell-opt %s -p 'loop-rfactor{loop=written_out/k}' | filecheck %s --check-prefix WRITTEN

// ROWS-LABEL: func.func private @rows
// ROWS-NEXT:   loop.for parallel "i" %i = 0 to 9 {
// ROWS-NEXT:     %C.rf = loop.alloc stack : memref<3xi32>
// ROWS-NEXT:     %0 = arith.constant -2147483648 : i32
// ROWS-NEXT:     loop.for parallel "C.rf.init0" %C_rf_init0 = 0 to 3 {
// ROWS-NEXT:       loop.store %0, %C.rf[%C_rf_init0]
// ROWS-NEXT:     }
// ROWS-NEXT:     loop.for parallel "k" %k = %i - 3 to min(%i + 2, 6) step 2 {
// ROWS-NEXT:       %a = loop.load %A[%i, %k + 3]
// ROWS-NEXT:       %c = loop.load %C.rf[(-%i + %k + 3) floordiv 2]
// ROWS-NEXT:       %s = arith.maxsi %c, %a : i32
// ROWS-NEXT:       loop.store %s, %C.rf[(-%i + %k + 3) floordiv 2]
// ROWS-NEXT:     }
// ROWS-NEXT:     loop.for reduction "k.combine" %k_combine = 0 to 3 {
// ROWS-NEXT:       %1 = loop.load %C[%i]
// ROWS-NEXT:       %2 = loop.load %C.rf[%k_combine]
// ROWS-NEXT:       %s_1 = arith.maxsi %1, %2 : i32
// ROWS-NEXT:       loop.store %s_1, %C[%i]
// ROWS-NEXT:     }
// ROWS-NEXT:   }
// NONE: error: {{.*}}rfactor.mlir:32:3: rfactor("rows/i") is refused: loop 'i' carries no reduction; floating-point additions and products need fastmath<reassoc>
func.func private @rows(%A: memref<9x9xi32>, %C: memref<9xi32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 9 {
    loop.for reduction "k" %k = %i - 3 to min(%i + 2, 6) step 2 {
      %a = loop.load %A[%i, %k + 3] : memref<9x9xi32>
      %c = loop.load %C[%i] : memref<9xi32>
      %s = arith.maxsi %c, %a : i32
      loop.store %s, %C[%i] : memref<9xi32>
    }
  }
  func.return
}

// The outermost loop of the reduction stands between the partial results and what combines them; the loop
// over the elements inside of it has its counterparts.
// BLOCKS-LABEL: func.func private @blocks
// BLOCKS-NEXT:   %lanes = loop.alloc stack : memref<9x4xf32>
// BLOCKS-NEXT:   %0 = arith.constant 0.000000e+00 : f32
// BLOCKS-NEXT:   loop.for parallel "lanes.init0" %lanes_init0 = 0 to 9 {
// BLOCKS-NEXT:     loop.for parallel "lanes.init1" %lanes_init1 = 0 to 4 {
// BLOCKS-NEXT:       loop.store %0, %lanes[%lanes_init0, %lanes_init1]
// BLOCKS-NEXT:     }
// BLOCKS-NEXT:   }
// BLOCKS-NEXT:   loop.for reduction "k.outer" %o = 0 to 30 step 4 {
// BLOCKS-NEXT:     loop.for parallel "i" %i = 0 to 9 {
// BLOCKS-NEXT:       loop.for parallel "k.inner" %k = %o to min(%o + 4, 30) {
// BLOCKS-NEXT:         %a = loop.load %A[%i, %k]
// BLOCKS-NEXT:         %c = loop.load %lanes[%i, %k - %o]
// BLOCKS-NEXT:         %s = arith.addf %a, %c fastmath<reassoc> : f32
// BLOCKS-NEXT:         loop.store %s, %lanes[%i, %k - %o]
// BLOCKS:        loop.for parallel "lanes.0" %lanes_1 = 0 to 9 {
// BLOCKS-NEXT:     loop.for reduction "k.inner.combine" %k_inner_combine = 0 to 4 {
// BLOCKS-NEXT:       %1 = loop.load %C[%lanes_1]
// BLOCKS-NEXT:       %2 = loop.load %lanes[%lanes_1, %k_inner_combine]
// BLOCKS-NEXT:       %s_1 = arith.addf %2, %1 fastmath<reassoc> : f32
// BLOCKS-NEXT:       loop.store %s_1, %C[%lanes_1]
func.func private @blocks(%A: memref<9x30xf32>, %C: memref<9xf32>) attributes {stepwell.noalias} {
  loop.for reduction "k.outer" %o = 0 to 30 step 4 {
    loop.for parallel "i" %i = 0 to 9 {
      loop.for reduction "k.inner" %k = %o to min(%o + 4, 30) {
        %a = loop.load %A[%i, %k] : memref<9x30xf32>
        %c = loop.load %C[%i] : memref<9xf32>
        %s = arith.addf %a, %c fastmath<reassoc> : f32
        loop.store %s, %C[%i] : memref<9xf32>
      }
    }
  }
  func.return
}

// One element for all rows: what sets and reads it is not in between within a row.
// SCALAR-LABEL: func.func private @scalar
// SCALAR:        loop.for serial "i" %i = 0 to 9 {
// SCALAR-NEXT:     loop.store %zero, %acc[0]
// SCALAR-NEXT:     %acc.rf = loop.alloc stack : memref<9xi32>
// SCALAR:          loop.for parallel "k" %k = 0 to 9 {
// SCALAR:          loop.for reduction "k.combine" %k_combine = 0 to 9 {
// SCALAR:          %r = loop.load %acc[0]
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
    %r = loop.load %acc[0] : memref<1xi32>
    loop.store %r, %C[%i] : memref<9xi32>
  }
  func.return
}

// STRICT: error: {{.*}}rfactor.mlir:107:3: rfactor("strict/k") is refused: the load of '%C' ({{.*}}) must come after the store to '%C' ({{.*}}): flow dependence through '%C' at distance (<); iterations (k=0) and (k=1) would be computed apart; floating-point additions and products need fastmath<reassoc>
func.func private @strict(%A: memref<9xf32>, %C: memref<f32>) attributes {stepwell.noalias} {
  loop.for serial "k" %k = 0 to 9 {
    %a = loop.load %A[%k] : memref<9xf32>
    %c = loop.load %C[] : memref<f32>
    %s = arith.addf %c, %a : f32
    loop.store %s, %C[] : memref<f32>
  }
  func.return
}

// PREFIX: error: {{.*}}rfactor.mlir:118:3: rfactor("prefix/k") is refused: the load of '%C' ({{.*}}) must come after the store to '%C' ({{.*}}): flow dependence through '%C' at distance (*); iterations (k=0) and (k=0) would be swapped, since updates are combined after loop 'k'; decompose_reduction or fission moves it out
func.func private @prefix(%A: memref<9xi32>, %C: memref<1xi32>) attributes {stepwell.noalias} {
  loop.for serial "k" %k = 0 to 9 {
    %a = loop.load %A[%k] : memref<9xi32>
    %c = loop.load %C[0] : memref<1xi32>
    %s = arith.addi %c, %a : i32
    loop.store %s, %C[0] : memref<1xi32>
    %t = loop.load %C[0] : memref<1xi32>
    loop.store %t, %A[%k] : memref<9xi32>
  }
  func.return
}

// TWO: error: {{.*}}rfactor.mlir:131:3: rfactor("two/k") is refused: loop 'k' reduces in 2 places, into '%C', '%D'; name one of them with 'of'
func.func private @two(%A: memref<9xi32>, %C: memref<1xi32>, %D: memref<1xi32>) attributes {stepwell.noalias} {
  loop.for reduction "k" %k = 0 to 9 {
    %a = loop.load %A[%k] : memref<9xi32>
    %c = loop.load %C[0] : memref<1xi32>
    %s = arith.addi %c, %a : i32
    loop.store %s, %C[0] : memref<1xi32>
    %d = loop.load %D[0] : memref<1xi32>
    %t = arith.minsi %d, %a : i32
    loop.store %t, %D[0] : memref<1xi32>
  }
  func.return
}

// Updates of one buffer by one operator share the partial results, those of several elements too.
// WRITTEN-LABEL: func.func private @written_out
// WRITTEN-NEXT:   %C.rf = loop.alloc stack : memref<2x9xi32>
// WRITTEN:        loop.for parallel "k" %k = 0 to 9 {
// WRITTEN:          %c = loop.load %C.rf[0, %k]
// WRITTEN:          loop.store %s, %C.rf[0, %k]
// WRITTEN:          %d = loop.load %C.rf[0, %k]
// WRITTEN:          loop.store %t, %C.rf[0, %k]
// WRITTEN:          %e = loop.load %C.rf[1, %k]
// WRITTEN:          loop.store %u, %C.rf[1, %k]
// WRITTEN:        loop.for parallel "C.rf.0" %C_rf = 0 to 2 {
// WRITTEN-NEXT:     loop.for reduction "k.combine" %k_combine = 0 to 9 {
// WRITTEN-NEXT:       %1 = loop.load %C[%C_rf]
// WRITTEN-NEXT:       %2 = loop.load %C.rf[%C_rf, %k_combine]
func.func private @written_out(%A: memref<9x2xi32>, %C: memref<2xi32>) attributes {stepwell.noalias} {
  loop.for reduction "k" %k = 0 to 9 {
    %a = loop.load %A[%k, 0] : memref<9x2xi32>
    %c = loop.load %C[0] : memref<2xi32>
    %s = arith.addi %c, %a : i32
    loop.store %s, %C[0] : memref<2xi32>
    %b = loop.load %A[%k, 1] : memref<9x2xi32>
    %d = loop.load %C[0] : memref<2xi32>
    %t = arith.addi %d, %b : i32
    loop.store %t, %C[0] : memref<2xi32>
    %e = loop.load %C[1] : memref<2xi32>
    %u = arith.addi %e, %b : i32
    loop.store %u, %C[1] : memref<2xi32>
  }
  func.return
}

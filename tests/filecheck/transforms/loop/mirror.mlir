// RUN: stepwell-opt %s -p 'loop-mirror{loop=gram/j}' | filecheck %s --check-prefix ROWS
// RUN: stepwell-opt %s -p 'loop-split{loop=gram/j factor=4 outer=tile inner=column},loop-reorder{loop=gram/i order=tile,i,column},loop-split{loop=gram/i factor=3 outer=rows inner=row},loop-mirror{loop=gram/rows}' | filecheck %s --check-prefix TILES
// RUN: not stepwell-opt %s -p 'loop-mirror{loop=gram/i}' 2>&1 | filecheck %s --check-prefix NOTHING
// RUN: not stepwell-opt %s -p 'loop-mirror{loop=two/j}' 2>&1 | filecheck %s --check-prefix TWO
// RUN: not stepwell-opt %s -p 'loop-mirror{loop=other/j}' 2>&1 | filecheck %s --check-prefix OTHER

// ROWS-LABEL: func.func @gram
// ROWS:      loop.for parallel "i" %i = 0 to 10 {
// ROWS-NEXT:   loop.for parallel "j" %j = 0 to %i + 1 {
// ROWS:      loop.for parallel "row.mirror" %row_mirror = 0 to 10 {
// ROWS-NEXT:   loop.for parallel "column.mirror" %column_mirror = %row_mirror + 1 to 10 {
// ROWS-NEXT:     %[[BELOW:.*]] = loop.load %C[%column_mirror, %row_mirror]
// ROWS-NEXT:     loop.store %[[BELOW]], %C[%row_mirror, %column_mirror]

// Tiles begin with the one that the diagonal goes through.
// TILES-LABEL: func.func @gram
// TILES:      loop.for parallel "tile" %tile = 0 to 10 step 4 {
// TILES-NEXT:   loop.for parallel "rows" %rows = (%tile - 2) ceildiv 3 * 3 to 10 step 3 {

// NOTHING: error: {{.*}}mirror("gram/i") is refused: loop 'i' has no iteration that stores above the diagonal only; mirror a loop around
// TWO: error: {{.*}}mirror("two/j") is refused: loop 'j' adds products of elements of two buffers; mirror a loop around
// OTHER: error: {{.*}}mirror("other/j") is refused: loop 'j' adds other products to elements below the diagonal than above it; mirror a loop around

func.func @gram(%A: memref<20x10xf64> {stepwell.noalias}, %B: memref<20x10xf64> {stepwell.noalias}, %C: memref<10x10xf64> {stepwell.noalias}) {
  %zero = arith.constant 0.000000e+00 : f64
  loop.for parallel "i.init" %i0 = 0 to 10 {
    loop.for parallel "j.init" %j0 = 0 to 10 {
      loop.store %zero, %C[%i0, %j0] : memref<10x10xf64>
    }
  }
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 10 {
      loop.for reduction "k" %k = 0 to 20 {
        %a = loop.load %A[%k, %i] : memref<20x10xf64>
        %b = loop.load %A[%k, %j] : memref<20x10xf64>
        %p = arith.mulf %a, %b : f64
        %c = loop.load %C[%i, %j] : memref<10x10xf64>
        %s = arith.addf %c, %p fastmath<reassoc> : f64
        loop.store %s, %C[%i, %j] : memref<10x10xf64>
      }
    }
  }
  func.return
}
func.func @two(%A: memref<20x10xf64> {stepwell.noalias}, %B: memref<20x10xf64> {stepwell.noalias}, %C: memref<10x10xf64> {stepwell.noalias}) {
  %zero = arith.constant 0.000000e+00 : f64
  loop.for parallel "i.init" %i0 = 0 to 10 {
    loop.for parallel "j.init" %j0 = 0 to 10 {
      loop.store %zero, %C[%i0, %j0] : memref<10x10xf64>
    }
  }
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 10 {
      loop.for reduction "k" %k = 0 to 20 {
        %a = loop.load %A[%k, %i] : memref<20x10xf64>
        %b = loop.load %B[%k, %j] : memref<20x10xf64>
        %p = arith.mulf %a, %b : f64
        %c = loop.load %C[%i, %j] : memref<10x10xf64>
        %s = arith.addf %c, %p fastmath<reassoc> : f64
        loop.store %s, %C[%i, %j] : memref<10x10xf64>
      }
    }
  }
  func.return
}
func.func @other(%A: memref<20x10xf64> {stepwell.noalias}, %B: memref<20x10xf64> {stepwell.noalias}, %C: memref<10x10xf64> {stepwell.noalias}) {
  %zero = arith.constant 0.000000e+00 : f64
  loop.for parallel "i.init" %i0 = 0 to 10 {
    loop.for parallel "j.init" %j0 = 0 to 10 {
      loop.store %zero, %C[%i0, %j0] : memref<10x10xf64>
    }
  }
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 10 {
      loop.for reduction "k" %k = 0 to 19 {
        %a = loop.load %A[%k, %i] : memref<20x10xf64>
        %b = loop.load %A[%k + 1, %j] : memref<20x10xf64>
        %p = arith.mulf %a, %b : f64
        %c = loop.load %C[%i, %j] : memref<10x10xf64>
        %s = arith.addf %c, %p fastmath<reassoc> : f64
        loop.store %s, %C[%i, %j] : memref<10x10xf64>
      }
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p "loop-auto-tile{cache-bytes=8192}" | filecheck %s

// Between two uses of a column of B all of A and C go by: 3 loops in tiles that fit.
// CHECK:      stepwell.chosen = ["tile(mm/i, factors=[{{[0-9]+, [0-9]+, [0-9]+}}]): {{[0-9]+}} bytes between two uses of the same elements, more than 8192"]
// CHECK-NEXT:   loop.for parallel "i.outer"
// CHECK-NEXT:     loop.for parallel "j.outer"
// CHECK-NEXT:       loop.for reduction "k.outer"
// CHECK-NEXT:         loop.for parallel "i.inner"
// CHECK-NEXT:           loop.for parallel "j.inner"
// CHECK-NEXT:             loop.for reduction "k.inner"
func.func @mm(%A: memref<64x64xf32>, %B: memref<64x64xf32>, %C: memref<64x64xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 64 {
    loop.for parallel "j" %j = 0 to 64 {
      loop.for reduction "k" %k = 0 to 64 {
        %a = loop.load %A[%i, %k] : memref<64x64xf32>
        %b = loop.load %B[%k, %j] : memref<64x64xf32>
        %c = loop.load %C[%i, %j] : memref<64x64xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p fastmath<reassoc> : f32
        loop.store %s, %C[%i, %j] : memref<64x64xf32>
      }
    }
  }
  func.return
}

// Nothing is used twice.
// CHECK:      func.func @copy(%A: memref<64x64xf32>, %B: memref<64x64xf32>) {
func.func @copy(%A: memref<64x64xf32>, %B: memref<64x64xf32>) {
  loop.for parallel "i" %i = 0 to 64 {
    loop.for parallel "j" %j = 0 to 64 {
      %a = loop.load %A[%i, %j] : memref<64x64xf32>
      loop.store %a, %B[%i, %j] : memref<64x64xf32>
    }
  }
  func.return
}

// Tiles of Gauss-Seidel's time steps are not legal without skewing.
// CHECK:      func.func @seidel(%A: memref<4000xf32>) {
func.func @seidel(%A: memref<4000xf32>) {
  loop.for serial "t" %t = 0 to 100 {
    loop.for serial "i" %i = 1 to 3999 {
      %a = loop.load %A[%i - 1] : memref<4000xf32>
      %b = loop.load %A[%i + 1] : memref<4000xf32>
      %s = arith.addf %a, %b : f32
      loop.store %s, %A[%i] : memref<4000xf32>
    }
  }
  func.return
}

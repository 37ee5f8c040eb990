// 2-D Jacobi: each point becomes the mean of itself and its four neighbours, over and over.
// Two statements in a time loop that depend on each other: tiling them together needs skewing.
func.func @jacobi2d(%A: memref<21x21xf64>, %B: memref<21x21xf64>) attributes {stepwell.noalias} {
  %fifth = arith.constant 0.2 : f64
  loop.for serial "t" %t = 0 to 6 {
    loop.for parallel "i" %i = 1 to 20 {
      loop.for parallel "j" %j = 1 to 20 {
        %c = loop.load %A[%i, %j] : memref<21x21xf64>
        %w = loop.load %A[%i, %j - 1] : memref<21x21xf64>
        %e = loop.load %A[%i, %j + 1] : memref<21x21xf64>
        %n = loop.load %A[%i - 1, %j] : memref<21x21xf64>
        %s = loop.load %A[%i + 1, %j] : memref<21x21xf64>
        %0 = arith.addf %c, %w : f64
        %1 = arith.addf %0, %e : f64
        %2 = arith.addf %1, %n : f64
        %3 = arith.addf %2, %s : f64
        %4 = arith.mulf %3, %fifth : f64
        loop.store %4, %B[%i, %j] : memref<21x21xf64>
      }
    }
    loop.for parallel "i2" %i = 1 to 20 {
      loop.for parallel "j2" %j = 1 to 20 {
        %v = loop.load %B[%i, %j] : memref<21x21xf64>
        loop.store %v, %A[%i, %j] : memref<21x21xf64>
      }
    }
  }
  func.return
}

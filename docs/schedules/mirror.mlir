// Good for products of a matrix with itself, `A.T @ A` and `A @ A.T`: nearly half of the multiplications are left out.
func.func @f(%A: memref<20x10xf64>, %C: memref<10x10xf64> {stepwell.result}) {
  %zero = arith.constant 0.000000e+00 : f64
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 10 {
      loop.store %zero, %C[%i, %j] : memref<10x10xf64>
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
schedule.script {
  schedule.mirror "f/j"
}

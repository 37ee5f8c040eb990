// LU factorization without pivoting, in place.
// Triangular loops whose bounds depend on the outermost one.
func.func @lu(%A: memref<17x17xf64>) {
  loop.for serial "k" %k = 0 to 17 {
    loop.for parallel "i" %i = %k + 1 to 17 {
      %a = loop.load %A[%i, %k] : memref<17x17xf64>
      %p = loop.load %A[%k, %k] : memref<17x17xf64>
      %l = arith.divf %a, %p : f64
      loop.store %l, %A[%i, %k] : memref<17x17xf64>
    }
    loop.for parallel "i2" %i = %k + 1 to 17 {
      loop.for parallel "j2" %j = %k + 1 to 17 {
        %l = loop.load %A[%i, %k] : memref<17x17xf64>
        %u = loop.load %A[%k, %j] : memref<17x17xf64>
        %o = loop.load %A[%i, %j] : memref<17x17xf64>
        %p = arith.mulf %l, %u : f64
        %d = arith.subf %o, %p : f64
        loop.store %d, %A[%i, %j] : memref<17x17xf64>
      }
    }
  }
  func.return
}

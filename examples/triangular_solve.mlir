// Forward substitution: x with L x = b for a lower triangular L with ones on the diagonal, in place of b.
// The inner loop ends where the outer one is: an affine bound. Every iteration needs those before it.
func.func @triangular_solve(%l: memref<13x13xf64>, %b: memref<13xf64>) {
  loop.for serial "row" %i = 0 to 13 {
    loop.for serial "column" %j = 0 to %i {
      %known = loop.load %b[%j] : memref<13xf64>
      %factor = loop.load %l[%i, %j] : memref<13x13xf64>
      %rest = loop.load %b[%i] : memref<13xf64>
      %product = arith.mulf %factor, %known : f64
      %difference = arith.subf %rest, %product : f64
      loop.store %difference, %b[%i] : memref<13xf64>
    }
  }
  func.return
}

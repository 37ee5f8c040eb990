// Solves L x = b for a lower triangular L, x taking the place of b.
// Row i needs all rows before it: the outer loop is serial, the inner one a reduction.
func.func @triangular_solve(%L: memref<33x33xf64>, %x: memref<33xf64>) attributes {stepwell.noalias} {
  loop.for serial "i" %i = 0 to 33 {
    loop.for serial "j" %j = 0 to %i {
      %l = loop.load %L[%i, %j] : memref<33x33xf64>
      %v = loop.load %x[%j] : memref<33xf64>
      %p = arith.mulf %l, %v : f64
      %o = loop.load %x[%i] : memref<33xf64>
      %d = arith.subf %o, %p : f64
      loop.store %d, %x[%i] : memref<33xf64>
    }
    %o = loop.load %x[%i] : memref<33xf64>
    %l = loop.load %L[%i, %i] : memref<33x33xf64>
    %q = arith.divf %o, %l : f64
    loop.store %q, %x[%i] : memref<33xf64>
  }
  func.return
}

// One Jacobi step of the heat equation on the inside of a grid; the edge of `out` is left as it was.
// Loops have names and kinds, subscripts are affine: what a schedule of this level works on.
func.func @jacobi(%grid: memref<17x31xf64>, %out: memref<17x31xf64>) {
  %quarter = arith.constant 0.25 : f64
  loop.for parallel "y" %y = 1 to 16 {
    loop.for parallel "x" %x = 1 to 30 {
      %north = loop.load %grid[%y - 1, %x] : memref<17x31xf64>
      %south = loop.load %grid[%y + 1, %x] : memref<17x31xf64>
      %west = loop.load %grid[%y, %x - 1] : memref<17x31xf64>
      %east = loop.load %grid[%y, %x + 1] : memref<17x31xf64>
      %vertical = arith.addf %north, %south : f64
      %horizontal = arith.addf %west, %east : f64
      %sum = arith.addf %vertical, %horizontal : f64
      %mean = arith.mulf %sum, %quarter : f64
      loop.store %mean, %out[%y, %x] : memref<17x31xf64>
    }
  }
  func.return
}

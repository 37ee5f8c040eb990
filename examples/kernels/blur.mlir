// A separable 3 x 3 blur: rows first, then columns of the result.
// The consumer reads three rows of the producer: fusing them takes recomputation or a shift.
func.func @blur(%x: memref<19x33xf32>, %y: memref<17x31xf32> {stepwell.result}) {
  %third = arith.constant 0.333333343 : f32
  %rows = loop.alloc arena : memref<19x31xf32>
  loop.for parallel "i" %i = 0 to 19 {
    loop.for parallel "j" %j = 0 to 31 {
      %a = loop.load %x[%i, %j] : memref<19x33xf32>
      %b = loop.load %x[%i, %j + 1] : memref<19x33xf32>
      %c = loop.load %x[%i, %j + 2] : memref<19x33xf32>
      %0 = arith.addf %a, %b : f32
      %1 = arith.addf %0, %c : f32
      %2 = arith.mulf %1, %third : f32
      loop.store %2, %rows[%i, %j] : memref<19x31xf32>
    }
  }
  loop.for parallel "i2" %i = 0 to 17 {
    loop.for parallel "j2" %j = 0 to 31 {
      %a = loop.load %rows[%i, %j] : memref<19x31xf32>
      %b = loop.load %rows[%i + 1, %j] : memref<19x31xf32>
      %c = loop.load %rows[%i + 2, %j] : memref<19x31xf32>
      %0 = arith.addf %a, %b : f32
      %1 = arith.addf %0, %c : f32
      %2 = arith.mulf %1, %third : f32
      loop.store %2, %y[%i, %j] : memref<17x31xf32>
    }
  }
  func.return
}

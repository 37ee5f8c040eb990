// Good for packing: a tile in consecutive memory, in an order that suits the loops, read many
// times. At `register` scope, accumulators.
func.func @f(%A: memref<8x16xf32>, %x: memref<16xf32>, %y: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for reduction "k" %k = 0 to 16 {
      %a = loop.load %A[%i, %k] : memref<8x16xf32>
      %b = loop.load %x[%k] : memref<16xf32>
      %p = arith.mulf %a, %b : f32
      %c = loop.load %y[%i] : memref<8xf32>
      %s = arith.addf %c, %p fastmath<reassoc> : f32
      loop.store %s, %y[%i] : memref<8xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.stage "f/y" at = "i" scope = "register"
}

// Good for a perfect nest of the update alone, as `tile`, `stage` and micro-kernels want it.
func.func @f(%A: memref<8x16xf32>, %x: memref<16xf32>, %y: memref<8xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 8 {
    %zero = arith.constant 0.0 : f32
    loop.store %zero, %y[%i] : memref<8xf32>
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
  schedule.decompose_reduction "f/y" at = "i"
}

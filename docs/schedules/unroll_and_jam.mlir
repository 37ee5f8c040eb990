// Good for register blocking: what the copies share is loaded once.
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
  schedule.unroll_and_jam "f/i" factor = 2 tail = "perfect"
}

// Good for parallel or vector reductions: each thread or lane has its own partial result.
func.func @f(%A: memref<64xf32>, %y: memref<1xf32>) attributes {stepwell.noalias} {
  loop.for reduction "k" %k = 0 to 64 step 8 {
    loop.for reduction "l" %l = 0 to 8 {
      %a = loop.load %A[%k + %l] : memref<64xf32>
      %c = loop.load %y[0] : memref<1xf32>
      %s = arith.addf %c, %a fastmath<reassoc> : f32
      loop.store %s, %y[0] : memref<1xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.rfactor "f/l"
}

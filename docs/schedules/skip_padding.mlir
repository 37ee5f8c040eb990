// Good for padded convolutions: the rows of a filter that are above or below the image take no time.
func.func @f(%A: memref<10xf32>, %w: memref<3xf32> {stepwell.constant, stepwell.finite}, %B: memref<10xf32>) {
  loop.for parallel "i" %i = 0 to 10 {
    loop.for reduction "k" %k = 0 to 3 {
      %a = loop.if (%i + %k - 1 >= 0, -%i - %k + 10 >= 0) -> (f32) {
        %0 = loop.load %A[%i + %k - 1] : memref<10xf32>
        loop.yield %0 : f32
      } else {
        %1 = arith.constant 0.0 : f32
        loop.yield %1 : f32
      }
      %b = loop.load %w[%k] : memref<3xf32>
      %p = arith.mulf %a, %b : f32
      %c = loop.load %B[%i] : memref<10xf32>
      %s = arith.addf %c, %p fastmath<reassoc> : f32
      loop.store %s, %B[%i] : memref<10xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.skip_padding "f/k"
}

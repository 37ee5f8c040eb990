// Good for padded convolutions and stencils that read in place: the iterations inside of the border need no test.
func.func @f(%A: memref<10xf32>, %w: memref<3xf32>, %B: memref<10xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 10 {
    loop.for reduction "k" %k = 0 to 3 {
      loop.if (%i + %k - 1 >= 0, -%i - %k + 10 >= 0) {
        %a = loop.load %A[%i + %k - 1] : memref<10xf32>
        %b = loop.load %w[%k] : memref<3xf32>
        %p = arith.mulf %a, %b : f32
        %c = loop.load %B[%i] : memref<10xf32>
        %s = arith.addf %c, %p : f32
        loop.store %s, %B[%i] : memref<10xf32>
      }
    }
  }
  func.return
}
schedule.script {
  schedule.partition "f/i"
}

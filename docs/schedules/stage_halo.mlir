// Good for convolutions and stencils with padding: one copy, and the loops that read it need no
// conditions. Each part of the border is filled by a nest of its own.
func.func @f(%A: memref<16xf32>, %w: memref<3xf32>, %y: memref<16xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 16 {
    loop.for reduction "k" %k = 0 to 3 {
      %a = loop.if (%i + %k - 1 >= 0, -%i - %k + 16 >= 0) -> (f32) {
        %0 = loop.load %A[%i + %k - 1] : memref<16xf32>
        loop.yield %0 : f32
      } else {
        %1 = arith.constant 0.0 : f32
        loop.yield %1 : f32
      }
      %b = loop.load %w[%k] : memref<3xf32>
      %p = arith.mulf %a, %b : f32
      %c = loop.load %y[%i] : memref<16xf32>
      %s = arith.addf %c, %p fastmath<reassoc> : f32
      loop.store %s, %y[%i] : memref<16xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.stage_halo "f/A"
}

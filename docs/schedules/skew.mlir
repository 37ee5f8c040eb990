// Good for stencils repeated over time: after skewing, interchange and tiling become legal.
func.func @f(%A: memref<17xf32>) {
  loop.for serial "t" %t = 0 to 8 {
    loop.for serial "i" %i = 1 to 16 {
      %a = loop.load %A[%i - 1] : memref<17xf32>
      %b = loop.load %A[%i + 1] : memref<17xf32>
      %s = arith.addf %a, %b : f32
      loop.store %s, %A[%i] : memref<17xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.skew "f/i" by = "t"
}

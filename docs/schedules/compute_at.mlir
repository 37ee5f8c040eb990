// Good for a producer whose result would leave the cache before it is used; what neighbouring
// iterations share is computed again.
func.func @f(%A: memref<18xf32>, %C: memref<16xf32> {stepwell.result}) {
  %T = loop.alloc arena : memref<17xf32>
  loop.for parallel "i" %i = 0 to 17 {
    %a = loop.load %A[%i] : memref<18xf32>
    %b = loop.load %A[%i + 1] : memref<18xf32>
    %s = arith.addf %a, %b : f32
    loop.store %s, %T[%i] : memref<17xf32>
  }
  loop.for parallel "j" %j = 0 to 16 {
    %t = loop.load %T[%j] : memref<17xf32>
    %u = loop.load %T[%j + 1] : memref<17xf32>
    %v = arith.mulf %t, %u : f32
    loop.store %v, %C[%j] : memref<16xf32>
  }
  func.return
}
schedule.script {
  schedule.compute_at "f/T" at = "j"
}

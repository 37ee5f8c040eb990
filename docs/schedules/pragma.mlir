// Good for telling later stages, or a tool of your own, something about a loop.
func.func @f(%A: memref<10xf32>, %B: memref<10xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.load %A[%i] : memref<10xf32>
    %b = math.exp %a : f32
    loop.store %b, %B[%i] : memref<10xf32>
  }
  func.return
}
schedule.script {
  schedule.pragma "f/i" key = "unroll_hint" value = "4"
}

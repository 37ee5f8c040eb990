// Good for bounds that depend on fewer loops, before `reorder`, `vectorize` or `unroll` with mark. Name
// positions of a loop (`index_set_split`) with the numbers it has then.
func.func @f(%A: memref<20xf32>, %B: memref<20xf32> {stepwell.result}) {
  loop.for parallel "i.outer" %o = 4 to 20 step 8 {
    loop.for parallel "i.inner" %i = %o to %o + 8 {
      %a = loop.load %A[%i] : memref<20xf32>
      loop.store %a, %B[%i] : memref<20xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.normalize "f"
}

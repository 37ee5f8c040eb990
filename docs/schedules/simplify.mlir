// Good for cleaning up after other steps, before `reorder`, `vectorize` or reading.
func.func @f(%A: memref<16xf32>, %B: memref<16xf32> {stepwell.result}) {
  loop.for parallel "i" %i = max(0, 4) to min(8, 16) {
    loop.for parallel "one" %one = %i to %i + 1 {
      loop.if (%one - 2 >= 0) {
        %a = loop.load %A[%one] : memref<16xf32>
        loop.store %a, %B[%one] : memref<16xf32>
      }
    }
  }
  func.return
}
schedule.script {
  schedule.simplify "f"
}

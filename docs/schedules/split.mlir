// Good for blocks for caches, vectors and registers: nearly every schedule starts with it. The
// tail says what happens to iterations left over.
func.func @f(%A: memref<10xf32>, %B: memref<10xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.load %A[%i] : memref<10xf32>
    %b = math.exp %a : f32
    loop.store %b, %B[%i] : memref<10xf32>
  }
  func.return
}
schedule.script {
  schedule.split "f/i" factor = 4 tail = "guard"
}

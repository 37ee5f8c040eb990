// Good for data that is used several times and does not fit into a cache: inside a tile it does.
func.func @f(%A: memref<8x16xf32>, %B: memref<16x8xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to 16 {
      %a = loop.load %A[%i, %j] : memref<8x16xf32>
      loop.store %a, %B[%j, %i] : memref<16x8xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.tile "f/i" factors = [4, 8] tail = "perfect"
}

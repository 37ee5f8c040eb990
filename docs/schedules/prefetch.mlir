// Good for accesses that the hardware's prefetcher does not foresee: long strides, and the next
// packed panel.
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
  schedule.prefetch "f/B" at = "j" distance = 4
}

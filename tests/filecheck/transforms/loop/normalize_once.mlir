// RUN: stepwell-opt %s -p 'loop-normalize{function=f}' | filecheck %s

// A count is a number once the loop around is known to run once.
// CHECK:         loop.for parallel "j" %{{.*}} = 0 to 2 {
func.func private @f(%A: memref<8x8xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 1 {
    loop.for parallel "j" %j = -3 to %i floordiv 2 + 2 step 3 {
      loop.store %v, %A[%i, %j + 3] : memref<8x8xf32>
    }
  }
  func.return
}

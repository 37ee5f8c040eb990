// Good for a loop whose body does different things on two ranges, each then scheduled on its own.
func.func @f(%A: memref<10xf32>, %B: memref<10xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.if (%i - 4 >= 0) -> (f32) {
      %x = loop.load %A[%i - 4] : memref<10xf32>
      loop.yield %x : f32
    } else {
      %zero = arith.constant 0.0 : f32
      loop.yield %zero : f32
    }
    loop.store %a, %B[%i] : memref<10xf32>
  }
  func.return
}
schedule.script {
  schedule.index_set_split "f/i" at = "4"
}

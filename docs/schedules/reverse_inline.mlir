// Good for element-wise consumers: the producer writes the final result at once.
func.func @f(%A: memref<16xf32>, %C: memref<16xf32> {stepwell.result}) {
  %T = loop.alloc stack : memref<16xf32>
  loop.for parallel "i" %i = 0 to 16 {
    %a = loop.load %A[%i] : memref<16xf32>
    %e = math.exp %a : f32
    loop.store %e, %T[%i] : memref<16xf32>
  }
  loop.for parallel "j" %j = 0 to 16 {
    %t = loop.load %T[%j] : memref<16xf32>
    %s = arith.addf %t, %t : f32
    loop.store %s, %C[%j] : memref<16xf32>
  }
  func.return
}
schedule.script {
  schedule.reverse_inline "f/T"
}

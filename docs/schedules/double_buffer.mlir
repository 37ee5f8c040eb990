// Good for copying the next block while the present one is used.
func.func @f(%A: memref<8x64xf32>, %x: memref<64xf32>, %y: memref<8x64xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 8 {
    %T = loop.alloc stack : memref<64xf32>
    loop.for parallel "c" %c = 0 to 64 {
      %a = loop.load %A[%i, %c] : memref<8x64xf32>
      loop.store %a, %T[%c] : memref<64xf32>
    }
    loop.for parallel "j" %j = 0 to 64 {
      %t = loop.load %T[%j] : memref<64xf32>
      %b = loop.load %x[%j] : memref<64xf32>
      %p = arith.mulf %t, %b : f32
      loop.store %p, %y[%i, %j] : memref<8x64xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.double_buffer "f/T" at = "i"
}

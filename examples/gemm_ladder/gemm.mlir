// C += A B, as one would write it down: an inner product for each element of C.
func.func @gemm(%A: memref<192x320xf32>, %B: memref<320x256xf32>, %C: memref<192x256xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 192 {
    loop.for parallel "j" %j = 0 to 256 {
      loop.for reduction "k" %k = 0 to 320 {
        %a = loop.load %A[%i, %k] : memref<192x320xf32>
        %b = loop.load %B[%k, %j] : memref<320x256xf32>
        %p = arith.mulf %a, %b : f32
        %c = loop.load %C[%i, %j] : memref<192x256xf32>
        %s = arith.addf %c, %p fastmath<reassoc,contract> : f32
        loop.store %s, %C[%i, %j] : memref<192x256xf32>
      }
    }
  }
  func.return
}

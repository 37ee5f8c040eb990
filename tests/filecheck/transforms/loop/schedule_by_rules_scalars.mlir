// RUN: stepwell-opt %s -p "schedule-by-rules{target=x86-64-v3}" | filecheck %s

// A kernel may take numbers beside its buffers.

// CHECK-LABEL: func.func private @scaled
// CHECK:         loop.for parallel vector "j"
func.func private @scaled(%s: f32, %A: memref<16x32xf32>, %B: memref<16x32xf32>) {
  loop.for parallel "i" %i = 0 to 16 {
    loop.for parallel "j" %j = 0 to 32 {
      %a = loop.load %A[%i, %j] : memref<16x32xf32>
      %b = arith.mulf %a, %s : f32
      loop.store %b, %B[%i, %j] : memref<16x32xf32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func private @product
// CHECK:         loop.for {{.*}} vector
func.func private @product(%s: f32, %A: memref<64x64xf32>, %B: memref<64x64xf32>, %C: memref<64x64xf32>, %n: index) {
  loop.for parallel "i" %i = 0 to 64 {
    loop.for parallel "j" %j = 0 to 64 {
      loop.for reduction "k" %k = 0 to 64 {
        %a = loop.load %A[%i, %k] : memref<64x64xf32>
        %b = loop.load %B[%k, %j] : memref<64x64xf32>
        %c = loop.load %C[%i, %j] : memref<64x64xf32>
        %p = arith.mulf %a, %b fastmath<contract> : f32
        %d = arith.addf %c, %p fastmath<reassoc,contract> : f32
        loop.store %d, %C[%i, %j] : memref<64x64xf32>
      }
    }
  }
  func.return
}

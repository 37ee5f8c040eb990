// RUN: stepwell-opt %s -p loop-auto-unroll-and-jam | filecheck %s

// Four rows at a time use the same element of x.
// CHECK:      stepwell.chosen = ["unroll_and_jam(mv/i, factor=4): the copies share elements of %x"]
// CHECK-NEXT:   loop.for parallel "i" {{.*}} step 4
// CHECK-NEXT:     loop.for reduction "k"
// CHECK-COUNT-4:    loop.store
func.func @mv(%A: memref<8x16xf32>, %x: memref<16xf32>, %y: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for reduction "k" %k = 0 to 16 {
      %a = loop.load %A[%i, %k] : memref<8x16xf32>
      %b = loop.load %x[%k] : memref<16xf32>
      %p = arith.mulf %a, %b : f32
      %c = loop.load %y[%i] : memref<8xf32>
      %s = arith.addf %c, %p fastmath<reassoc> : f32
      loop.store %s, %y[%i] : memref<8xf32>
    }
  }
  func.return
}

// Nothing is shared.
// CHECK:      func.func @copy(%A: memref<64x64xf32>, %B: memref<64x64xf32>) {
func.func @copy(%A: memref<64x64xf32>, %B: memref<64x64xf32>) {
  loop.for parallel "i" %i = 0 to 64 {
    loop.for parallel "j" %j = 0 to 64 {
      %a = loop.load %A[%i, %j] : memref<64x64xf32>
      loop.store %a, %B[%i, %j] : memref<64x64xf32>
    }
  }
  func.return
}

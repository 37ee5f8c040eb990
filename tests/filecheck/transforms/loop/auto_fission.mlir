// RUN: stepwell-opt %s -p loop-auto-fission | filecheck %s
// RUN: stepwell-opt %s -p loop-auto-fission,loop-auto-fuse | filecheck %s --check-prefix FUSED

// CHECK:      fission(mv/i, after=y): makes the nest perfect
// CHECK:        loop.for parallel "i"
// CHECK-NEXT:     loop.store
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.for parallel "i.rest"
// CHECK-NEXT:     loop.for reduction "k"

// FUSED:        loop.for parallel "i"
// FUSED-NEXT:     loop.store
// FUSED-NEXT:     loop.for reduction "k"
func.func @mv(%A: memref<8x16xf32>, %x: memref<16xf32>, %y: memref<8xf32> {stepwell.result}) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "i" %i = 0 to 8 {
    loop.store %zero, %y[%i] : memref<8xf32>
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

// The second loop reads what the next iteration of the first overwrites: not legal.
// CHECK:      func.func @reused(%A: memref<8x16xf32>, %B: memref<8x16xf32> {stepwell.result}) {
// CHECK-NOT:    rest
func.func @reused(%A: memref<8x16xf32>, %B: memref<8x16xf32> {stepwell.result}) {
  %T = loop.alloc stack : memref<16xf32>
  loop.for serial "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to 16 {
      %a = loop.load %A[%i, %j] : memref<8x16xf32>
      loop.store %a, %T[%j] : memref<16xf32>
    }
    loop.for parallel "k" %j = 0 to 16 {
      %t = loop.load %T[15 - %j] : memref<16xf32>
      loop.store %t, %B[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}

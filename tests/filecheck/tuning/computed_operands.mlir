// RUN: stepwell-opt %s -p "schedule-by-rules{target=zen4}" --remarks 2>&1 | filecheck %s

// Operands that are computed in the kernel of a product: A row block by row block into a copy in L1, as it is not
// packed, and B, which is read transposed, while it is packed. Nothing else is stored of either.

// CHECK: scheduled as contraction: tile {{.*}}, MC [[MC:[0-9]+]], {{.*}} N tiles innermost, packs B, peels M
// CHECK-LABEL: func.func private @operands(
// CHECK-NOT:     memref<512x256xf32>{{$}}
// CHECK:         %right = loop.alloc arena
// CHECK:           loop.load %y[
// CHECK:           math.absf
// CHECK:           loop.store %{{.*}}, %right[
// CHECK:         loop.for parallel threads
// CHECK-NEXT:      %left = loop.alloc stack : memref<[[MC]]x256xf32>
// CHECK:             loop.for parallel vector
// CHECK:             arith.maximumf
// CHECK:             loop.store %{{.*}}, %left[
// CHECK:           loop.for reduction
// CHECK:             loop.load %left[
// CHECK:             loop.load %right[
func.func private @operands(%x: memref<512x256xf32>, %y: memref<128x256xf32>, %c: memref<512x128xf32> {stepwell.result}) {
  %zero = arith.constant 0.0 : f32
  %a = loop.alloc arena : memref<512x256xf32>
  %b = loop.alloc arena : memref<256x128xf32>
  loop.for parallel "a.i" %i = 0 to 512 {
    loop.for parallel "a.k" %k = 0 to 256 {
      %v = loop.load %x[%i, %k] : memref<512x256xf32>
      %m = arith.maximumf %v, %zero : f32
      loop.store %m, %a[%i, %k] : memref<512x256xf32>
    }
  }
  loop.for parallel "b.k" %k = 0 to 256 {
    loop.for parallel "b.j" %j = 0 to 128 {
      %v = loop.load %y[%j, %k] : memref<128x256xf32>
      %m = math.absf %v : f32
      loop.store %m, %b[%k, %j] : memref<256x128xf32>
    }
  }
  loop.for parallel "c.i.init" %i = 0 to 512 {
    loop.for parallel "c.j.init" %j = 0 to 128 {
      loop.store %zero, %c[%i, %j] : memref<512x128xf32>
    }
  }
  loop.for parallel "c.i" %i = 0 to 512 {
    loop.for parallel "c.j" %j = 0 to 128 {
      loop.for reduction "c.k" %k = 0 to 256 {
        %l = loop.load %a[%i, %k] : memref<512x256xf32>
        %r = loop.load %b[%k, %j] : memref<256x128xf32>
        %p = arith.mulf %l, %r fastmath<contract> : f32
        %s = loop.load %c[%i, %j] : memref<512x128xf32>
        %t = arith.addf %s, %p fastmath<reassoc,contract> : f32
        loop.store %t, %c[%i, %j] : memref<512x128xf32>
      }
    }
  }
  func.return
}

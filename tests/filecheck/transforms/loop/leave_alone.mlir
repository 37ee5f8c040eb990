// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=2 target=sapphire-rapids}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=2 target=sapphire-rapids}' --remarks 2>&1 >/dev/null | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=1 target=sapphire-rapids}' | filecheck %s --check-prefix NONE
// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=2 target=sapphire-rapids},schedule-by-rules{threads=2 target=sapphire-rapids}' | filecheck %s --check-prefix SCHEDULED

// The kernels of share_buffers.mlir with fewer channels and columns: what a thread would wait for is more than it would help.

// REMARK:       remark: loop-share-buffers: one thread has all of it: others would wait for what is in its cache
// REMARK-COUNT-3: remark: loop-share-buffers: one thread has all of it
// CHECK-LABEL: func.func private @expand
// CHECK-SAME:    attributes {stepwell.alone}
// CHECK-LABEL: func.func private @smooth
// CHECK-SAME:    attributes {stepwell.alone}
// CHECK-LABEL: func.func private @project
// CHECK-SAME:    attributes {stepwell.alone}
// CHECK-NOT:     stepwell.shared
// NONE-NOT:      stepwell.alone
// SCHEDULED-NOT: threads

func.func private @expand(%x: memref<16x402xf32>, %v: memref<16x16xf32> {stepwell.constant}, %y: memref<16x402xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 16 {
    loop.for parallel "p0" %p0 = 0 to 402 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %y[%f0, %p0] : memref<16x402xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 16 {
    loop.for parallel "p" %p = 0 to 402 {
      loop.for reduction "c" %c = 0 to 16 {
        %0 = loop.load %x[%c, %p] : memref<16x402xf32>
        %1 = loop.load %v[%f, %c] : memref<16x16xf32>
        %2 = arith.mulf %0, %1 : f32
        %3 = loop.load %y[%f, %p] : memref<16x402xf32>
        %4 = arith.addf %3, %2 fastmath<reassoc> : f32
        loop.store %4, %y[%f, %p] : memref<16x402xf32>
      }
    }
  }
  func.return
}

func.func private @smooth(%step: index, %y: memref<16x402xf32>, %z: memref<16x400xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 16 {
    loop.for parallel "p0" %p0 = 0 to 400 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %z[%f0, %p0] : memref<16x400xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 16 {
    loop.for parallel "p" %p = 0 to 400 {
      loop.for reduction "k" %k = 0 to 3 {
        %0 = loop.load %y[%f, %p + %k] : memref<16x402xf32>
        %1 = loop.load %z[%f, %p] : memref<16x400xf32>
        %2 = arith.addf %1, %0 fastmath<reassoc> : f32
        loop.store %2, %z[%f, %p] : memref<16x400xf32>
      }
    }
  }
  func.return
}

func.func private @project(%z: memref<16x400xf32>, %v: memref<16x16xf32> {stepwell.constant}, %s: memref<16x400xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 16 {
    loop.for parallel "p0" %p0 = 0 to 400 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %s[%f0, %p0] : memref<16x400xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 16 {
    loop.for parallel "p" %p = 0 to 400 {
      loop.for reduction "c" %c = 0 to 16 {
        %0 = loop.load %z[%c, %p] : memref<16x400xf32>
        %1 = loop.load %v[%f, %c] : memref<16x16xf32>
        %2 = arith.mulf %0, %1 : f32
        %3 = loop.load %s[%f, %p] : memref<16x400xf32>
        %4 = arith.addf %3, %2 fastmath<reassoc> : f32
        loop.store %4, %s[%f, %p] : memref<16x400xf32>
      }
    }
  }
  func.return
}

func.func private @again(%s: memref<16x400xf32>, %v: memref<16x16xf32> {stepwell.constant}, %t: memref<16x400xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 16 {
    loop.for parallel "p0" %p0 = 0 to 400 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %t[%f0, %p0] : memref<16x400xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 16 {
    loop.for parallel "p" %p = 0 to 400 {
      loop.for reduction "c" %c = 0 to 16 {
        %0 = loop.load %s[%c, %p] : memref<16x400xf32>
        %1 = loop.load %v[%f, %c] : memref<16x16xf32>
        %2 = arith.mulf %0, %1 : f32
        %3 = loop.load %t[%f, %p] : memref<16x400xf32>
        %4 = arith.addf %3, %2 fastmath<reassoc> : f32
        loop.store %4, %t[%f, %p] : memref<16x400xf32>
      }
    }
  }
  func.return
}

func.func private @tiny(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %x[%i] : memref<4xf32>
    loop.store %0, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func @main(%x: memref<16x402xf32>, %v: memref<16x16xf32>, %w: memref<16x16xf32>, %u: memref<16x16xf32>, %few: memref<4xf32>, %t: memref<16x400xf32> {stepwell.result}, %r: memref<4xf32> {stepwell.result}) {
  %y = loop.alloc arena : memref<16x402xf32>
  %z = loop.alloc arena : memref<16x400xf32>
  %s = loop.alloc arena : memref<16x400xf32>
  func.call @expand(%x, %v, %y) : (memref<16x402xf32>, memref<16x16xf32>, memref<16x402xf32>) -> ()
  %first = arith.constant 0 : index
  func.call @smooth(%first, %y, %z) : (index, memref<16x402xf32>, memref<16x400xf32>) -> ()
  func.call @project(%z, %w, %s) : (memref<16x400xf32>, memref<16x16xf32>, memref<16x400xf32>) -> ()
  func.call @again(%s, %u, %t) : (memref<16x400xf32>, memref<16x16xf32>, memref<16x400xf32>) -> ()
  func.call @tiny(%few, %r) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=2 target=sapphire-rapids}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=2 target=sapphire-rapids}' --remarks 2>&1 >/dev/null | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=1 target=sapphire-rapids}' | filecheck %s --check-prefix NONE
// RUN: stepwell-opt %s -p 'loop-share-buffers{threads=2 target=sapphire-rapids opt=quick}' | filecheck %s --check-prefix NONE

// `@smooth` keeps its rows in L1 while the windows of one channel go by, so it is dealt out by channels; `@expand` could be
// dealt out by channels or by columns, and takes the channels that `@smooth` reads. `@project`, which reads all channels
// for each element, leaves what it writes in columns, as they are read by `@again`, which sums over all channels too.
// `@smooth` is given a number before its buffers, as kernels of steps are. `@tiny` is over before a second thread has come.

// REMARK:      remark: loop-share-buffers: threads share argument 2 along dimension 0
// REMARK-NEXT: remark: loop-share-buffers: threads share argument 1 along dimension 0, argument 2 along dimension 0
// REMARK-NEXT: remark: loop-share-buffers: threads share argument 0 along dimension 0, argument 2 along dimension 1
// REMARK-NEXT: remark: loop-share-buffers: threads share argument 0 along dimension 1, argument 2 along dimension 1
// REMARK-NOT:  remark

// CHECK-LABEL: func.func private @expand
// CHECK-SAME:    %y: memref<256x1026xf32> {stepwell.result, stepwell.shared = 0 : i64}
// CHECK-LABEL: func.func private @smooth
// CHECK-SAME:    %y: memref<256x1026xf32> {stepwell.shared = 0 : i64}, %z: memref<256x1024xf32> {stepwell.result, stepwell.shared = 0 : i64}
// CHECK-LABEL: func.func private @project
// CHECK-SAME:    %z: memref<256x1024xf32> {stepwell.shared = 0 : i64}
// CHECK-SAME:    %s: memref<64x1024xf32> {stepwell.result, stepwell.shared = 1 : i64}
// CHECK-LABEL: func.func private @again
// CHECK-SAME:    %s: memref<64x1024xf32> {stepwell.shared = 1 : i64}
// CHECK-LABEL: func.func private @tiny
// CHECK-NOT:     stepwell.shared
// NONE-NOT:    stepwell.shared

func.func private @expand(%x: memref<16x1026xf32>, %v: memref<256x16xf32> {stepwell.constant}, %y: memref<256x1026xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 256 {
    loop.for parallel "p0" %p0 = 0 to 1026 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %y[%f0, %p0] : memref<256x1026xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 256 {
    loop.for parallel "p" %p = 0 to 1026 {
      loop.for reduction "c" %c = 0 to 16 {
        %0 = loop.load %x[%c, %p] : memref<16x1026xf32>
        %1 = loop.load %v[%f, %c] : memref<256x16xf32>
        %2 = arith.mulf %0, %1 : f32
        %3 = loop.load %y[%f, %p] : memref<256x1026xf32>
        %4 = arith.addf %3, %2 fastmath<reassoc> : f32
        loop.store %4, %y[%f, %p] : memref<256x1026xf32>
      }
    }
  }
  func.return
}

func.func private @smooth(%step: index, %y: memref<256x1026xf32>, %z: memref<256x1024xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 256 {
    loop.for parallel "p0" %p0 = 0 to 1024 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %z[%f0, %p0] : memref<256x1024xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 256 {
    loop.for parallel "p" %p = 0 to 1024 {
      loop.for reduction "k" %k = 0 to 3 {
        %0 = loop.load %y[%f, %p + %k] : memref<256x1026xf32>
        %1 = loop.load %z[%f, %p] : memref<256x1024xf32>
        %2 = arith.addf %1, %0 fastmath<reassoc> : f32
        loop.store %2, %z[%f, %p] : memref<256x1024xf32>
      }
    }
  }
  func.return
}

func.func private @project(%z: memref<256x1024xf32>, %v: memref<64x256xf32> {stepwell.constant}, %s: memref<64x1024xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 64 {
    loop.for parallel "p0" %p0 = 0 to 1024 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %s[%f0, %p0] : memref<64x1024xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 64 {
    loop.for parallel "p" %p = 0 to 1024 {
      loop.for reduction "c" %c = 0 to 256 {
        %0 = loop.load %z[%c, %p] : memref<256x1024xf32>
        %1 = loop.load %v[%f, %c] : memref<64x256xf32>
        %2 = arith.mulf %0, %1 : f32
        %3 = loop.load %s[%f, %p] : memref<64x1024xf32>
        %4 = arith.addf %3, %2 fastmath<reassoc> : f32
        loop.store %4, %s[%f, %p] : memref<64x1024xf32>
      }
    }
  }
  func.return
}

func.func private @again(%s: memref<64x1024xf32>, %v: memref<64x64xf32> {stepwell.constant}, %t: memref<64x1024xf32> {stepwell.result}) {
  loop.for parallel "f0" %f0 = 0 to 64 {
    loop.for parallel "p0" %p0 = 0 to 1024 {
      %0 = arith.constant 0.0 : f32
      loop.store %0, %t[%f0, %p0] : memref<64x1024xf32>
    }
  }
  loop.for parallel "f" %f = 0 to 64 {
    loop.for parallel "p" %p = 0 to 1024 {
      loop.for reduction "c" %c = 0 to 64 {
        %0 = loop.load %s[%c, %p] : memref<64x1024xf32>
        %1 = loop.load %v[%f, %c] : memref<64x64xf32>
        %2 = arith.mulf %0, %1 : f32
        %3 = loop.load %t[%f, %p] : memref<64x1024xf32>
        %4 = arith.addf %3, %2 fastmath<reassoc> : f32
        loop.store %4, %t[%f, %p] : memref<64x1024xf32>
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

func.func @main(%x: memref<16x1026xf32>, %v: memref<256x16xf32>, %w: memref<64x256xf32>, %u: memref<64x64xf32>, %few: memref<4xf32>, %t: memref<64x1024xf32> {stepwell.result}, %r: memref<4xf32> {stepwell.result}) {
  %y = loop.alloc arena : memref<256x1026xf32>
  %z = loop.alloc arena : memref<256x1024xf32>
  %s = loop.alloc arena : memref<64x1024xf32>
  func.call @expand(%x, %v, %y) : (memref<16x1026xf32>, memref<256x16xf32>, memref<256x1026xf32>) -> ()
  %first = arith.constant 0 : index
  func.call @smooth(%first, %y, %z) : (index, memref<256x1026xf32>, memref<256x1024xf32>) -> ()
  func.call @project(%z, %w, %s) : (memref<256x1024xf32>, memref<64x256xf32>, memref<64x1024xf32>) -> ()
  func.call @again(%s, %u, %t) : (memref<64x1024xf32>, memref<64x64xf32>, memref<64x1024xf32>) -> ()
  func.call @tiny(%few, %r) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// A program of several blocks calls kernels too.
func.func @blocks(%more: i1, %few: memref<4xf32>, %r: memref<4xf32> {stepwell.result}) {
  cf.cond_br %more, ^call, ^end
^call:
  func.call @tiny(%few, %r) : (memref<4xf32>, memref<4xf32>) -> ()
  cf.br ^end
^end:
  func.return
}

// RUN: stepwell-opt %s -p "loop-polyhedral{tile=0}" | filecheck %s
// RUN: stepwell-opt %s -p "loop-polyhedral{tile=0 fuse=min}" | filecheck %s --check-prefix APART
// RUN: stepwell-opt %s -p "loop-polyhedral{tile=16}" | filecheck %s --check-prefix TILED

// Statements share loops wherever they can, and what no dependence orders is parallel; with fuse=min each has its own.
// CHECK-LABEL: func.func @smooth
// CHECK:         loop.for parallel "t0" %t0 = 1 to 63 {
// CHECK:           loop.store %s, %B[%t0]
// CHECK:           loop.store %p, %C[%t0]
// CHECK-NOT:     loop.for
// APART-LABEL: func.func @smooth
// APART:         loop.store %s, %B
// APART:         loop.for parallel
// APART:         loop.store %p, %C
// TILED-LABEL: func.func @smooth
func.func @smooth(%A: memref<64xf32>, %B: memref<64xf32>, %C: memref<64xf32>) attributes {stepwell.noalias} {
  loop.for serial "i" %i = 1 to 63 {
    %a = loop.load %A[%i - 1] : memref<64xf32>
    %b = loop.load %A[%i + 1] : memref<64xf32>
    %s = arith.addf %a, %b : f32
    loop.store %s, %B[%i] : memref<64xf32>
  }
  loop.for serial "j" %j = 1 to 63 {
    %a = loop.load %B[%j] : memref<64xf32>
    %p = arith.mulf %a, %a : f32
    loop.store %p, %C[%j] : memref<64xf32>
  }
  func.return
}

// Time steps of a stencil are skewed, so that no dependence goes backwards: then their band can be tiled.
// CHECK-LABEL: func.func @waves
// CHECK:         loop.for serial "t0" %t0 = 1 to 64 {
// CHECK-NEXT:      loop.for serial "t1" %t1 = %t0 + 1 to %t0 + 63 {
// CHECK:             loop.store %s, %A[%t0, -%t0 + %t1]
// TILED-LABEL: func.func @waves
// TILED:         loop.for serial "t0" %t0 = 0 to 64 step 16 {
// TILED-NEXT:      loop.for serial "t1" %t1 = {{.*}} step 16 {
// TILED-NEXT:        loop.for serial "t2"
// TILED-NEXT:          loop.for serial "t3"
func.func @waves(%A: memref<64x64xf32>) {
  loop.for serial "t" %t = 1 to 64 {
    loop.for serial "x" %x = 1 to 63 {
      %a = loop.load %A[%t - 1, %x - 1] : memref<64x64xf32>
      %b = loop.load %A[%t - 1, %x + 1] : memref<64x64xf32>
      %s = arith.addf %a, %b : f32
      loop.store %s, %A[%t, %x] : memref<64x64xf32>
    }
  }
  func.return
}

// Loops of a function of several blocks stay as they are.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%more: i1, %x: memref<4xf32>) {
  cf.cond_br %more, ^again, ^end
^again:
  loop.for serial "i" %i = 0 to 4 {
    %v = loop.load %x[%i] : memref<4xf32>
    loop.store %v, %x[%i] : memref<4xf32>
  }
  cf.br ^end
^end:
  func.return
}

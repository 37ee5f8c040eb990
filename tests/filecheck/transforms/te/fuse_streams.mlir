// RUN: stepwell-opt %s -p te-fuse | filecheck %s

// Elements that are always as far from one another are one operand, however many: a stencil's, and those of its weights.
// CHECK-LABEL: func.func @weights(
// CHECK-COUNT-1: te.kernel
// CHECK-NOT:     te.kernel
// CHECK:         func.return
func.func @weights(%x: tensor<40xf32>, %w: tensor<9xf32>) -> tensor<32xf32> {
  %a = te.compute [%i = 32] (%x0 = %x[%i], %x1 = %x[%i + 1], %x2 = %x[%i + 2], %x3 = %x[%i + 3], %x4 = %x[%i + 4], %w0 = %w[0], %w1 = %w[1], %w2 = %w[2], %w3 = %w[3], %w4 = %w[4]) : (tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) -> tensor<32xf32> {
    %0 = arith.mulf %w0, %x0 : f32
    %1 = arith.mulf %w1, %x1 : f32
    %2 = arith.mulf %w2, %x2 : f32
    %3 = arith.mulf %w3, %x3 : f32
    %4 = arith.mulf %w4, %x4 : f32
    %5 = arith.addf %0, %1 : f32
    %6 = arith.addf %5, %2 : f32
    %7 = arith.addf %6, %3 : f32
    %8 = arith.addf %7, %4 : f32
    te.yield %8 : f32
  }
  %b = te.compute [%i = 32] (%s = %a[%i], %x0 = %x[%i + 5], %x1 = %x[%i + 6], %x2 = %x[%i + 7], %x3 = %x[%i + 8], %w0 = %w[5], %w1 = %w[6], %w2 = %w[7], %w3 = %w[8]) : (tensor<32xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<40xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) -> tensor<32xf32> {
    %0 = arith.mulf %w0, %x0 : f32
    %1 = arith.mulf %w1, %x1 : f32
    %2 = arith.mulf %w2, %x2 : f32
    %3 = arith.mulf %w3, %x3 : f32
    %4 = arith.addf %s, %0 : f32
    %5 = arith.addf %4, %1 : f32
    %6 = arith.addf %5, %2 : f32
    %7 = arith.addf %6, %3 : f32
    te.yield %7 : f32
  }
  func.return %b : tensor<32xf32>
}

// What a short axis repeats is computed where it is read; along a long axis it is stored.
// CHECK-LABEL: func.func @repeated(
// CHECK:         te.kernel "p"
// CHECK:         te.compute [%i = 64, %j = 3]
// CHECK:           arith.subf
// CHECK-NEXT:      arith.mulf
// CHECK-NEXT:      arith.mulf
// CHECK:         te.kernel "a"
// CHECK:         te.kernel "q"
func.func @repeated(%x: tensor<64xf32>, %y: tensor<64x3xf32>, %z: tensor<64x30xf32>) -> (tensor<64x3xf32>, tensor<64x30xf32>) {
  %c = te.compute [%i = 64] (%e = %x[%i]) : (tensor<64xf32>) -> tensor<64xf32> {
    %one = arith.constant 1.0 : f32
    %0 = arith.subf %one, %e : f32
    %1 = arith.mulf %0, %0 : f32
    te.yield %1 : f32
  }
  %p = te.compute [%i = 64, %j = 3] (%u = %c[%i], %v = %y[%i, %j]) : (tensor<64xf32>, tensor<64x3xf32>) -> tensor<64x3xf32> {
    %0 = arith.mulf %u, %v : f32
    te.yield %0 : f32
  }
  %a = te.compute [%i = 64] (%e = %x[%i]) : (tensor<64xf32>) -> tensor<64xf32> {
    %0 = arith.addf %e, %e : f32
    te.yield %0 : f32
  }
  %q = te.compute [%i = 64, %j = 30] (%u = %a[%i], %v = %z[%i, %j]) : (tensor<64xf32>, tensor<64x30xf32>) -> tensor<64x30xf32> {
    %0 = arith.mulf %u, %v : f32
    te.yield %0 : f32
  }
  func.return %p, %q : tensor<64x3xf32>, tensor<64x30xf32>
}

// A join that is read at many places is stored: in which part an element is need not be found again for each of them.
// CHECK-LABEL: func.func @border(
// CHECK:         te.kernel "joined"
// CHECK:         te.kernel "sum"
func.func @border(%x: tensor<4xf32>, %y: tensor<40xf32>) -> tensor<40xf32> {
  %joined = te.compute [%i = 44] (%a = %x[%i] else 0.0 : f32, %b = %y[%i - 4] else 0.0 : f32) : (tensor<4xf32>, tensor<40xf32>) -> tensor<44xf32> {
    %four = arith.constant 4 : index
    %is_first = arith.cmpi slt, %i, %four : index
    %0 = arith.select %is_first, %a, %b : f32
    te.yield %0 : f32
  }
  %sum = te.compute [%i = 40] (%a = %joined[%i], %b = %joined[%i + 1], %c = %joined[%i + 2], %d = %joined[%i + 3], %e = %joined[%i + 4]) : (tensor<44xf32>, tensor<44xf32>, tensor<44xf32>, tensor<44xf32>, tensor<44xf32>) -> tensor<40xf32> {
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    %2 = arith.addf %1, %d : f32
    %3 = arith.addf %2, %e : f32
    te.yield %3 : f32
  }
  func.return %sum : tensor<40xf32>
}

// Parts that are joined along a short innermost axis are computed there; along a long one they are written to their places.
// CHECK-LABEL: func.func @joined(
// CHECK:         te.kernel "p"
// CHECK:         te.compute [%i = 64, %j = 2]
// CHECK:           math.exp
// CHECK:           arith.select
// CHECK:         te.kernel "d"
// CHECK:         te.kernel "q"
func.func @joined(%x: tensor<64x1xf32>, %y: tensor<64x1xf32>, %z: tensor<64x30xf32>) -> (tensor<64x2xf32>, tensor<64x60xf32>) {
  %c = te.compute [%i = 64, %j = 1] (%e = %x[%i, %j]) : (tensor<64x1xf32>) -> tensor<64x1xf32> {
    %0 = math.exp %e : f32
    te.yield %0 : f32
  }
  %p = te.compute [%i = 64, %j = 2] (%u = %c[%i, %j] else 0.0 : f32, %v = %y[%i, %j - 1] else 0.0 : f32) : (tensor<64x1xf32>, tensor<64x1xf32>) -> tensor<64x2xf32> {
    %one = arith.constant 1 : index
    %is = arith.cmpi slt, %j, %one : index
    %0 = arith.select %is, %u, %v : f32
    te.yield %0 : f32
  }
  %d = te.compute [%i = 64, %j = 30] (%e = %z[%i, %j]) : (tensor<64x30xf32>) -> tensor<64x30xf32> {
    %0 = arith.addf %e, %e : f32
    te.yield %0 : f32
  }
  %q = te.compute [%i = 64, %j = 60] (%u = %d[%i, %j] else 0.0 : f32, %v = %z[%i, %j - 30] else 0.0 : f32) : (tensor<64x30xf32>, tensor<64x30xf32>) -> tensor<64x60xf32> {
    %long = arith.constant 30 : index
    %is = arith.cmpi slt, %j, %long : index
    %0 = arith.select %is, %u, %v : f32
    te.yield %0 : f32
  }
  func.return %p, %q : tensor<64x2xf32>, tensor<64x60xf32>
}

// RUN: stepwell-opt %s -p te-fuse | filecheck %s
// RUN: stepwell-opt %s -p te-fuse,te-fuse | filecheck %s

// A reduction and its epilogue are one kernel, named after both, in place of the epilogue.
// CHECK-LABEL: func.func @epilogue(
// CHECK-NEXT:    %add = te.kernel "matmul_add" (%x_1 = %x, %w_1 = %w, %b_1 = %b) : (tensor<4x3xf32>, tensor<3x5xf32>, tensor<5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT:      %matmul = te.compute [%i = 4, %j = 5] add [%k = 3] (%e = %x_1[%i, %k], %f = %w_1[%k, %j])
// CHECK:           %add_1 = te.compute [%i_1 = 4, %j_1 = 5] (%e_1 = %matmul[%i_1, %j_1], %e_2 = %b_1[%j_1])
// CHECK:           te.yield %add_1 : tensor<4x5xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %add
func.func @epilogue(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %matmul = te.compute [%i = 4, %j = 5] add [%k = 3] (%e = %x[%i, %k], %f = %w[%k, %j]) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32> {
    %p = arith.mulf %e, %f : f32
    te.yield %p : f32
  }
  %bias = te.compute [%i = 4, %j = 5] (%e = %b[%j]) : (tensor<5xf32>) -> tensor<4x5xf32> {
    te.yield %e : f32
  }
  %add = te.compute [%i = 4, %j = 5] (%e = %matmul[%i, %j], %f = %bias[%i, %j]) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> {
    %s = arith.addf %e, %f : f32
    te.yield %s : f32
  }
  func.return %add : tensor<4x5xf32>
}

// Not an epilogue: the reduction is read at another place, or read beyond its end, or by a reduction.
// CHECK-LABEL: func.func @separate(
// CHECK:         te.kernel "c" (
// CHECK:         te.kernel "d" (
// CHECK:         te.kernel "e" (
// CHECK:         te.kernel "f" (
// CHECK:         te.kernel "g" (
// CHECK:         te.kernel "h" (
func.func @separate(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>, %z: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
  %c = te.compute [%i = 4] add [%k = 3] (%v = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %d = te.compute [%i = 4] (%v = %c[%i], %w = %c[3 - %i]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> { te.yield %w : f32 }
  %e = te.compute [%i = 4] add [%k = 3] (%v = %y[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %f = te.compute [%i = 4] (%v = %e[%i + 1] else 0.0 : f32) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %g = te.compute [%i = 4] add [%k = 3] (%v = %z[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %h = te.compute [] add [%k = 4] (%v = %g[%k]) : (tensor<4xf32>) -> tensor<f32> { te.yield %v : f32 }
  func.return %d, %f, %h : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// Extents that are values must be the same value.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         te.kernel "a_b" (%x_1 = %x, %n_1 = %n) :
// CHECK:         te.kernel "c" (%x_1 = %x, %n_1 = %n) :
// CHECK:         te.kernel "d" (%c_1 = %c, %m_1 = %m) :
func.func @dynamic(%x: tensor<?x3xf32>, %n: index, %m: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %a = te.compute [%i = %n] add [%k = 3] (%v = %x[%i, %k]) : (tensor<?x3xf32>) -> tensor<?xf32> { te.yield %v : f32 }
  %b = te.compute [%i = %n] (%v = %a[%i]) : (tensor<?xf32>) -> tensor<?xf32> { te.yield %v : f32 }
  %c = te.compute [%i = %n] add [%k = 3] (%v = %x[%i, 2 - %k]) : (tensor<?x3xf32>) -> tensor<?xf32> { te.yield %v : f32 }
  %d = te.compute [%i = %m] (%v = %c[%i]) : (tensor<?xf32>) -> tensor<?xf32> { te.yield %v : f32 }
  func.return %b, %d : tensor<?xf32>, tensor<?xf32>
}

// What bodies use from around them becomes an input, constants are copied in.
// CHECK-LABEL: func.func @from_around(
// CHECK:         te.kernel "r" (%x_1 = %x, %alpha_1 = %alpha) : (tensor<4xf32>, f32) -> tensor<4xf32> {
// CHECK-NEXT:      %two = arith.constant 2.000000e+00 : f32
// CHECK-NEXT:      %r_1 = te.compute [%i = 4] (%v = %x_1[%i])
// CHECK-NEXT:        %p = arith.mulf %v, %alpha_1 : f32
// CHECK-NEXT:        %q = arith.mulf %p, %two : f32
func.func @from_around(%x: tensor<4xf32>, %alpha: f32) -> tensor<4xf32> {
  %two = arith.constant 2.0 : f32
  %r = te.compute [%i = 4] (%v = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %p = arith.mulf %v, %alpha : f32
    %q = arith.mulf %p, %two : f32
    te.yield %q : f32
  }
  func.return %r : tensor<4xf32>
}

// A function of several blocks is walked block by block.
// CHECK-LABEL: func.func @blocks(
// CHECK:         te.kernel "kernel" (
// CHECK:       ^{{.*}}:
// CHECK:         te.kernel "kernel" (
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = te.compute [%i = 4] (%v = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  cf.br ^next
^next:
  %1 = te.compute [%i = 4] (%v = %0[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  func.return %1 : tensor<4xf32>
}

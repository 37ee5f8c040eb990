// RUN: stepwell-opt %s -p "te-fuse{target=zen4}" | filecheck %s
// RUN: stepwell-opt %s -p "te-fuse{target=zen4},te-fuse{target=zen4}" | filecheck %s
// RUN: stepwell-opt %s --remarks -p "te-fuse{target=zen4}" 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// Both operands of a product are computed in its kernel, and what finishes it too.
// CHECK-LABEL: func.func @both(
// CHECK:         te.kernel "a_b_c_d" (
// CHECK-NOT:     te.kernel
// WHY: remark: te-fuse: kernel 'a_b_c_d': a, b, c, d
func.func @both(%x: tensor<64x48xf32>, %y: tensor<48x32xf32>, %s: tensor<48xf32>) -> tensor<64x32xf32> {
  %a = te.compute [%i = 64, %k = 48] (%v = %x[%i, %k], %t = %s[%k]) : (tensor<64x48xf32>, tensor<48xf32>) -> tensor<64x48xf32> {
    %m = arith.mulf %v, %t : f32
    te.yield %m : f32
  }
  %b = te.compute [%k = 48, %j = 32] (%v = %y[%k, %j]) : (tensor<48x32xf32>) -> tensor<48x32xf32> {
    %m = arith.maximumf %v, %v : f32
    te.yield %m : f32
  }
  %c = te.compute [%i = 64, %j = 32] add [%k = 48] (%l = %a[%i, %k], %r = %b[%k, %j]) : (tensor<64x48xf32>, tensor<48x32xf32>) -> tensor<64x32xf32> {
    %m = arith.mulf %l, %r : f32
    te.yield %m : f32
  }
  %d = te.compute [%i = 64, %j = 32] (%v = %c[%i, %j]) : (tensor<64x32xf32>) -> tensor<64x32xf32> {
    %m = arith.negf %v : f32
    te.yield %m : f32
  }
  func.return %d : tensor<64x32xf32>
}

// A padded operand is one that is computed: no condition is tested for each term of the sums.
// CHECK-LABEL: func.func @padded(
// CHECK:         te.kernel "p_c" (
// CHECK:           te.compute [%i = 64, %k = 48] (%{{.*}} = %{{.*}}[%i, %k - 1] else
// CHECK:           te.compute [%{{.*}} = 64, %{{.*}} = 32] add [%{{.*}} = 48] (%l = %p[
func.func @padded(%x: tensor<64x46xf32>, %y: tensor<48x32xf32>) -> tensor<64x32xf32> {
  %p = te.compute [%i = 64, %k = 48] (%v = %x[%i, %k - 1] else 0.0 : f32) : (tensor<64x46xf32>) -> tensor<64x48xf32> {
    te.yield %v : f32
  }
  %c = te.compute [%i = 64, %j = 32] add [%k = 48] (%l = %p[%i, %k], %r = %y[%k, %j]) : (tensor<64x48xf32>, tensor<48x32xf32>) -> tensor<64x32xf32> {
    %m = arith.mulf %l, %r : f32
    te.yield %m : f32
  }
  func.return %c : tensor<64x32xf32>
}

// An operand that others need is stored, and one for which the product has no plan but one by rows.
// CHECK-LABEL: func.func @stored(
// CHECK:         te.kernel "a" (
// CHECK:         te.kernel "c" (
// CHECK:         te.kernel "e" (
// CHECK:         te.kernel "f" (
// WHY: remark: te-fuse: not one kernel, 'a' and 'c': others need the operand too
// WHY: remark: te-fuse: not one kernel, 'e' and 'f': the product with its operand computed is predicted to take {{.*}}, both apart {{.*}}
func.func @stored(%x: tensor<64x48xf32>, %y: tensor<48x32xf32>, %z: tensor<600x3xf32>, %n: tensor<64x600xf32>) -> (tensor<64x48xf32>, tensor<64x32xf32>, tensor<64x3xf32>) {
  %a = te.compute [%i = 64, %k = 48] (%v = %x[%i, %k]) : (tensor<64x48xf32>) -> tensor<64x48xf32> {
    %m = arith.negf %v : f32
    te.yield %m : f32
  }
  %c = te.compute [%i = 64, %j = 32] add [%k = 48] (%l = %a[%i, %k], %r = %y[%k, %j]) : (tensor<64x48xf32>, tensor<48x32xf32>) -> tensor<64x32xf32> {
    %m = arith.mulf %l, %r : f32
    te.yield %m : f32
  }
  %e = te.compute [%i = 64, %k = 600] (%v = %n[%i, %k]) : (tensor<64x600xf32>) -> tensor<64x600xf32> {
    %m = arith.negf %v : f32
    te.yield %m : f32
  }
  %f = te.compute [%i = 64, %j = 3] add [%k = 600] (%l = %e[%i, %k], %r = %z[%k, %j]) : (tensor<64x600xf32>, tensor<600x3xf32>) -> tensor<64x3xf32> {
    %m = arith.mulf %l, %r : f32
    te.yield %m : f32
  }
  func.return %a, %c, %f : tensor<64x48xf32>, tensor<64x32xf32>, tensor<64x3xf32>
}

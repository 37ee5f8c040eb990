// RUN: stepwell-opt %s -p te-fuse | filecheck %s
// RUN: stepwell-opt %s -p te-fuse,te-fuse | filecheck %s
// RUN: stepwell-opt %s -p te-fuse,convert-te-to-loop | filecheck %s --check-prefix=LOOP
// RUN: stepwell-opt %s --remarks -p te-fuse 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// Two results of the same elements are one nest; what both need is computed once and not stored.
// CHECK-LABEL: func.func @siblings(
// CHECK-NEXT:    %sum, %product = te.kernel "sum_product" (%x_1 = %x, %y_1 = %y)
// CHECK-NEXT:      %sum_1, %product_1 = te.compute [%i = 4, %j = 3] (%a = %x_1[%i, %j], %b = %y_1[%i, %j]) : (tensor<4x3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
// CHECK-NEXT:        %e = math.exp %a : f32
// CHECK-NEXT:        %s = arith.addf %e, %b : f32
// CHECK-NEXT:        %p = arith.mulf %e, %b : f32
// CHECK-NEXT:        te.yield %s, %p : f32, f32
// LOOP:       @siblings.sum_product(
// LOOP:         loop.for parallel "i"
// LOOP-NEXT:      loop.for parallel "j"
// LOOP:             math.exp
// LOOP-NOT:         loop.for
// LOOP:             loop.store %{{.*}}, %sum[
// LOOP-NEXT:        loop.store %{{.*}}, %product[
func.func @siblings(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %exp = te.compute [%i = 4, %j = 3] (%a = %x[%i, %j]) : (tensor<4x3xf32>) -> tensor<4x3xf32> {
    %e = math.exp %a : f32
    te.yield %e : f32
  }
  %sum = te.compute [%i = 4, %j = 3] (%a = %exp[%i, %j], %b = %y[%i, %j]) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> {
    %s = arith.addf %a, %b : f32
    te.yield %s : f32
  }
  %product = te.compute [%i = 4, %j = 3] (%a = %exp[%i, %j], %b = %y[%i, %j]) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %sum, %product : tensor<4x3xf32>, tensor<4x3xf32>
}

// A product of matrices is finished by all that works on its elements, and itself is among what that stores.
// CHECK-LABEL: func.func @finished(
// CHECK-NEXT:    %c, %relu, %neg = te.kernel "c_relu_neg" (
// CHECK:           %c_1 = te.compute [%i = 4, %j = 5] add [%k = 3]
// CHECK:           %c_2, %relu_1, %neg_1 = te.compute [%i_1 = 4, %j_1 = 5] (%e_1 = %c_1[%i_1, %j_1]) :
// CHECK:             te.yield %e_1, %m, %n : f32, f32, f32
// LOOP:       @finished.c_relu_neg(
// LOOP:         loop.store %{{.*}}, %c[
// LOOP-NEXT:    loop.store %{{.*}}, %relu[
// LOOP-NEXT:    loop.store %{{.*}}, %neg[
func.func @finished(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  %zero = arith.constant 0.0 : f32
  %c = te.compute [%i = 4, %j = 5] add [%k = 3] (%e = %x[%i, %k], %f = %w[%k, %j]) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32> {
    %p = arith.mulf %e, %f : f32
    te.yield %p : f32
  }
  %relu = te.compute [%i = 4, %j = 5] (%e = %c[%i, %j]) : (tensor<4x5xf32>) -> tensor<4x5xf32> {
    %m = arith.maximumf %e, %zero : f32
    te.yield %m : f32
  }
  %neg = te.compute [%i = 4, %j = 5] (%e = %c[%i, %j]) : (tensor<4x5xf32>) -> tensor<4x5xf32> {
    %n = arith.negf %e : f32
    te.yield %n : f32
  }
  func.return %c, %relu, %neg : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}

// A call between two nests keeps them apart.
// CHECK-LABEL: func.func @in_between(
// CHECK:         te.kernel "exp" (
// CHECK:         func.call @f(
// CHECK:         te.kernel "r" (
// WHY: not one kernel, 'exp' and 'r': something outside needs the one and is needed by the other
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @in_between(%x: tensor<4xf32>) -> tensor<4xf32> {
  %exp = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = math.exp %a : f32
    te.yield %e : f32
  }
  %g = func.call @f(%exp) : (tensor<4xf32>) -> tensor<4xf32>
  %r = te.compute [%i = 4] (%a = %exp[%i], %b = %g[%i]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.addf %a, %b : f32
    te.yield %s : f32
  }
  func.return %r : tensor<4xf32>
}

// Other elements of a stored tensor are not of the same iteration.
// CHECK-LABEL: func.func @elsewhere(
// CHECK:         te.kernel "exp" (
// CHECK:         te.kernel "r" (
// WHY: not one kernel, 'exp' and 'r': each of its elements, costing 20 additions, would be computed 2 times
func.func @elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  %exp = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = math.exp %a : f32
    te.yield %e : f32
  }
  %r = te.compute [%i = 4] (%a = %exp[%i], %b = %exp[3 - %i]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.addf %a, %b : f32
    te.yield %s : f32
  }
  func.return %r : tensor<4xf32>
}

// Two products of matrices are each finished by their own.
// CHECK-LABEL: func.func @two_products(
// CHECK:         te.kernel "p_r" (
// CHECK:         te.kernel "q_s" (
func.func @two_products(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %y: tensor<4x5xf32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
  %p = te.compute [%i = 4, %j = 5] add [%k = 3] (%e = %x[%i, %k], %f = %w[%k, %j]) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32> {
    %m = arith.mulf %e, %f : f32
    te.yield %m : f32
  }
  %q = te.compute [%i = 4, %j = 5] add [%k = 3] (%e = %x[%i, %k], %f = %w[%k, 4 - %j]) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32> {
    %m = arith.mulf %e, %f : f32
    te.yield %m : f32
  }
  %r = te.compute [%i = 4, %j = 5] (%e = %p[%i, %j], %f = %y[%i, %j]) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> {
    %m = arith.addf %e, %f : f32
    te.yield %m : f32
  }
  %s = te.compute [%i = 4, %j = 5] (%e = %q[%i, %j], %f = %y[%i, %j]) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> {
    %m = arith.subf %e, %f : f32
    te.yield %m : f32
  }
  func.return %r, %s : tensor<4x5xf32>, tensor<4x5xf32>
}

// Reductions of the same elements go through them once, and what several of them need is computed once.
// CHECK-LABEL: func.func @reductions(
// CHECK-NEXT:    %sum, %squares, %at = te.kernel "sum_squares_at" (%x_1 = %x)
// CHECK-NEXT:      %sum_1, %squares_1, %at_1 = te.compute [%i = 4] add, add, argmax [%k = 3] (%a = %x_1[%i, %k]) :
// CHECK-NEXT:        %e = math.exp %a : f32
// CHECK-NEXT:        %p = arith.mulf %e, %e : f32
// CHECK:             te.yield %e, %p, %e, %n : f32, f32, f32, i64
// LOOP:       @reductions.sum_squares_at(
// LOOP:         loop.for reduction "k"
// LOOP-NEXT:      loop.load
// LOOP-NEXT:      math.exp
// LOOP-NOT:     loop.for
// LOOP:         func.return
func.func @reductions(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi64>) {
  %exp = te.compute [%i = 4, %j = 3] (%a = %x[%i, %j]) : (tensor<4x3xf32>) -> tensor<4x3xf32> {
    %e = math.exp %a : f32
    te.yield %e : f32
  }
  %sum = te.compute [%i = 4] add [%k = 3] (%a = %exp[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> { te.yield %a : f32 }
  %squares = te.compute [%i = 4] add [%k = 3] (%a = %exp[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> {
    %p = arith.mulf %a, %a : f32
    te.yield %p : f32
  }
  %at = te.compute [%i = 4] argmax [%k = 3] (%a = %exp[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xi64> {
    %n = arith.index_cast %k : index to i64
    te.yield %a, %n : f32, i64
  }
  func.return %sum, %squares, %at : tensor<4xf32>, tensor<4xf32>, tensor<4xi64>
}

// The one needs what the other reduces.
// CHECK-LABEL: func.func @one_after_the_other(
// CHECK:         %max_1 = te.compute [] max [%k = 3]
// CHECK:         %sum_1 = te.compute [] add [%k = 3]
func.func @one_after_the_other(%x: tensor<3xf32>) -> tensor<f32> {
  %max = te.compute [] max [%k = 3] (%a = %x[%k]) : (tensor<3xf32>) -> tensor<f32> { te.yield %a : f32 }
  %sum = te.compute [] add [%k = 3] (%a = %x[%k], %m = %max[]) : (tensor<3xf32>, tensor<f32>) -> tensor<f32> {
    %s = arith.subf %a, %m : f32
    te.yield %s : f32
  }
  func.return %sum : tensor<f32>
}

// What only moves elements may be a view, and is not computed with others.
// CHECK-LABEL: func.func @moved(
// CHECK:         te.kernel "turned" (
// CHECK:         te.kernel "neg" (
func.func @moved(%x: tensor<4x3xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %turned = te.compute [%i = 3, %j = 4] (%a = %x[%j, %i]) : (tensor<4x3xf32>) -> tensor<3x4xf32> { te.yield %a : f32 }
  %neg = te.compute [%i = 3, %j = 4] (%a = %turned[%i, %j]) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    %n = arith.negf %a : f32
    te.yield %n : f32
  }
  func.return %turned, %neg : tensor<3x4xf32>, tensor<3x4xf32>
}

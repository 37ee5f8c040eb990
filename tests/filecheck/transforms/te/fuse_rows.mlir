// RUN: stepwell-opt %s -p te-fuse | filecheck %s
// RUN: stepwell-opt %s -p te-fuse,te-fuse | filecheck %s
// RUN: stepwell-opt %s --remarks -p te-fuse 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// A softmax is one kernel: its reductions and what is between them work on the same rows.
// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT:    %softmax = te.kernel "max_exp_sum_softmax" (%x_1 = %x) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
// CHECK:           %max = te.compute [%i = 4, %u = 1] max [%j = 6]
// CHECK:           %exp = te.compute [%i_1 = 4, %j_1 = 6]
// CHECK:           %sum = te.compute [%i_2 = 4, %u_1 = 1] add [%j_2 = 6]
// CHECK:           te.yield %softmax_1 : tensor<4x6xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %softmax
// WHY: remark: te-fuse: kernel 'max_exp_sum_softmax': max, exp, sum, softmax
func.func @softmax(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %max = te.compute [%i = 4, %u = 1] max [%j = 6] (%a = %x[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x1xf32> { te.yield %a : f32 }
  %exp = te.compute [%i = 4, %j = 6] (%a = %x[%i, %j], %b = %max[%i, 0]) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32> {
    %s = arith.subf %a, %b : f32
    %e = math.exp %s : f32
    te.yield %e : f32
  }
  %sum = te.compute [%i = 4, %u = 1] add [%j = 6] (%a = %exp[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x1xf32> { te.yield %a : f32 }
  %softmax = te.compute [%i = 4, %j = 6] (%a = %exp[%i, %j], %b = %sum[%i, 0]) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32> {
    %d = arith.divf %a, %b : f32
    te.yield %d : f32
  }
  func.return %softmax : tensor<4x6xf32>
}

// What is needed outside too is a result; what needs it comes after the kernel, in its order.
// CHECK-LABEL: func.func @needed_outside(
// CHECK-NEXT:    %sum, %scaled = te.kernel "sum_scaled" (%x_1 = %x) : (tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4x6xf32>) {
// CHECK:           te.yield %sum_1, %scaled_1
// CHECK-NEXT:    }
// CHECK-NEXT:    %first = func.call @f(%sum)
// CHECK-NEXT:    %second = func.call @f(%first)
// CHECK-NEXT:    func.return %sum, %second, %scaled
func.func private @f(tensor<4xf32>) -> tensor<4xf32>
func.func @needed_outside(%x: tensor<4x6xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x6xf32>) {
  %sum = te.compute [%i = 4] add [%j = 6] (%a = %x[%i, %j]) : (tensor<4x6xf32>) -> tensor<4xf32> { te.yield %a : f32 }
  %first = func.call @f(%sum) : (tensor<4xf32>) -> tensor<4xf32>
  %second = func.call @f(%first) : (tensor<4xf32>) -> tensor<4xf32>
  %scaled = te.compute [%i = 4, %j = 6] (%a = %x[%i, %j], %b = %sum[%i]) : (tensor<4x6xf32>, tensor<4xf32>) -> tensor<4x6xf32> {
    %d = arith.divf %a, %b : f32
    te.yield %d : f32
  }
  func.return %sum, %second, %scaled : tensor<4xf32>, tensor<4xf32>, tensor<4x6xf32>
}

// Not when something in between takes the one to the other.
// CHECK-LABEL: func.func @in_between(
// CHECK:         te.kernel "sum" (
// CHECK:         func.call @f(
// CHECK:         te.kernel "scaled" (
// WHY: remark: te-fuse: not one kernel, 'sum' and 'scaled': something outside needs the one and is needed by the other
func.func @in_between(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %sum = te.compute [%i = 4] add [%j = 6] (%a = %x[%i, %j]) : (tensor<4x6xf32>) -> tensor<4xf32> { te.yield %a : f32 }
  %f = func.call @f(%sum) : (tensor<4xf32>) -> tensor<4xf32>
  %scaled = te.compute [%i = 4, %j = 6] (%a = %x[%i, %j], %b = %sum[%i], %c = %f[%i]) : (tensor<4x6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x6xf32> {
    %d = arith.divf %a, %b : f32
    %e = arith.divf %d, %c : f32
    te.yield %e : f32
  }
  func.return %scaled : tensor<4x6xf32>
}

// Attention: the scores are larger than the keys and values that each block of rows reads again.
// CHECK-LABEL: func.func @attention(
// CHECK-NEXT:    %o = te.kernel "qk_max_exp_sum_p_o" (%q_1 = %q, %k_1 = %k, %v_1 = %v)
// CHECK-NOT:     te.kernel
// CHECK:         func.return
// WHY: remark: te-fuse: kernel 'qk_max_exp_sum_p_o': qk, max, exp, sum, p, o
func.func @attention(%q: tensor<2x16x4xf32>, %k: tensor<2x16x4xf32>, %v: tensor<2x16x4xf32>) -> tensor<2x16x4xf32> {
  %qk = te.compute [%b = 2, %i = 16, %j = 16] add [%d = 4] (%a = %q[%b, %i, %d], %c = %k[%b, %j, %d]) : (tensor<2x16x4xf32>, tensor<2x16x4xf32>) -> tensor<2x16x16xf32> {
    %p = arith.mulf %a, %c : f32
    te.yield %p : f32
  }
  %max = te.compute [%b = 2, %i = 16] max [%j = 16] (%a = %qk[%b, %i, %j]) : (tensor<2x16x16xf32>) -> tensor<2x16xf32> { te.yield %a : f32 }
  %exp = te.compute [%b = 2, %i = 16, %j = 16] (%a = %qk[%b, %i, %j], %m = %max[%b, %i]) : (tensor<2x16x16xf32>, tensor<2x16xf32>) -> tensor<2x16x16xf32> {
    %s = arith.subf %a, %m : f32
    %e = math.exp %s : f32
    te.yield %e : f32
  }
  %sum = te.compute [%b = 2, %i = 16] add [%j = 16] (%a = %exp[%b, %i, %j]) : (tensor<2x16x16xf32>) -> tensor<2x16xf32> { te.yield %a : f32 }
  %p = te.compute [%b = 2, %i = 16, %j = 16] (%a = %exp[%b, %i, %j], %s = %sum[%b, %i]) : (tensor<2x16x16xf32>, tensor<2x16xf32>) -> tensor<2x16x16xf32> {
    %d = arith.divf %a, %s : f32
    te.yield %d : f32
  }
  %o = te.compute [%b = 2, %i = 16, %d = 4] add [%j = 16] (%a = %p[%b, %i, %j], %c = %v[%b, %j, %d]) : (tensor<2x16x16xf32>, tensor<2x16x4xf32>) -> tensor<2x16x4xf32> {
    %m = arith.mulf %a, %c : f32
    te.yield %m : f32
  }
  func.return %o : tensor<2x16x4xf32>
}

// Heads that are put side by side: attention writes to where they go, and the order of its loops stays.
// CHECK-LABEL: func.func @heads(
// CHECK-NEXT:    %o = te.kernel "qk_max_exp_sum_p_o" (%q_1 = %q, %k_1 = %k, %v_1 = %v)
// CHECK:         te.kernel "t"
// CHECK-NOT:     te.kernel
// CHECK:         func.return
// WHY: not one kernel, 'qk_max_exp_sum_p_o' and 't': one has a contraction, whose chain writes straight to where the other would move it
func.func @heads(%q: tensor<2x16x4xf32>, %k: tensor<2x16x4xf32>, %v: tensor<2x16x4xf32>) -> tensor<16x2x4xf32> {
  %qk = te.compute [%b = 2, %i = 16, %j = 16] add [%d = 4] (%a = %q[%b, %i, %d], %c = %k[%b, %j, %d]) : (tensor<2x16x4xf32>, tensor<2x16x4xf32>) -> tensor<2x16x16xf32> {
    %p = arith.mulf %a, %c : f32
    te.yield %p : f32
  }
  %max = te.compute [%b = 2, %i = 16] max [%j = 16] (%a = %qk[%b, %i, %j]) : (tensor<2x16x16xf32>) -> tensor<2x16xf32> { te.yield %a : f32 }
  %exp = te.compute [%b = 2, %i = 16, %j = 16] (%a = %qk[%b, %i, %j], %m = %max[%b, %i]) : (tensor<2x16x16xf32>, tensor<2x16xf32>) -> tensor<2x16x16xf32> {
    %s = arith.subf %a, %m : f32
    %e = math.exp %s : f32
    te.yield %e : f32
  }
  %sum = te.compute [%b = 2, %i = 16] add [%j = 16] (%a = %exp[%b, %i, %j]) : (tensor<2x16x16xf32>) -> tensor<2x16xf32> { te.yield %a : f32 }
  %p = te.compute [%b = 2, %i = 16, %j = 16] (%a = %exp[%b, %i, %j], %s = %sum[%b, %i]) : (tensor<2x16x16xf32>, tensor<2x16xf32>) -> tensor<2x16x16xf32> {
    %d = arith.divf %a, %s : f32
    te.yield %d : f32
  }
  %o = te.compute [%b = 2, %i = 16, %d = 4] add [%j = 16] (%a = %p[%b, %i, %j], %c = %v[%b, %j, %d]) : (tensor<2x16x16xf32>, tensor<2x16x4xf32>) -> tensor<2x16x4xf32> {
    %m = arith.mulf %a, %c : f32
    te.yield %m : f32
  }
  %t = te.compute [%i = 16, %b = 2, %d = 4] (%a = %o[%b, %i, %d]) : (tensor<2x16x4xf32>) -> tensor<16x2x4xf32> { te.yield %a : f32 }
  func.return %t : tensor<16x2x4xf32>
}

// Two layers: the weights would be read again for each block of rows.
// CHECK-LABEL: func.func @layers(
// CHECK:         te.kernel "h" (
// CHECK:         te.kernel "y" (
// WHY: remark: te-fuse: not one kernel, 'h' and 'y': one kernel would save 0 bytes of traffic and read 512 again for its blocks of rows
func.func @layers(%x: tensor<8x16xf32>, %w1: tensor<16x16xf32>, %w2: tensor<16x16xf32>) -> tensor<8x16xf32> {
  %h = te.compute [%i = 8, %j = 16] add [%k = 16] (%a = %x[%i, %k], %b = %w1[%k, %j]) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %y = te.compute [%i = 8, %j = 16] add [%k = 16] (%a = %h[%i, %k], %b = %w2[%k, %j]) : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<8x16xf32>
}

// One row only, columns, and an arg-reduction.
// CHECK-LABEL: func.func @refused(
// CHECK:         te.kernel "a" (
// CHECK:         te.kernel "b" (
// CHECK:         te.kernel "c" (
// CHECK:         te.kernel "d" (
// CHECK:         te.kernel "e" (
// CHECK:         te.kernel "f" (
// WHY: remark: te-fuse: not one kernel, 'a' and 'b': they share no leading parallel iterator
// WHY: remark: te-fuse: not one kernel, 'c' and 'd': they share no leading parallel iterator
// WHY: remark: te-fuse: not one kernel, 'e' and 'f': an arg-reduction has a kernel of its own
func.func @refused(%x: tensor<1x6xf32>, %y: tensor<4x6xf32>) -> (tensor<1x6xf32>, tensor<4x6xf32>, tensor<4xi64>) {
  %a = te.compute [%i = 1] add [%j = 6] (%v = %x[%i, %j]) : (tensor<1x6xf32>) -> tensor<1xf32> { te.yield %v : f32 }
  %b = te.compute [%i = 1, %j = 6] (%v = %x[%i, %j], %s = %a[%i]) : (tensor<1x6xf32>, tensor<1xf32>) -> tensor<1x6xf32> {
    %d = arith.divf %v, %s : f32
    te.yield %d : f32
  }
  %c = te.compute [%j = 6] add [%i = 4] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<6xf32> { te.yield %v : f32 }
  %d = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j], %s = %c[%j]) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32> {
    %q = arith.divf %v, %s : f32
    te.yield %q : f32
  }
  %e = te.compute [%i = 4] add [%j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %f = te.compute [%i = 4] argmax [%j = 6] (%v = %y[%i, %j], %s = %e[%i]) : (tensor<4x6xf32>, tensor<4xf32>) -> tensor<4xi64> {
    %q = arith.divf %v, %s : f32
    %n = arith.index_cast %j : index to i64
    te.yield %q, %n : f32, i64
  }
  func.return %b, %d, %f : tensor<1x6xf32>, tensor<4x6xf32>, tensor<4xi64>
}

// Sums of products of two rows use no element twice: they go by rows as other reductions, beside nests of several results.
// CHECK-LABEL: func.func @products_of_rows(
// CHECK-NEXT:    %up, %down, %dot = te.kernel "up_down_dot"
func.func @products_of_rows(%x: tensor<400x3xf32>) -> (tensor<400x3xf32>, tensor<400x3xf32>, tensor<400xf32>) {
  %up, %down = te.compute [%i = 400, %j = 3] (%a = %x[%i, %j]) : (tensor<400x3xf32>) -> (tensor<400x3xf32>, tensor<400x3xf32>) {
    %e = math.exp %a : f32
    %n = math.sin %a : f32
    te.yield %e, %n : f32, f32
  }
  %dot = te.compute [%i = 400] add [%j = 3] (%a = %up[%i, %j], %b = %down[%i, %j]) : (tensor<400x3xf32>, tensor<400x3xf32>) -> tensor<400xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %up, %down, %dot : tensor<400x3xf32>, tensor<400x3xf32>, tensor<400xf32>
}

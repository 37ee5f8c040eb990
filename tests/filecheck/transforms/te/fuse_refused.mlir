// RUN: stepwell-opt %s -p te-fuse | filecheck %s
// RUN: stepwell-opt %s -p te-fuse --remarks 2>&1 | filecheck %s --check-prefix REMARK

// What stays as it is. tests/unit/test_te.py has the reasons.

// CHECK-LABEL: func.func @reduction(
// CHECK:         te.compute [] add
// CHECK:         te.compute [%i = 4]
func.func @reduction(%x: tensor<4xf32>) -> tensor<4xf32> {
  %sum = te.compute [] add [%k = 4] (%e = %x[%k]) : (tensor<4xf32>) -> tensor<f32> {
    te.yield %e : f32
  }
  %r = te.compute [%i = 4] (%e = %x[%i], %s = %sum[]) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
    %d = arith.divf %e, %s : f32
    te.yield %d : f32
  }
  func.return %r : tensor<4xf32>
}

// What only moves data is written to its place: the elements around the slice would be read where the pad belongs.
// CHECK-LABEL: func.func @pad_of_slice(
// CHECK:         %s_1 = te.compute [%i = 4] (%e = %x_1[%i + 2])
// CHECK:         %p_1 = te.compute [%i = 6] (%e = %s_1[%i - 1] else
func.func @pad_of_slice(%x: tensor<10xf32>) -> tensor<6xf32> {
  %s = te.compute [%i = 4] (%e = %x[%i + 2]) : (tensor<10xf32>) -> tensor<4xf32> {
    te.yield %e : f32
  }
  %p = te.compute [%i = 6] (%e = %s[%i - 1] else 0.0 : f32) : (tensor<4xf32>) -> tensor<6xf32> {
    te.yield %e : f32
  }
  func.return %p : tensor<6xf32>
}

// Of a broadcast axis the operand has no outside.
// CHECK-LABEL: func.func @pad_of_broadcast(
// CHECK:         %b_1 = te.compute [%i = 4, %j = 3] (%e = %x_1[%j])
// CHECK:         %p_1 = te.compute [%i = 6, %j = 3] (%e = %b_1[%i - 1, %j] else
func.func @pad_of_broadcast(%x: tensor<3xf32>) -> tensor<6x3xf32> {
  %b = te.compute [%i = 4, %j = 3] (%e = %x[%j]) : (tensor<3xf32>) -> tensor<4x3xf32> {
    te.yield %e : f32
  }
  %p = te.compute [%i = 6, %j = 3] (%e = %b[%i - 1, %j] else 0.0 : f32) : (tensor<4x3xf32>) -> tensor<6x3xf32> {
    te.yield %e : f32
  }
  func.return %p : tensor<6x3xf32>
}

// A constant body moves no data: outside of it there is still the pad.
// CHECK-LABEL: func.func @pad_of_constant(
// CHECK:         %c_1 = te.compute [%i = 4]
// CHECK:         %p_1 = te.compute [%i = 6] (%e = %c_1[%i - 1] else
func.func @pad_of_constant(%x: tensor<4xf32>) -> tensor<6xf32> {
  %c = te.compute [%i = 4] (%e = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %one = arith.constant 1.0 : f32
    te.yield %one : f32
  }
  %p = te.compute [%i = 6] (%e = %c[%i - 1] else 0.0 : f32) : (tensor<4xf32>) -> tensor<6xf32> {
    te.yield %e : f32
  }
  func.return %p : tensor<6xf32>
}

// A division by what is 0 outside would end the process.
// CHECK-LABEL: func.func @pad_of_quotient(
// CHECK:         %q_1 = te.compute [%i = 3]
// CHECK:         %p_1 = te.compute [%i = 4] (%a = %x_1[%i], %b = %q_1[%i - 1] else
// REMARK: outside of it 'arith.divsi' might divide by 0, or not end
func.func @pad_of_quotient(%x: tensor<4xi32>) -> tensor<4xi32> {
  %q = te.compute [%i = 3] (%d = %x[%i], %e = %x[%i + 1]) : (tensor<4xi32>, tensor<4xi32>) -> tensor<3xi32> {
    %v = arith.divsi %d, %e : i32
    te.yield %v : i32
  }
  %p = te.compute [%i = 4] (%a = %x[%i], %b = %q[%i - 1] else 1 : i32) : (tensor<4xi32>, tensor<3xi32>) -> tensor<4xi32> {
    %v = arith.muli %a, %b : i32
    te.yield %v : i32
  }
  func.return %p : tensor<4xi32>
}

// CHECK-LABEL: func.func @whole(
// CHECK:         %a_1 = te.compute
// CHECK:         %b_1 = te.compute [%i = 4] (%t = %a_1)
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = te.compute [%i = 4] (%e = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %n = arith.negf %e : f32
    te.yield %n : f32
  }
  %b = te.compute [%i = 4] (%t = %a) : (tensor<4xf32>) -> tensor<4xf32> {
    %v = tensor.extract %t[%i] : tensor<4xf32>
    te.yield %v : f32
  }
  func.return %b : tensor<4xf32>
}

// An expensive element would be computed once for each of its two reads.
// CHECK-LABEL: func.func @two_subscripts(
// CHECK:         %exp_1 = te.compute
// CHECK:         %d_1 = te.compute [%i = 3] (%e = %exp_1[%i], %f = %exp_1[%i + 1])
func.func @two_subscripts(%x: tensor<4xf32>) -> tensor<3xf32> {
  %exp = te.compute [%i = 4] (%e = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %a = math.exp %e : f32
    te.yield %a : f32
  }
  %d = te.compute [%i = 3] (%e = %exp[%i], %f = %exp[%i + 1]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<3xf32> {
    %s = arith.subf %f, %e : f32
    te.yield %s : f32
  }
  func.return %d : tensor<3xf32>
}

// An epilogue stays with its reduction when its reader is not element-wise on it.
// CHECK-LABEL: func.func @epilogue(
// CHECK:         %sum = te.compute [%i = 4] add
// CHECK:         %neg = te.compute [%i_1 = 4]
// CHECK:         %r_1 = te.compute [%i_2 = 4, %j = 2] (%e_2 = %neg[%i_2])
func.func @epilogue(%x: tensor<4x3xf32>) -> tensor<4x2xf32> {
  %sum = te.compute [%i = 4] add [%k = 3] (%e = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> {
    te.yield %e : f32
  }
  %neg = te.compute [%i = 4] (%e = %sum[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %n = arith.negf %e : f32
    te.yield %n : f32
  }
  %r = te.compute [%i = 4, %j = 2] (%e = %neg[%i]) : (tensor<4xf32>) -> tensor<4x2xf32> {
    te.yield %e : f32
  }
  func.return %r : tensor<4x2xf32>
}

// What works on the elements of a reduction is computed once, with all that is made of it.
// CHECK-LABEL: func.func @epilogue_of_several(
// CHECK:         %sum = te.compute
// CHECK:         %a_1, %b_1 = te.compute [%i_1 = 4] (%e_1 = %sum[%i_1])
// CHECK-NEXT:      %d = arith.addf %e_1, %e_1
// CHECK-NEXT:      %d_1 = arith.negf %d
// CHECK-NEXT:      %d_2 = math.absf %d
// CHECK-NEXT:      te.yield %d_1, %d_2
func.func @epilogue_of_several(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %sum = te.compute [%i = 4] add [%k = 3] (%e = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xf32> {
    te.yield %e : f32
  }
  %scaled = te.compute [%i = 4] (%e = %sum[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %d = arith.addf %e, %e : f32
    te.yield %d : f32
  }
  %a = te.compute [%i = 4] (%e = %scaled[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %d = arith.negf %e : f32
    te.yield %d : f32
  }
  %b = te.compute [%i = 4] (%e = %scaled[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %d = math.absf %e : f32
    te.yield %d : f32
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// A convolution and the pooling of what it computes share images and channels, but not pixels.
// REMARK: not one kernel, 'conv' and 'pool': row by row, a window, or a product of several axes in a row or of none, would lose its register tiles
// CHECK-LABEL: func.func @pooled
// CHECK:         te.kernel "conv"
// CHECK:         te.kernel "pool"
func.func @pooled(%x: tensor<1x64x56xf32>, %w: tensor<32x64x3xf32>) -> tensor<1x32xf32> {
  %conv = te.compute [%n = 1, %f = 32, %o = 54] add [%c = 64, %k = 3] (%a = %x[%n, %c, %o + %k], %b = %w[%f, %c, %k]) : (tensor<1x64x56xf32>, tensor<32x64x3xf32>) -> tensor<1x32x54xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %pool = te.compute [%n = 1, %f = 32] max [%o = 54] (%a = %conv[%n, %f, %o]) : (tensor<1x32x54xf32>) -> tensor<1x32xf32> {
    te.yield %a : f32
  }
  func.return %pool : tensor<1x32xf32>
}

// A depthwise convolution, whose operands have the same channels, loses its tiles in the same way.
// REMARK: not one kernel, 'depthwise' and 'mean': row by row, a window, or a product of several axes in a row or of none, would lose its register tiles
// CHECK-LABEL: func.func @averaged
// CHECK:         te.kernel "depthwise"
// CHECK:         te.kernel "mean"
func.func @averaged(%x: tensor<32x30x30xf32>, %w: tensor<32x3x3xf32>) -> tensor<32xf32> {
  %depthwise = te.compute [%c = 32, %i = 28, %j = 28] add [%kh = 3, %kw = 3] (%a = %x[%c, %i + %kh, %j + %kw], %b = %w[%c, %kh, %kw]) : (tensor<32x30x30xf32>, tensor<32x3x3xf32>) -> tensor<32x28x28xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %mean = te.compute [%c = 32] add [%i = 28, %j = 28] (%a = %depthwise[%c, %i, %j]) : (tensor<32x28x28xf32>) -> tensor<32xf32> {
    te.yield %a : f32
  }
  func.return %mean : tensor<32xf32>
}

// Two products whose sum is finished element by element, as where a residual block has a convolution on both ways,
// have rows along axes of both operands: blocks of such rows would be single elements.
// REMARK: not one kernel, 'other' and 'one_sum': row by row, a window, or a product of several axes in a row or of none, would lose its register tiles
// CHECK-LABEL: func.func @residual
// CHECK:         te.kernel "other"
// CHECK:         te.kernel "one_sum"
func.func @residual(%x: tensor<64x3136xf32>, %z: tensor<64x3136xf32>, %w: tensor<256x64xf32>, %v: tensor<256x64xf32>) -> tensor<256x3136xf32> {
  %one = te.compute [%f = 256, %p = 3136] add [%c = 64] (%a = %x[%c, %p], %b = %w[%f, %c]) : (tensor<64x3136xf32>, tensor<256x64xf32>) -> tensor<256x3136xf32> {
    %t = arith.mulf %a, %b : f32
    te.yield %t : f32
  }
  %other = te.compute [%f = 256, %p = 3136] add [%c = 64] (%a = %z[%c, %p], %b = %v[%f, %c]) : (tensor<64x3136xf32>, tensor<256x64xf32>) -> tensor<256x3136xf32> {
    %t = arith.mulf %a, %b : f32
    te.yield %t : f32
  }
  %sum = te.compute [%f = 256, %p = 3136] (%a = %one[%f, %p], %b = %other[%f, %p]) : (tensor<256x3136xf32>, tensor<256x3136xf32>) -> tensor<256x3136xf32> {
    %t = arith.addf %a, %b : f32
    te.yield %t : f32
  }
  func.return %sum : tensor<256x3136xf32>
}

// Computed again, a sum of two operands would be twice as much to read for a reduction as its stored result.
// CHECK-LABEL: func.func @two_operands_for_reductions(
// CHECK:         te.compute [%i = 5]
// CHECK-NEXT:      arith.addf
// CHECK:         te.compute [] min [%k = 5] (%e = %sum_1[%k])
// CHECK-NEXT:      te.yield
func.func @two_operands_for_reductions(%x: tensor<5xf32>, %y: tensor<5xf32>) -> tensor<5xf32> {
  %sum = te.compute [%i = 5] (%e = %x[%i], %f = %y[%i]) : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xf32> {
    %a = arith.addf %e, %f : f32
    te.yield %a : f32
  }
  %min = te.compute [] min [%k = 5] (%e = %sum[%k]) : (tensor<5xf32>) -> tensor<f32> {
    te.yield %e : f32
  }
  %r = te.compute [%i = 5] (%e = %sum[%i], %s = %min[]) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32> {
    %d = arith.divf %e, %s : f32
    te.yield %d : f32
  }
  func.return %r : tensor<5xf32>
}

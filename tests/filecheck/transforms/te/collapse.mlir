// RUN: stepwell-opt %s -p "te-bufferize,te-collapse" | filecheck %s

// A convolution by windows of one element is a product of matrices over all pixels, with what is behind it.
// CHECK-LABEL: func.func @pointwise
// CHECK-NEXT:    %[[x:.*]] = memref.reinterpret_cast %x to {{.*}} : memref<2x8x4x6xf32> to memref<2x8x24xf32>
// CHECK-NEXT:    %[[z:.*]] = memref.reinterpret_cast %z to {{.*}} : memref<2x16x4x6xf32> to memref<2x16x24xf32>
// CHECK-NEXT:    te.kernel "k" ({{.*}} = %[[x]], {{.*}} = %w, {{.*}} = %b) into (%[[z]])
// CHECK-NEXT:      [%n = 2, %f = 16, %oh_ow = 24] add [%c = 8] (%a = %{{.*}}[%n, %c, %oh_ow], %v = %{{.*}}[%f, %c, 0, 0])
// CHECK:           [%{{.*}} = 2, %{{.*}} = 16, %{{.*}} = 24] ({{.*}}[%{{.*}}, %{{.*}}, %{{.*}}], {{.*}}[%{{.*}}])
func.func @pointwise(%x: tensor<2x8x4x6xf32>, %w: tensor<16x8x1x1xf32>, %b: tensor<16xf32>) -> tensor<2x16x4x6xf32> {
  %z = te.kernel "k" (%x_1 = %x, %w_1 = %w, %b_1 = %b) : (tensor<2x8x4x6xf32>, tensor<16x8x1x1xf32>, tensor<16xf32>) -> tensor<2x16x4x6xf32> {
    %y = te.compute [%n = 2, %f = 16, %oh = 4, %ow = 6] add [%c = 8, %kh = 1, %kw = 1] (%a = %x_1[%n, %c, %oh + %kh, %ow + %kw], %v = %w_1[%f, %c, %kh, %kw]) : (tensor<2x8x4x6xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x4x6xf32> {
      %p = arith.mulf %a, %v : f32
      te.yield %p : f32
    }
    %z_1 = te.compute [%n = 2, %f = 16, %oh = 4, %ow = 6] (%a = %y[%n, %f, %oh, %ow], %v = %b_1[%f]) : (tensor<2x16x4x6xf32>, tensor<16xf32>) -> tensor<2x16x4x6xf32> {
      %p = arith.addf %a, %v : f32
      te.yield %p : f32
    }
    te.yield %z_1 : tensor<2x16x4x6xf32>
  }
  func.return %z : tensor<2x16x4x6xf32>
}

// Rows of a batch that all use the same matrix are rows of one product; two summed axes are one.
// CHECK-LABEL: func.func @rows
// CHECK:         [%b_i = 15, %j = 7] add [%k_l = 8] (%a = %{{.*}}[%b_i, %k_l], %v = %{{.*}}[%k_l, %j])
func.func @rows(%x: tensor<3x5x2x4xf32>, %w: tensor<2x4x7xf32>) -> tensor<3x5x7xf32> {
  %y = te.compute [%b = 3, %i = 5, %j = 7] add [%k = 2, %l = 4] (%a = %x[%b, %i, %k, %l], %v = %w[%k, %l, %j]) : (tensor<3x5x2x4xf32>, tensor<2x4x7xf32>) -> tensor<3x5x7xf32> {
    %p = arith.mulf %a, %v : f32
    te.yield %p : f32
  }
  func.return %y : tensor<3x5x7xf32>
}

// Windows, steps, axes in another order, and one that the body counts with keep axes apart.
// CHECK-LABEL: func.func @window
// CHECK-NOT:     reinterpret_cast
// CHECK:         [%f = 3, %oh = 4, %ow = 6] add [%c = 2, %kh = 3]
func.func @window(%x: tensor<2x6x6xf32>, %w: tensor<3x2x3xf32>) -> tensor<3x4x6xf32> {
  %y = te.compute [%f = 3, %oh = 4, %ow = 6] add [%c = 2, %kh = 3] (%a = %x[%c, %oh + %kh, %ow], %b = %w[%f, %c, %kh]) : (tensor<2x6x6xf32>, tensor<3x2x3xf32>) -> tensor<3x4x6xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<3x4x6xf32>
}

// CHECK-LABEL: func.func @steps
// CHECK-NOT:     reinterpret_cast
// CHECK:         [%f = 3, %oh = 3, %ow = 6] add [%c = 2]
func.func @steps(%x: tensor<2x6x6xf32>, %w: tensor<3x2xf32>) -> tensor<3x3x6xf32> {
  %y = te.compute [%f = 3, %oh = 3, %ow = 6] add [%c = 2] (%a = %x[%c, %oh * 2, %ow], %b = %w[%f, %c]) : (tensor<2x6x6xf32>, tensor<3x2xf32>) -> tensor<3x3x6xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<3x3x6xf32>
}

// CHECK-LABEL: func.func @order
// CHECK-NOT:     reinterpret_cast
// CHECK:         [%f = 3, %oh = 6, %ow = 6] add [%c = 2]
func.func @order(%x: tensor<2x6x6xf32>, %w: tensor<3x2xf32>) -> tensor<3x6x6xf32> {
  %y = te.compute [%f = 3, %oh = 6, %ow = 6] add [%c = 2] (%a = %x[%c, %ow, %oh], %b = %w[%f, %c]) : (tensor<2x6x6xf32>, tensor<3x2xf32>) -> tensor<3x6x6xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<3x6x6xf32>
}

// CHECK-LABEL: func.func @counts
// CHECK-NOT:     reinterpret_cast
// CHECK:         [%f = 3, %oh = 6, %ow = 6] add [%c = 2]
func.func @counts(%x: tensor<2x6x6xf32>, %w: tensor<3x2xf32>) -> tensor<3x6x6xf32> {
  %y = te.compute [%f = 3, %oh = 6, %ow = 6] add [%c = 2] (%a = %x[%c, %oh, %ow], %b = %w[%f, %c]) : (tensor<2x6x6xf32>, tensor<3x2xf32>) -> tensor<3x6x6xf32> {
    %i = arith.index_cast %ow : index to i32
    %j = arith.sitofp %i : i32 to f32
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %j : f32
    te.yield %q : f32
  }
  func.return %y : tensor<3x6x6xf32>
}

// The rows of what is written inside of a pad lie apart.
// CHECK-LABEL: func.func @inside
// CHECK:         te.kernel "k" {{.*}} memref<4x3x5xf32, strided<
// CHECK-NEXT:      [%f = 4, %oh = 3, %ow = 5] add [%c = 2] (%a = %{{.*}}[%c, %oh, %ow], %v = %{{.*}}[%f, %c, 0])
func.func @inside(%x: tensor<2x3x5xf32>, %w: tensor<4x2x1xf32>) -> tensor<4x5x7xf32> {
  %y = te.kernel "k" (%x_1 = %x, %w_1 = %w) : (tensor<2x3x5xf32>, tensor<4x2x1xf32>) -> tensor<4x3x5xf32> {
    %y_1 = te.compute [%f = 4, %oh = 3, %ow = 5] add [%c = 2, %kh = 1] (%a = %x_1[%c, %oh + %kh, %ow], %v = %w_1[%f, %c, %kh]) : (tensor<2x3x5xf32>, tensor<4x2x1xf32>) -> tensor<4x3x5xf32> {
      %p = arith.mulf %a, %v : f32
      te.yield %p : f32
    }
    te.yield %y_1 : tensor<4x3x5xf32>
  }
  %z = te.kernel "pad" (%y_1 = %y) : (tensor<4x3x5xf32>) -> tensor<4x5x7xf32> {
    %z_1 = te.compute [%f = 4, %i = 5, %j = 7] (%a = %y_1[%f, %i - 1, %j - 1] else 0.0 : f32) : (tensor<4x3x5xf32>) -> tensor<4x5x7xf32> {
      te.yield %a : f32
    }
    te.yield %z_1 : tensor<4x5x7xf32>
  }
  func.return %z : tensor<4x5x7xf32>
}

// The mean over rows and columns is one over pixels; images of a batch and their channels are rows of it.
// CHECK-LABEL: func.func @mean
// CHECK:         memref<2x3x5x7xf32> to memref<6x35xf32>
// CHECK:         te.kernel "k"
// CHECK-NEXT:      [%n_c = 6] add [%h_w = 35] (%a = %{{.*}}[%n_c, %h_w])
// CHECK:           [%{{.*}} = 6] (%{{.*}} = %{{.*}}[%{{.*}}])
func.func @mean(%x: tensor<2x3x5x7xf32>) -> tensor<2x3xf32> {
  %z = te.kernel "k" (%x_1 = %x) : (tensor<2x3x5x7xf32>) -> tensor<2x3xf32> {
    %y = te.compute [%n = 2, %c = 3] add [%h = 5, %w = 7] (%a = %x_1[%n, %c, %h, %w]) : (tensor<2x3x5x7xf32>) -> tensor<2x3xf32> {
      te.yield %a : f32
    }
    %z_1 = te.compute [%n = 2, %c = 3] (%a = %y[%n, %c]) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
      %s = arith.constant 35.0 : f32
      %q = arith.divf %a, %s : f32
      te.yield %q : f32
    }
    te.yield %z_1 : tensor<2x3xf32>
  }
  func.return %z : tensor<2x3xf32>
}

// What is summed on both sides of an axis that stays is no row; the windows of a pool keep theirs too.
// CHECK-LABEL: func.func @around
// CHECK-NOT:     reinterpret_cast
// CHECK:         [%c = 3] max [%h = 5, %w = 7] (%a = %{{.*}}[%h, %c, %w])
func.func @around(%x: tensor<5x3x7xf32>) -> tensor<3xf32> {
  %y = te.compute [%c = 3] max [%h = 5, %w = 7] (%a = %x[%h, %c, %w]) : (tensor<5x3x7xf32>) -> tensor<3xf32> {
    te.yield %a : f32
  }
  func.return %y : tensor<3xf32>
}

// CHECK-LABEL: func.func @pool
// CHECK-NOT:     reinterpret_cast
// CHECK:         [%c = 3, %oh = 2, %ow = 3] max [%kh = 3, %kw = 3]
func.func @pool(%x: tensor<3x5x7xf32>) -> tensor<3x2x3xf32> {
  %y = te.compute [%c = 3, %oh = 2, %ow = 3] max [%kh = 3, %kw = 3] (%a = %x[%c, %oh * 2 + %kh, %ow * 2 + %kw]) : (tensor<3x5x7xf32>) -> tensor<3x2x3xf32> {
    te.yield %a : f32
  }
  func.return %y : tensor<3x2x3xf32>
}

// RUN: stepwell-opt %s -p graph-fold-scales,canonicalize | filecheck %s
// RUN: stepwell-opt %s -p 'graph-fold-scales{fp=strict}' | filecheck %s --check-prefix STRICT

// STRICT-LABEL: func.func @matmul
// STRICT:         graph.batch_norm

// The layer's bias, the normalization and one more summand are one summand.
// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    %weights = graph.constant dense<{{\[\[}}2.000000e+00, 8.000000e+00], [6.000000e+00, 1.600000e+01]]>
// CHECK-NEXT:    %[[PRODUCT:.*]] = graph.matmul %x, %weights
// CHECK-NEXT:    %summand = graph.constant dense<[2.000000e+00, 3.000000e+00]>
// CHECK-NEXT:    %y = graph.add %[[PRODUCT]], %summand
// CHECK-NEXT:    func.return %y
func.func @matmul(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %scale = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %variance = graph.constant dense<[0.0, 0.0]> : tensor<2xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = graph.add %0, %b : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = graph.batch_norm %1, %scale, %b, %b, %variance axis = 1 epsilon = 2.500000e-01 : tensor<3x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  %y = graph.add %2, %one : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  func.return %y : tensor<3x2xf32>
}

// Factors of rows, weights that are not known, and a product that is needed itself.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: graph.mul
// CHECK:         func.return
func.func @others(%x: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %rows = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = graph.mul %0, %rows : tensor<2x2xf32>, tensor<2x1xf32> -> tensor<2x2xf32>
  %2 = graph.matmul %x, %v : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %3 = graph.mul %2, %two : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %4 = graph.matmul %v, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %5 = graph.mul %4, %two : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  func.return %1, %3, %4, %5 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// A normalization of channels behind a convolution.
// CHECK-LABEL: func.func @conv
// CHECK:         %summand = graph.constant dense<{{.*}}-1.000000e+00{{.*}}-6.000000e+00{{.*}}> : tensor<2x1xf32>
// CHECK-NEXT:    %weights = graph.constant dense<{{.*}}2.000000e+00{{.*}}8.000000e+00{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT:    graph.conv %x, %weights
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    func.return
func.func @conv(%x: tensor<3x1x5xf32>) -> tensor<3x2x5xf32> {
  %w = graph.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %b = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %variance = graph.constant dense<[0.0, 0.0]> : tensor<2xf32>
  %0 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %1 = graph.batch_norm %0, %b, %b, %b, %variance axis = 1 epsilon = 2.500000e-01 : tensor<3x2x5xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  func.return %1 : tensor<3x2x5xf32>
}

// A factor for each channel behind a convolution with a bias, a summand behind that, and a quotient behind all.
// CHECK-LABEL: func.func @conv_factor_and_summand
// CHECK-NEXT:    %[[WEIGHTS:.*]] = graph.constant dense<{{.*}}1.000000e+00{{.*}}3.000000e+00{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT:    %[[CONV:.*]] = graph.conv %x, %[[WEIGHTS]]
// CHECK-NEXT:    %[[SUMMAND:.*]] = graph.constant dense<{{.*}}1.500000e+00{{.*}}3.500000e+00{{.*}}> : tensor<2x1xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.add %[[CONV]], %[[SUMMAND]]
// CHECK-NEXT:    func.return %[[SUM]]
func.func @conv_factor_and_summand(%x: tensor<3x1x5xf32>) -> tensor<3x2x5xf32> {
  %w = graph.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %b = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %s = graph.constant dense<[[[2.0], [3.0]]]> : tensor<1x2x1xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %1 = graph.add %0, %b : tensor<3x2x5xf32>, tensor<2x1xf32> -> tensor<3x2x5xf32>
  %2 = graph.mul %s, %1 : tensor<1x2x1xf32>, tensor<3x2x5xf32> -> tensor<3x2x5xf32>
  %3 = graph.add %one, %2 : tensor<f32>, tensor<3x2x5xf32> -> tensor<3x2x5xf32>
  %4 = graph.div %3, %two : tensor<3x2x5xf32>, tensor<f32> -> tensor<3x2x5xf32>
  func.return %4 : tensor<3x2x5xf32>
}

// Factors along an axis of the image, a quotient by the convolution, summands along an axis of the image, a
// convolution that is needed itself, and a normalization whose numbers are not known.
// CHECK-LABEL: func.func @other_convs
// CHECK:         graph.conv
// CHECK-NEXT:    graph.mul
// CHECK:         graph.div
// CHECK:         graph.add
// CHECK-NEXT:    graph.add
// CHECK:         graph.mul
// CHECK:         graph.batch_norm
func.func @other_convs(%x: tensor<3x1x2xf32>, %v: tensor<2xf32>) -> (tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>) {
  %w = graph.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %columns = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x2xf32>, tensor<2x1x1xf32> -> tensor<3x2x2xf32>
  %1 = graph.mul %0, %columns : tensor<3x2x2xf32>, tensor<2xf32> -> tensor<3x2x2xf32>
  %2 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x2xf32>, tensor<2x1x1xf32> -> tensor<3x2x2xf32>
  %3 = graph.div %two, %2 : tensor<f32>, tensor<3x2x2xf32> -> tensor<3x2x2xf32>
  %4 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x2xf32>, tensor<2x1x1xf32> -> tensor<3x2x2xf32>
  %5 = graph.add %4, %b : tensor<3x2x2xf32>, tensor<2x1xf32> -> tensor<3x2x2xf32>
  %6 = graph.add %5, %columns : tensor<3x2x2xf32>, tensor<2xf32> -> tensor<3x2x2xf32>
  %7 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x2xf32>, tensor<2x1x1xf32> -> tensor<3x2x2xf32>
  %8 = graph.mul %7, %two : tensor<3x2x2xf32>, tensor<f32> -> tensor<3x2x2xf32>
  %9 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x2xf32>, tensor<2x1x1xf32> -> tensor<3x2x2xf32>
  %10 = graph.batch_norm %9, %v, %v, %v, %v axis = 1 epsilon = 2.500000e-01 : tensor<3x2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  func.return %1, %3, %6, %7, %8, %10 : tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>
}

// Two layers with summands are added: one keeps both. A summand that is the whole image's stays, and so do those of a
// sum that is needed itself.
// CHECK-LABEL: func.func @sum_of_layers
// CHECK:         %[[FIRST:.*]] = graph.conv %x
// CHECK:         %[[SECOND:.*]] = graph.conv %y
// CHECK-NEXT:    %[[SUMMAND:.*]] = graph.constant dense<{{.*}}1.100000e+01{{.*}}2.200000e+01{{.*}}> : tensor<2x1xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.add %[[FIRST]], %[[SUMMAND]]
// CHECK-NEXT:    %[[ALL:.*]] = graph.add %[[SUM]], %[[SECOND]]
// CHECK-NEXT:    func.return %[[ALL]]
func.func @sum_of_layers(%x: tensor<3x1x5xf32>, %y: tensor<3x1x5xf32>) -> tensor<3x2x5xf32> {
  %w = graph.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %t = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %u = graph.constant dense<[[10.0], [20.0]]> : tensor<2x1xf32>
  %0 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %1 = graph.add %0, %t : tensor<3x2x5xf32>, tensor<2x1xf32> -> tensor<3x2x5xf32>
  %2 = graph.conv %y, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %3 = graph.add %2, %u : tensor<3x2x5xf32>, tensor<2x1xf32> -> tensor<3x2x5xf32>
  %4 = graph.add %1, %3 : tensor<3x2x5xf32>, tensor<3x2x5xf32> -> tensor<3x2x5xf32>
  func.return %4 : tensor<3x2x5xf32>
}

// CHECK-LABEL: func.func @sums_that_stay
// CHECK-COUNT-6: graph.add
func.func @sums_that_stay(%x: tensor<3x1x5xf32>, %y: tensor<3x1x5xf32>) -> (tensor<3x2x5xf32>, tensor<3x2x5xf32>, tensor<3x2x5xf32>) {
  %w = graph.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %t = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %columns = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %0 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %1 = graph.add %0, %t : tensor<3x2x5xf32>, tensor<2x1xf32> -> tensor<3x2x5xf32>
  %2 = graph.conv %y, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %3 = graph.add %2, %columns : tensor<3x2x5xf32>, tensor<5xf32> -> tensor<3x2x5xf32>
  %4 = graph.add %1, %3 : tensor<3x2x5xf32>, tensor<3x2x5xf32> -> tensor<3x2x5xf32>
  %5 = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %6 = graph.add %5, %t : tensor<3x2x5xf32>, tensor<2x1xf32> -> tensor<3x2x5xf32>
  %7 = graph.conv %y, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<3x1x5xf32>, tensor<2x1x1xf32> -> tensor<3x2x5xf32>
  %8 = graph.add %7, %t : tensor<3x2x5xf32>, tensor<2x1xf32> -> tensor<3x2x5xf32>
  %9 = graph.add %6, %8 : tensor<3x2x5xf32>, tensor<3x2x5xf32> -> tensor<3x2x5xf32>
  func.return %4, %9, %8 : tensor<3x2x5xf32>, tensor<3x2x5xf32>, tensor<3x2x5xf32>
}

// RUN: stepwell-opt %s -p convert-graph-to-te | filecheck %s
// RUN: stepwell-opt %s -p graph-decompose | filecheck %s --check-prefix PHASES

// CHECK-LABEL: func.func @padded
// CHECK-NEXT:    te.compute [%n = 1, %f = 4, %oh = 4, %ow = 5] add [%c = 3, %kh = 3, %kw = 3] (%a = %x[%n, %c, %oh * 2 + %kh - 1, %ow * 2 + %kw - 1] else 0.000000e+00 : f32, %b = %w[%f, %c, %kh, %kw])
// CHECK-NEXT:      arith.mulf %a, %b
func.func @padded(%x: tensor<1x3x7x9xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x4x5xf32> {
  %r = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x3x7x9xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x4x5xf32>
  func.return %r : tensor<1x4x4x5xf32>
}

// Each channel by itself has no axis of channels; without padding there is no value outside.
// CHECK-LABEL: func.func @depthwise
// CHECK-NEXT:    te.compute [%n = 1, %c = 3, %ow = 5] add [%kw = 3] (%a = %x[%n, %c, %ow + %kw * 2], %b = %w[%c, 0, %kw])
func.func @depthwise(%x: tensor<1x3x9xf32>, %w: tensor<3x1x3xf32>) -> tensor<1x3x5xf32> {
  %r = graph.conv %x, %w strides = [1] dilations = [2] pad = [0], [0] groups = 3 : tensor<1x3x9xf32>, tensor<3x1x3xf32> -> tensor<1x3x5xf32>
  func.return %r : tensor<1x3x5xf32>
}

// CHECK-LABEL: func.func @grouped
// CHECK:         te.compute [%n = 1, %g = 2, %f = 3, %ow = 7] add [%c = 2, %kw = 3] (%{{.*}} = %image[%n, %g, %c, %ow + %kw], %{{.*}} = %weights[%g, %f, %c, %kw])
func.func @grouped(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x7xf32> {
  %r = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 2 : tensor<1x4x9xf32>, tensor<6x2x3xf32> -> tensor<1x6x7xf32>
  func.return %r : tensor<1x6x7xf32>
}

// Even elements of the result meet two of three places of the window, odd ones the third.
// PHASES-LABEL: func.func @transposed
// PHASES-NOT:     graph.conv_transpose
// PHASES:         graph.conv %{{.*}} strides = [1] dilations = [1] pad = [1], [1] groups = 1 : {{.*}}tensor<4x3x2xf32>
// PHASES:         graph.conv %{{.*}} strides = [1] dilations = [1] pad = [0], [1] groups = 1 : {{.*}}tensor<4x3x1xf32>
// PHASES:         graph.concat
func.func @transposed(%x: tensor<1x3x8xf32>, %w: tensor<3x4x3xf32>) -> tensor<1x4x17xf32> {
  %r = graph.conv_transpose %x, %w strides = [2] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x3x8xf32>, tensor<3x4x3xf32> -> tensor<1x4x17xf32>
  func.return %r : tensor<1x4x17xf32>
}

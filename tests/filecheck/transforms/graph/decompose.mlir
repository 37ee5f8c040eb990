// RUN: stepwell-opt %s -p graph-decompose --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    %max = graph.max %x axes = [1] keepdims {stepwell.nan_left_open} : tensor<2x3xf32> -> tensor<2x1xf32>
// CHECK-NEXT:    %shifted = graph.sub %x, %max
// CHECK-NEXT:    %exp = graph.exp %shifted
// CHECK-NEXT:    %sum = graph.sum %exp axes = [1] keepdims
// CHECK-NEXT:    %y = graph.div %exp, %sum
// CHECK-NEXT:    func.return %y
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.softmax %x axis = 1 : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @log_softmax
// CHECK:         %shifted = graph.sub %x, %max
// CHECK:         %log_sum = graph.log %sum
// CHECK-NEXT:    %y = graph.sub %shifted, %log_sum
func.func @log_softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.log_softmax %x axis = 0 : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// The mean that layer_norm decomposes into is decomposed as well.
// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT:    %sum = graph.sum %x axes = [1] keepdims
// CHECK-NEXT:    %count = graph.constant dense<3.000000e+00> : tensor<f64>
// CHECK-NEXT:    %mean = graph.div %sum, %count
// CHECK-NEXT:    %centered = graph.sub %x, %mean
// CHECK-NEXT:    %square = graph.mul %centered, %centered
// CHECK:         %variance = graph.div
// CHECK:         %rsqrt = graph.rsqrt
// CHECK-NEXT:    %normalized = graph.mul %centered, %rsqrt
// CHECK-NEXT:    %scaled = graph.mul %normalized, %s
// CHECK-NEXT:    %y = graph.add %scaled, %s
func.func @layer_norm(%x: tensor<2x3xf64>, %s: tensor<3xf64>) -> tensor<2x3xf64> {
  %y = graph.layer_norm %x, %s, %s axis = 1 epsilon = 1.0e-5 : tensor<2x3xf64>, tensor<3xf64>, tensor<3xf64> -> tensor<2x3xf64>
  func.return %y : tensor<2x3xf64>
}

// Each phase of a transposed convolution goes through the functions of elements that the result goes through, where they take the
// same for all phases.
// CHECK-LABEL: func.func @transposed
// CHECK:         [[first:%[^ ]+]] = graph.conv %x
// CHECK-NEXT:    [[biased:%[^ ]+]] = graph.add [[first]], %b : tensor<1x3x5xf32>, tensor<3x1xf32> -> tensor<1x3x5xf32>
// CHECK-NEXT:    graph.relu [[biased]]
// CHECK:         graph.conv %x
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.relu
// CHECK:         graph.concat
// CHECK-NOT:     graph.relu
// CHECK:         graph.add %{{.*}}, %c
func.func @transposed(%x: tensor<1x2x5xf32>, %w: tensor<2x3x2xf32>, %b: tensor<3x1xf32>, %c: tensor<10xf32>) -> tensor<1x3x10xf32> {
  %y = graph.conv_transpose %x, %w strides = [2] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x2x5xf32>, tensor<2x3x2xf32> -> tensor<1x3x10xf32>
  %a = graph.add %y, %b : tensor<1x3x10xf32>, tensor<3x1xf32> -> tensor<1x3x10xf32>
  %r = graph.relu %a : tensor<1x3x10xf32>
  %s = graph.add %r, %c : tensor<1x3x10xf32>, tensor<10xf32> -> tensor<1x3x10xf32>
  func.return %s : tensor<1x3x10xf32>
}

// The maximum of nothing is not defined, but the softmax of nothing is nothing.
// CHECK-LABEL: func.func @softmax_of_nothing
// CHECK-NEXT:    func.return %x
func.func @softmax_of_nothing(%x: tensor<2x0xf32>) -> tensor<2x0xf32> {
  %y = graph.softmax %x axis = 1 : tensor<2x0xf32>
  func.return %y : tensor<2x0xf32>
}

// -----

func.func @mean(%x: tensor<2x?xf32>) -> tensor<2xf32> {
  %y = graph.mean %x axes = [1] : tensor<2x?xf32> -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}
// CHECK: decompose.mlir:{{[0-9]+}}:8: found shape 2x? in graph.mean, expected static extents along axes [1]; give the extents

// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s
// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics -p graph-decompose | filecheck %s --check-prefix DECOMPOSED

// CHECK-LABEL: func.func @text
// DECOMPOSED-LABEL: func.func @text
func.func @text(%x: tensor<1x2x7x?xf32>, %y: tensor<1x7x9xui8>, %z: tensor<1x2x5xf32>) {
  // CHECK-NEXT: %a = graph.max_pool %x window = [1, 1, 3, 2] strides = [1, 1, 2, 1] dilations = [1, 1, 1, 2] low = [0, 0, 1, 0] high = [0, 0, 1, 0] : tensor<1x2x7x?xf32> -> tensor<1x2x4x?xf32>
  // DECOMPOSED-NEXT: graph.max_pool
  %a = graph.max_pool %x window = [1, 1, 3, 2] strides = [1, 1, 2, 1] dilations = [1, 1, 1, 2] low = [0, 0, 1, 0] high = [0, 0, 1, 0] : tensor<1x2x7x?xf32> -> tensor<1x2x4x?xf32>
  // A last window may reach beyond the padding.
  // CHECK-NEXT: %b = graph.sum_pool %y window = [1, 2, 2] strides = [1, 2, 2] dilations = [1, 1, 1] low = [0, 0, 0] high = [0, 0, 0] ceil : tensor<1x7x9xui8> -> tensor<1x4x5xui8>
  // DECOMPOSED-NEXT: graph.sum_pool
  %b = graph.sum_pool %y window = [1, 2, 2] strides = [1, 2, 2] dilations = [1, 1, 1] low = [0, 0, 0] high = [0, 0, 0] ceil : tensor<1x7x9xui8> -> tensor<1x4x5xui8>
  // CHECK-NEXT: %c = graph.argmax_pool %y window = [1, 2, 2] strides = [1, 2, 2] dilations = [1, 1, 1] low = [0, 0, 0] high = [0, 0, 0] : tensor<1x7x9xui8> -> tensor<1x3x4xi64>
  // DECOMPOSED-NEXT: graph.argmax_pool
  %c = graph.argmax_pool %y window = [1, 2, 2] strides = [1, 2, 2] dilations = [1, 1, 1] low = [0, 0, 0] high = [0, 0, 0] : tensor<1x7x9xui8> -> tensor<1x3x4xi64>
  // CHECK-NEXT: %d = graph.average_pool %z window = [1, 1, 3] strides = [1, 1, 1] dilations = [1, 1, 1] low = [0, 0, 1] high = [0, 0, 1] : tensor<1x2x5xf32> -> tensor<1x2x5xf32>
  // DECOMPOSED-NEXT: %[[SUM:.+]] = graph.sum_pool %z
  // DECOMPOSED-NEXT: %[[COUNT:.+]] = graph.constant dense<{{.*}}[2.000000e+00, 3.000000e+00, 3.000000e+00, 3.000000e+00, 2.000000e+00]{{.*}}> : tensor<1x1x5xf32>
  // DECOMPOSED-NEXT: graph.div %[[SUM]], %[[COUNT]]
  %d = graph.average_pool %z window = [1, 1, 3] strides = [1, 1, 1] dilations = [1, 1, 1] low = [0, 0, 1] high = [0, 0, 1] : tensor<1x2x5xf32> -> tensor<1x2x5xf32>
  // CHECK-NEXT: %e = graph.average_pool %z window = [1, 1, 3] strides = [1, 1, 1] dilations = [1, 1, 1] low = [0, 0, 1] high = [0, 0, 1] count_padding : tensor<1x2x5xf32> -> tensor<1x2x5xf32>
  // DECOMPOSED-NEXT: %[[PADDED:.+]] = graph.sum_pool %z
  // DECOMPOSED-NEXT: %[[THREE:.+]] = graph.constant dense<3.000000e+00> : tensor<f32>
  // DECOMPOSED-NEXT: graph.div %[[PADDED]], %[[THREE]]
  %e = graph.average_pool %z window = [1, 1, 3] strides = [1, 1, 1] dilations = [1, 1, 1] low = [0, 0, 1] high = [0, 0, 1] count_padding : tensor<1x2x5xf32> -> tensor<1x2x5xf32>
  func.return
}

// -----
// CHECK: pooling.mlir:{{[0-9]+:[0-9]+}}: found a window over 2 axes for shape 1x2x5, expected one extent for each axis; give 1 for those it does not reach along
func.func @rank(%x: tensor<1x2x5xf32>) {
  %r = graph.max_pool %x window = [3, 3] strides = [1, 1] dilations = [1, 1] low = [0, 0] high = [0, 0] : tensor<1x2x5xf32> -> tensor<1x2x5xf32>
  func.return
}

// -----
// CHECK: pooling.mlir:{{[0-9]+:[0-9]+}}: found a window that spans 5 elements on axis 0, which has 3 and 1 + 0 of padding, expected a window that fits; make it smaller
func.func @too_large(%x: tensor<3xf32>) {
  %r = graph.max_pool %x window = [3] strides = [1] dilations = [2] low = [1] high = [0] : tensor<3xf32> -> tensor<1xf32>
  func.return
}

// -----
// CHECK: pooling.mlir:{{[0-9]+:[0-9]+}}: found a window that lies in the padding at place 0 of axis 0, expected elements under it; pad less than the window's extent
func.func @in_the_padding(%x: tensor<3xf32>) {
  %r = graph.max_pool %x window = [2] strides = [1] dilations = [1] low = [2] high = [0] : tensor<3xf32> -> tensor<4xf32>
  func.return
}

// -----
// CHECK: pooling.mlir:{{[0-9]+:[0-9]+}}: found window [2], strides [0] and dilations [1], expected numbers of at least 1; mend them
func.func @stride(%x: tensor<3xf32>) {
  %r = graph.max_pool %x window = [2] strides = [0] dilations = [1] low = [0] high = [0] : tensor<3xf32> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: pooling.mlir:{{[0-9]+:[0-9]+}}: found a window of 1 and 2 and 1 and 1 and 1 extents, strides, dilations, low and high pads, expected as many of each; give one for each axis
func.func @lengths(%x: tensor<3xf32>) {
  %r = graph.max_pool %x window = [2] strides = [1, 1] dilations = [1] low = [0] high = [0] : tensor<3xf32> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: pooling.mlir:{{[0-9]+:[0-9]+}}: found result type tensor<3xf32>, expected tensor<2xf32>; write the expected type
func.func @result(%x: tensor<3xf32>) {
  %r = graph.max_pool %x window = [2] strides = [1] dilations = [1] low = [0] high = [0] : tensor<3xf32> -> tensor<3xf32>
  func.return
}

// -----
// CHECK: pooling.mlir:{{[0-9]+:[0-9]+}}: found a tensor without axes, expected one to move a window along
func.func @scalar(%x: tensor<f32>) {
  %r = graph.max_pool %x window = [] strides = [] dilations = [] low = [] high = [] : tensor<f32> -> tensor<f32>
  func.return
}

// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @blocks
// CHECK: graph.blocked_conv %x, %w strides = [2, 1] dilations = [1, 1] pad = [1, 0], [1, 0] blocks = 8, 4 : tensor<1x2x9x9x8xf32>, tensor<3x4x2x8x3x1xf32> -> tensor<1x3x5x9x4xf32>
func.func @blocks(%x: tensor<1x2x9x9x8xf32>, %w: tensor<3x4x2x8x3x1xf32>) {
  %y = graph.blocked_conv %x, %w strides = [2, 1] dilations = [1, 1] pad = [1, 0], [1, 0] blocks = 8, 4 : tensor<1x2x9x9x8xf32>, tensor<3x4x2x8x3x1xf32> -> tensor<1x3x5x9x4xf32>
  func.return
}

// -----
// CHECK: blocked_convolution.mlir:{{[0-9]+:[0-9]+}}: found an image of shape 1x2x9x9x8, expected a block of 4 channels as the last axis; give another block
func.func @image(%x: tensor<1x2x9x9x8xf32>, %w: tensor<4x2x4x3x3xf32>) {
  %y = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 4, 1 : tensor<1x2x9x9x8xf32>, tensor<4x2x4x3x3xf32> -> tensor<1x4x9x9xf32>
  func.return
}

// -----
// CHECK: blocked_convolution.mlir:{{[0-9]+:[0-9]+}}: found weights of shape 8x2x8x3x3, expected axes for blocks of 4 outputs and 8 channels; reshape them
func.func @weights(%x: tensor<1x2x9x9x8xf32>, %w: tensor<8x2x8x3x3xf32>) {
  %y = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 8, 4 : tensor<1x2x9x9x8xf32>, tensor<8x2x8x3x3xf32> -> tensor<1x2x9x9x4xf32>
  func.return
}

// -----
// CHECK: blocked_convolution.mlir:{{[0-9]+:[0-9]+}}: found blocks of 0 and 4, expected 1 at least; give others
func.func @none(%x: tensor<1x2x9x9xf32>, %w: tensor<2x4x2x3x3xf32>) {
  %y = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 0, 4 : tensor<1x2x9x9xf32>, tensor<2x4x2x3x3xf32> -> tensor<1x2x9x9x4xf32>
  func.return
}

// -----
// CHECK: blocked_convolution.mlir:{{[0-9]+:[0-9]+}}: found shapes 1x2x?x9x8 and 2x4x2x8x3x3, expected known extents; use graph.conv
func.func @open(%x: tensor<1x2x?x9x8xf32>, %w: tensor<2x4x2x8x3x3xf32>) {
  %y = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 8, 4 : tensor<1x2x?x9x8xf32>, tensor<2x4x2x8x3x3xf32> -> tensor<1x2x?x9x4xf32>
  func.return
}

// -----
// CHECK-LABEL: func.func @depthwise
// CHECK: graph.blocked_depthwise_conv %x, %w strides = [2, 1] dilations = [1, 1] pad = [1, 0], [1, 0] : tensor<1x2x9x9x8xf32>, tensor<2x3x1x8xf32> -> tensor<1x2x5x9x8xf32>
func.func @depthwise(%x: tensor<1x2x9x9x8xf32>, %w: tensor<2x3x1x8xf32>) {
  %y = graph.blocked_depthwise_conv %x, %w strides = [2, 1] dilations = [1, 1] pad = [1, 0], [1, 0] : tensor<1x2x9x9x8xf32>, tensor<2x3x1x8xf32> -> tensor<1x2x5x9x8xf32>
  func.return
}

// -----
// CHECK: blocked_convolution.mlir:{{[0-9]+:[0-9]+}}: found shapes 1x2x9x9x8 and 2x3x1x4, expected a batch, blocks, the window's axes and the channels of a block, and weights with all of these but the batch; reshape one
func.func @depthwise_blocks(%x: tensor<1x2x9x9x8xf32>, %w: tensor<2x3x1x4xf32>) {
  %y = graph.blocked_depthwise_conv %x, %w strides = [2, 1] dilations = [1, 1] pad = [1, 0], [1, 0] : tensor<1x2x9x9x8xf32>, tensor<2x3x1x4xf32> -> tensor<1x2x5x9x8xf32>
  func.return
}

// -----
// CHECK: blocked_convolution.mlir:{{[0-9]+:[0-9]+}}: found shapes 1x2x?x8 and 2x3x8, expected known extents; use graph.conv
func.func @depthwise_open(%x: tensor<1x2x?x8xf32>, %w: tensor<2x3x8xf32>) {
  %y = graph.blocked_depthwise_conv %x, %w strides = [1] dilations = [1] pad = [1], [1] : tensor<1x2x?x8xf32>, tensor<2x3x8xf32> -> tensor<1x2x?x8xf32>
  func.return
}

// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: winograd.mlir:{{[0-9]+:[0-9]+}}: found tiles of 3 outputs, expected 2 or 4; choose one of them
func.func @tile(%x: tensor<1x8x8x4xf32>) {
  %v = graph.winograd_input %x tile = 3 : tensor<1x8x8x4xf32> -> tensor<25x4x4xf32>
  func.return
}

// -----
// CHECK: winograd.mlir:{{[0-9]+:[0-9]+}}: found an image of shape 1x8x10x4, expected (n, h, w, c) with h and w a multiple of 4, and 2 more; pad it
func.func @image(%x: tensor<1x8x10x4xf32>) {
  %v = graph.winograd_input %x tile = 4 : tensor<1x8x10x4xf32> -> tensor<36x4x4xf32>
  func.return
}

// -----
// CHECK: winograd.mlir:{{[0-9]+:[0-9]+}}: found products of shape 36x5x4, expected (36, tiles, c) for images of 2 by 2 tiles of 4 by 4; mend one of them
func.func @products(%m: tensor<36x5x4xf32>) {
  %y = graph.winograd_output %m tile = 4 rows = 2 columns = 2 : tensor<36x5x4xf32> -> tensor<1x8x8x4xf32>
  func.return
}

// -----
// CHECK: winograd.mlir:{{[0-9]+:[0-9]+}}: found images of 0 by 2 tiles, expected at least one; give other numbers
func.func @none(%m: tensor<36x4x4xf32>) {
  %y = graph.winograd_output %m tile = 4 rows = 0 columns = 2 : tensor<36x4x4xf32> -> tensor<1x8x8x4xf32>
  func.return
}

// -----
// CHECK: winograd.mlir:{{[0-9]+:[0-9]+}}: found shape 1x?x10x4, expected static extents; give them
func.func @open(%x: tensor<1x?x10x4xf32>) {
  %v = graph.winograd_input %x tile = 4 : tensor<1x?x10x4xf32> -> tensor<36x4x4xf32>
  func.return
}

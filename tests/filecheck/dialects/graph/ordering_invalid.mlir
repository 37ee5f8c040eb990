// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found axis -1, expected it counted from 0; write 0
func.func @scan_axis(%x: tensor<4xf32>) {
  %r = graph.cumsum %x axis = -1 : tensor<4xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found updates of shape 3 for indices of shape 2, expected the same; reshape one
func.func @scatter_updates(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<3xf32>) {
  %r = graph.scatter_elements %x, %i, %u axis = 0 reduction = "none" : tensor<4xf32>, tensor<2xi64>, tensor<3xf32> -> tensor<4xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found updates of shape 2, expected 2x3, the shape of what the tuples name; reshape them
func.func @scatter_nd_updates(%x: tensor<4x3xf32>, %i: tensor<2x1xi64>, %u: tensor<2xf32>) {
  %r = graph.scatter_nd %x, %i, %u reduction = "none" : tensor<4x3xf32>, tensor<2x1xi64>, tensor<2xf32> -> tensor<4x3xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found reduction 'sub', expected one of none, add, mul, min, max; name one
func.func @scatter_reduction(%x: tensor<4xf32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  %r = graph.scatter_elements %x, %i, %u axis = 0 reduction = "sub" : tensor<4xf32>, tensor<2xi64>, tensor<2xf32> -> tensor<4xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found result type tensor<4xi32>, expected tensor<4xi64>; write the expected type
func.func @sort_order(%x: tensor<4xf32>) {
  %v, %i = graph.sort %x axis = 0 : tensor<4xf32> -> tensor<4xf32>, tensor<4xi32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found places [3, 5] of an axis of 4 elements, expected a first one and a greater one that is at most the number of elements; give two such numbers
func.func @sort_places(%x: tensor<4xf32>) {
  %v, %i = graph.sort %x axis = 0 places = [3, 5] : tensor<4xf32> -> tensor<2xf32>, tensor<2xi64>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found boxes of shape 1x4x3 and scores of shape 1x2x4, expected (batch, box, 4) and (batch, class, box); reshape them
func.func @boxes(%b: tensor<1x4x3xf32>, %s: tensor<1x2x4xf32>, %o: tensor<1x2x4xi64>, %t: tensor<f32>) {
  %r, %c = graph.non_max_suppression %b, %s, %o, %t, %t limit = 3 : tensor<1x4x3xf32>, tensor<1x2x4xf32>, tensor<1x2x4xi64>, tensor<f32>, tensor<f32> -> tensor<6x3xi64>, tensor<i64>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found shape 2x3, expected square matrices of known extents along the last two axes; reshape it
func.func @lu_square(%x: tensor<2x3xf32>) {
  %p, %o, %s = graph.lu %x : tensor<2x3xf32> -> tensor<2x3xf32>, tensor<2xi64>, tensor<f32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found matrices of shape 3x3 and right-hand sides of shape 2x4, expected columns of as many elements in as many batches; reshape them
func.func @triangular(%a: tensor<3x3xf32>, %b: tensor<2x4xf32>) {
  %x = graph.triangular_solve %a, %b : tensor<3x3xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found shape 3, expected matrices of known extents along the last two axes; reshape it
func.func @qr_matrix(%x: tensor<3xf32>) {
  %q, %r = graph.qr %x : tensor<3xf32> -> tensor<3x3xf32>, tensor<3x3xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found an update of shape 6x3 for 5x3, expected the same rank and no axis that is longer; slice or reshape it
func.func @update_shape(%x: tensor<5x3xf32>, %u: tensor<6x3xf32>, %i: tensor<i64>) {
  %r = graph.dynamic_update_slice %x, %u at %i, %i : tensor<5x3xf32>, tensor<6x3xf32> at tensor<i64>, tensor<i64> -> tensor<5x3xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found 1 indices for 2 axes, expected one for each; name that many
func.func @update_starts(%x: tensor<5x3xf32>, %u: tensor<2x3xf32>, %i: tensor<i64>) {
  %r = graph.dynamic_update_slice %x, %u at %i : tensor<5x3xf32>, tensor<2x3xf32> at tensor<i64> -> tensor<5x3xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found an index of shape 1, expected a single number; index it
func.func @update_index(%x: tensor<5xf32>, %u: tensor<2xf32>, %i: tensor<1xi64>) {
  %r = graph.dynamic_update_slice %x, %u at %i : tensor<5xf32>, tensor<2xf32> at tensor<1xi64> -> tensor<5xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found an operand of shape 5x3, expected one axis of known extent; reshape it
func.func @multiples_of_matrix(%x: tensor<5x3xf32>, %v: tensor<f32>, %i: tensor<i64>) {
  %r = graph.fill_multiples %x, %v of %i from %i : tensor<5x3xf32>, tensor<f32> of tensor<i64> from tensor<i64> -> tensor<5x3xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found a step of i32, expected i64; cast it
func.func @multiples_of_i32(%x: tensor<5xf32>, %v: tensor<f32>, %i: tensor<i32>, %j: tensor<i64>) {
  %r = graph.fill_multiples %x, %v of %i from %j : tensor<5xf32>, tensor<f32> of tensor<i32> from tensor<i64> -> tensor<5xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found length 17 in rows of 34, expected a divisor of that without prime factors above 13; take another algorithm, such as Bluestein's
func.func @fft_length(%a: tensor<4x34xf32>) {
  %re, %im = graph.fft %a, %a length = 17 : tensor<4x34xf32>, tensor<4x34xf32> -> tensor<4x34xf32>, tensor<4x34xf32>
  func.return
}

// -----
// CHECK: ordering_invalid.mlir:{{[0-9]+:[0-9]+}}: found length 34 in rows of 34, expected a divisor of that without prime factors above 13; take another algorithm, such as Bluestein's
func.func @real_fft_length(%a: tensor<4x34xf32>) {
  %re, %im = graph.real_fft %a length = 34 : tensor<4x34xf32> -> tensor<4x18xf32>, tensor<4x18xf32>
  func.return
}

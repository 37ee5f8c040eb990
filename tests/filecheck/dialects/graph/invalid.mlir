// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found element types f32 and i32, expected equal ones; cast an operand with graph.cast
func.func @binary_dtypes(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  %r = graph.add %x, %y : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shapes 2x3 and 2, expected extents that are equal or 1 counted from the last axis, but axis -1 has 3 and 2; reshape an operand
func.func @binary_shapes(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  %r = graph.add %x, %y : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found result type tensor<3x3xf32>, expected tensor<2x3xf32>; write the expected type
func.func @binary_result(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %r = graph.add %x, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<3x3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found result type tensor<2xf32>, expected tensor<2xi1>; write the expected type
func.func @comparison_result(%x: tensor<2xf32>) {
  %r = graph.lt %x, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found element type i32, expected one of f32, f64, f16, bf16; cast the operand
func.func @float_only(%x: tensor<2xi32>) {
  %r = graph.exp %x : tensor<2xi32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found element type i32, expected one of f32, f64, f16, bf16; cast the operand
func.func @div_of_integers(%x: tensor<2xi32>) {
  %r = graph.div %x, %x : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found element type f80, expected one of f32, f64, f16, bf16, i8, ui8, i16, ui16, i32, ui32, i64, ui64; use one of these
func.func @unknown_element(%x: tensor<2xf80>) {
  %r = graph.neg %x : tensor<2xf80>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found a value of type memref<2xf32>, expected a ranked tensor; operations on tensors take no others
func.func @not_a_tensor(%x: memref<2xf32>) {
  %r = graph.neg %x : memref<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found a condition of element type f32, expected i1; compare it with 0 by graph.ne
func.func @condition(%x: tensor<2xf32>) {
  %r = graph.where %x, %x, %x : tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found a cast to i4, expected one of f32, f64, f16, bf16, i8, ui8, i16, ui16, i32, ui32, i64, ui64, i1; use one of them
func.func @cast_target(%x: tensor<2xf32>) {
  %r = graph.cast %x : tensor<2xf32> -> tensor<2xi4>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found a bound of type i32, expected f32; write a number of that type
func.func @clip_bound(%x: tensor<2xf32>) {
  %r = graph.clip %x min = 0 : i32 : tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found approximate = "erf", expected "none" or "tanh"; write one of them
func.func @gelu_form(%x: tensor<2xf32>) {
  %r = graph.gelu %x approximate = "erf" : tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shapes 2x3 and 2x3, expected the last axis of the first to equal the second to last axis of the second, but they are 3 and 2; transpose or reshape an operand
func.func @matmul_inner(%x: tensor<2x3xf32>) {
  %r = graph.matmul %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shapes 2x3 and (), expected at least one axis each; multiply by a scalar with graph.mul
func.func @matmul_scalar(%x: tensor<2x3xf32>, %y: tensor<f32>) {
  %r = graph.matmul %x, %y : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found axis 2 for a tensor of rank 2, expected -2 to 1; name an axis of the tensor
func.func @axis_range(%x: tensor<2x3xf32>) {
  %r = graph.sum %x axes = [2] : tensor<2x3xf32> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found axes [1, 0], expected them counted from 0 and in order; write [0, 1]
func.func @axes_order(%x: tensor<2x3xf32>) {
  %r = graph.sum %x axes = [1, 0] : tensor<2x3xf32> -> tensor<f32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found axes [0, 0], expected each axis once; remove the repeats
func.func @axes_twice(%x: tensor<2x3xf32>) {
  %r = graph.sum %x axes = [0, 0] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found result type tensor<3xf32>, expected tensor<1x3xf32>; write the expected type
func.func @keepdims(%x: tensor<2x3xf32>) {
  %r = graph.sum %x axes = [0] keepdims : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shape 2x0 with no elements along axes [1], expected at least one: graph.max of nothing is not defined; reduce over other axes
func.func @max_of_nothing(%x: tensor<2x0xf32>) {
  %r = graph.max %x axes = [1] : tensor<2x0xf32> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shape 0 with no elements along axes [0], expected at least one: graph.argmax of nothing is not defined; reduce over other axes
func.func @argmax_of_nothing(%x: tensor<0xf32>) {
  %r = graph.argmax %x axis = 0 : tensor<0xf32> -> tensor<i64>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found element type i1, expected one of f32, f64, f16, bf16, i8, ui8, i16, ui16, i32, ui32, i64, ui64; cast the operand
func.func @sum_of_booleans(%x: tensor<2xi1>) {
  %r = graph.sum %x axes = [0] : tensor<2xi1> -> tensor<i1>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found element type i32, expected one of f32, f64, f16, bf16; cast the operand
func.func @mean_of_integers(%x: tensor<2xi32>) {
  %r = graph.mean %x axes = [0] : tensor<2xi32> -> tensor<i32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shape 2x3 of 6 elements and target [7], expected the same number of elements; mend the target
func.func @reshape_count(%x: tensor<2x3xf32>) {
  %r = graph.reshape %x : tensor<2x3xf32> -> tensor<7xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found target shape ?x?, expected at most one '?' in it; give the other extents
func.func @reshape_holes(%x: tensor<?x3xf32>) {
  %r = graph.reshape %x : tensor<?x3xf32> -> tensor<?x?xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found perm [0, 0] for a tensor of rank 2, expected each axis once; write a permutation
func.func @perm(%x: tensor<2x3xf32>) {
  %r = graph.transpose %x perm = [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found extent 2 on axis 0 of shape 2x3, expected 1: only such an axis can be squeezed; reshape to drop others
func.func @squeeze(%x: tensor<2x3xf32>) {
  %r = graph.squeeze %x axes = [0] : tensor<2x3xf32> -> tensor<3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shape 2x3 to broadcast to 3x3, expected extents that are 1 or equal to the target's, counted from the last axis; reshape the operand
func.func @broadcast_to(%x: tensor<2x3xf32>) {
  %r = graph.broadcast_to %x : tensor<2x3xf32> -> tensor<3x3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found shapes 2x3 and 2x4, expected equal ranks and equal extents on every axis but 0; pad or reshape an operand
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  %r = graph.concat %x, %y axis = 0 : tensor<2x3xf32>, tensor<2x4xf32> -> tensor<4x3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found sizes [1, 1] for axis 1 of shape 2x3, expected sizes of at least 0 that add up to its extent; mend the sizes
func.func @split(%x: tensor<2x3xf32>) {
  %r, %s = graph.split %x axis = 1 sizes = [1, 1] : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x1xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found 1 results, expected 2; name that many
func.func @split_results(%x: tensor<2x3xf32>) {
  %r = graph.split %x axis = 1 sizes = [1, 2] : tensor<2x3xf32> -> tensor<2x1xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found indices 0 to 5 on axis 0, expected them within its extent 4; mend the bounds
func.func @slice_outside(%x: tensor<4xf32>) {
  %r = graph.slice %x starts = [0] stops = [6] steps = [1] : tensor<4xf32> -> tensor<6xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found step 0 on axis 0, expected any other step; give one
func.func @slice_step(%x: tensor<4xf32>) {
  %r = graph.slice %x starts = [0] stops = [4] steps = [0] : tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found low [-1] and high [0] for a tensor of rank 1, expected one amount of at least 0 for each axis; cut with graph.slice
func.func @pad_negative(%x: tensor<4xf32>) {
  %r = graph.pad %x low = [-1] high = [0] value = 0.0 : f32 : tensor<4xf32> -> tensor<3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found a pad value of type i32, expected f32; write a number of that type
func.func @pad_value(%x: tensor<4xf32>) {
  %r = graph.pad %x low = [1] high = [0] value = 0 : i32 : tensor<4xf32> -> tensor<5xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found indices of element type f32, expected i32 or i64; cast them with graph.cast
func.func @gather_indices(%x: tensor<4xf32>) {
  %r = graph.gather %x, %x axis = 0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found no elements on axis 0 of shape 0, expected some to take from; give the axis elements
func.func @gather_nothing(%x: tensor<0xf32>, %i: tensor<2xi64>) {
  %r = graph.gather %x, %i axis = 0 : tensor<0xf32>, tensor<2xi64> -> tensor<2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found indices of shape 3x2 for a tensor of shape 2x4, expected the same rank, and at most its extents on every axis but 1; slice or reshape the indices
func.func @gather_elements_shape(%x: tensor<2x4xf32>, %i: tensor<3x2xi64>) {
  %r = graph.gather_elements %x, %i axis = 1 : tensor<2x4xf32>, tensor<3x2xi64> -> tensor<3x2xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found tuples of 2 indices behind 1 batch axes for a tensor of shape 3x4, expected at most its 2 axes; shorten the tuples
func.func @gather_nd_tuples(%x: tensor<3x4xf32>, %i: tensor<3x2xi64>) {
  %r = graph.gather_nd %x, %i batch_dims = 1 : tensor<3x4xf32>, tensor<3x2xi64> -> tensor<3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found 4 channels and weights for 3, expected as many; give other weights
func.func @conv_channels(%x: tensor<1x4x8xf32>, %w: tensor<2x3x3xf32>) {
  %r = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x4x8xf32>, tensor<2x3x3xf32> -> tensor<1x2x6xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found 3 groups of 4 channels and weights for 2, expected a number that divides both; give another
func.func @conv_groups(%x: tensor<1x4x8xf32>, %w: tensor<2x4x3xf32>) {
  %r = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 3 : tensor<1x4x8xf32>, tensor<2x4x3xf32> -> tensor<1x2x6xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found a result of extents 0 along the window, expected at least 1 each: the window does not fit the padded image; pad more
func.func @conv_room(%x: tensor<1x4x2xf32>, %w: tensor<2x4x3xf32>) {
  %r = graph.conv %x, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x4x2xf32>, tensor<2x4x3xf32> -> tensor<1x2x1xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found strides [0], expected at least 1 each; give others
func.func @conv_strides(%x: tensor<1x4x8xf32>, %w: tensor<4x2x3xf32>) {
  %r = graph.conv_transpose %x, %w strides = [0] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x4x8xf32>, tensor<4x2x3xf32> -> tensor<1x2x6xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found axis -1, expected it counted from 0; write 0
func.func @softmax_axis(%x: tensor<4xf32>) {
  %r = graph.softmax %x axis = -1 : tensor<4xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found scale of shape 4, expected one that broadcasts to the normalized shape 5; reshape it
func.func @layer_norm_scale(%x: tensor<4x5xf32>, %s: tensor<4xf32>) {
  %r = graph.layer_norm %x, %s axis = 1 epsilon = 1.0e-5 : tensor<4x5xf32>, tensor<4xf32> -> tensor<4x5xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found result type tensor<?xi64>, expected static extents; give them
func.func @iota_dynamic() {
  %r = graph.iota axis = 0 : tensor<?xi64>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found element type i1, expected one of f32, f64, f16, bf16, i8, ui8, i16, ui16, i32, ui32, i64, ui64; count in one of these and cast
func.func @iota_element() {
  %r = graph.iota axis = 0 : tensor<2xi1>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found the bits of f32 as i64, expected numbers of as many bits; use graph.cast
func.func @bitcast_width(%x: tensor<2xf32>) {
  %r = graph.bitcast %x : tensor<2xf32> -> tensor<2xi64>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found 0 and 8388608 elements of padding on axis 0, expected at most 4194304; pad less
func.func @window_padding(%x: tensor<9xf32>) {
  %r = graph.max_pool %x window = [3] strides = [1] dilations = [1] low = [0] high = [8388608] : tensor<9xf32> -> tensor<8388615xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found map (d0) -> (d0) for a view of rank 2 of a tensor of rank 1, expected a dimension for each axis of the result and an index for each of the operand; write these
func.func @view_rank(%x: tensor<9xf32>) {
  %r = graph.affine_view %x map = affine_map<(d0) -> (d0)> : tensor<9xf32> -> tensor<4x3xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found index (d0 mod 2), expected a sum of dimensions times numbers; write such a sum
func.func @view_index(%x: tensor<9xf32>) {
  %r = graph.affine_view %x map = affine_map<(d0) -> (d0 mod 2)> : tensor<9xf32> -> tensor<4xf32>
  func.return
}

// -----
// CHECK: invalid.mlir:{{[0-9]+:[0-9]+}}: found indices from -1 to 9 for axis 0 of extent 9, expected ones inside; make the result smaller
func.func @view_reach(%x: tensor<9xf32>) {
  %r = graph.affine_view %x map = affine_map<(d0, d1) -> (d0 * 4 - d1 + 1)> : tensor<9xf32> -> tensor<3x3xf32>
  func.return
}

// RUN: stepwell-opt %s -p graph-simplify-movement,canonicalize | filecheck %s

// CHECK-LABEL: func.func @reshapes
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %x : tensor<2x3xf32> -> tensor<3x2x1xf32>
// CHECK-NEXT:    func.return %[[R]], %x
func.func @reshapes(%x: tensor<2x3xf32>) -> (tensor<3x2x1xf32>, tensor<2x3xf32>) {
  %0 = graph.reshape %x : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = graph.expand_dims %0 axes = [2] : tensor<3x2xf32> -> tensor<3x2x1xf32>
  %2 = graph.expand_dims %x axes = [1] : tensor<2x3xf32> -> tensor<2x1x3xf32>
  %3 = graph.transpose %2 perm = [1, 0, 2] : tensor<2x1x3xf32> -> tensor<1x2x3xf32>
  %4 = graph.squeeze %3 axes = [0] : tensor<1x2x3xf32> -> tensor<2x3xf32>
  func.return %1, %4 : tensor<3x2x1xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @reductions
// CHECK-NEXT:    graph.max %x axes = [1, 2] keepdims : tensor<2x3x4xf32> -> tensor<2x1x1xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.sum %x axes = [2] : tensor<2x3x4xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    graph.transpose %[[SUM]] perm = [1, 0]
func.func @reductions(%x: tensor<2x3x4xf32>) -> (tensor<2x1x1xf32>, tensor<3x2xf32>) {
  %0 = graph.max %x axes = [1, 2] : tensor<2x3x4xf32> -> tensor<2xf32>
  %1 = graph.expand_dims %0 axes = [1, 2] : tensor<2xf32> -> tensor<2x1x1xf32>
  %2 = graph.transpose %x perm = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %3 = graph.sum %2 axes = [1] : tensor<3x4x2xf32> -> tensor<3x2xf32>
  func.return %1, %3 : tensor<2x1x1xf32>, tensor<3x2xf32>
}

// What axes repeat that are not reduced is reduced once; along those that are, it counts as often as it is there.
// CHECK-LABEL: func.func @reductions_of_repeated
// CHECK-NEXT:    %[[ROW:.*]] = graph.reshape %x
// CHECK-NEXT:    %[[SUM:.*]] = graph.sum %[[ROW]] axes = [1] keepdims : tensor<1x3xf32> -> tensor<1x1xf32>
// CHECK-NEXT:    %[[ONE:.*]] = graph.reshape %[[SUM]]
// CHECK-NEXT:    graph.broadcast_to %[[ONE]] : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT:    %[[ALL:.*]] = graph.broadcast_to %y : tensor<2x1xf32> -> tensor<2x5xf32>
// CHECK-NEXT:    graph.sum %[[ALL]] axes = [1] : tensor<2x5xf32> -> tensor<2xf32>
func.func @reductions_of_repeated(%x: tensor<3xf32>, %y: tensor<2x1xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %0 = graph.broadcast_to %x : tensor<3xf32> -> tensor<4x3xf32>
  %1 = graph.sum %0 axes = [1] : tensor<4x3xf32> -> tensor<4xf32>
  %2 = graph.broadcast_to %y : tensor<2x1xf32> -> tensor<2x5xf32>
  %3 = graph.sum %2 axes = [1] : tensor<2x5xf32> -> tensor<2xf32>
  func.return %1, %3 : tensor<4xf32>, tensor<2xf32>
}

// With keepdims and without, the same elements are added up once.
// CHECK-LABEL: func.func @reduced_once
// CHECK-NEXT:    %[[ONCE:.*]] = graph.mean %x axes = [0] : tensor<3x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %[[KEPT:.*]] = graph.{{expand_dims|reshape}} %[[ONCE]]
// CHECK-NEXT:    func.return %[[ONCE]], %[[KEPT]]
func.func @reduced_once(%x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  %0 = graph.mean %x axes = [0] : tensor<3x4xf32> -> tensor<4xf32>
  %1 = graph.mean %x axes = [0] keepdims : tensor<3x4xf32> -> tensor<1x4xf32>
  func.return %0, %1 : tensor<4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func.func @reduced_once_with_keepdims_first
// CHECK-NEXT:    %[[ONCE:.*]] = graph.max %x axes = [1] keepdims : tensor<3x4xf32> -> tensor<3x1xf32>
// CHECK-NEXT:    %[[LEFT:.*]] = graph.{{squeeze|reshape}} %[[ONCE]]
// CHECK-NEXT:    func.return %[[ONCE]], %[[LEFT]]
func.func @reduced_once_with_keepdims_first(%x: tensor<3x4xf32>) -> (tensor<3x1xf32>, tensor<3xf32>) {
  %0 = graph.max %x axes = [1] keepdims : tensor<3x4xf32> -> tensor<3x1xf32>
  %1 = graph.max %x axes = [1] : tensor<3x4xf32> -> tensor<3xf32>
  func.return %0, %1 : tensor<3x1xf32>, tensor<3xf32>
}

// Over other axes, or joined otherwise, they are others.
// CHECK-LABEL: func.func @reduced_otherwise
// CHECK-NEXT:    graph.sum %x axes = [0] : tensor<3x3xf32> -> tensor<3xf32>
// CHECK-NEXT:    graph.sum %x axes = [1] keepdims : tensor<3x3xf32> -> tensor<3x1xf32>
// CHECK-NEXT:    graph.max %x axes = [0] keepdims : tensor<3x3xf32> -> tensor<1x3xf32>
func.func @reduced_otherwise(%x: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<3x1xf32>, tensor<1x3xf32>) {
  %0 = graph.sum %x axes = [0] : tensor<3x3xf32> -> tensor<3xf32>
  %1 = graph.sum %x axes = [1] keepdims : tensor<3x3xf32> -> tensor<3x1xf32>
  %2 = graph.max %x axes = [0] keepdims : tensor<3x3xf32> -> tensor<1x3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3x1xf32>, tensor<1x3xf32>
}

// A sum over two axes in another order adds up in another order.
// CHECK-LABEL: func.func @order
// CHECK-NEXT:    graph.transpose
// CHECK-NEXT:    graph.sum
func.func @order(%x: tensor<2x3x4xf32>) -> tensor<2xf32> {
  %0 = graph.transpose %x perm = [2, 1, 0] : tensor<2x3x4xf32> -> tensor<4x3x2xf32>
  %1 = graph.sum %0 axes = [0, 1] : tensor<4x3x2xf32> -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// CHECK-LABEL: func.func @pads
// CHECK-NEXT:    graph.pad %x low = [1, 2] high = [0, 1]
// CHECK-NEXT:    graph.slice %x starts = [0, 1] stops = [2, 3] steps = [1, 1]
// CHECK-NEXT:    func.return
func.func @pads(%x: tensor<2x3xf32>) -> (tensor<3x6xf32>, tensor<2x2xf32>) {
  %0 = graph.pad %x low = [1, 0] high = [0, 1] value = 0.0 : f32 : tensor<2x3xf32> -> tensor<3x4xf32>
  %1 = graph.pad %0 low = [0, 2] high = [0, 0] value = 0.0 : f32 : tensor<3x4xf32> -> tensor<3x6xf32>
  %2 = graph.pad %x low = [1, 1] high = [0, 0] value = 0.0 : f32 : tensor<2x3xf32> -> tensor<3x4xf32>
  %3 = graph.slice %2 starts = [1, 2] stops = [3, 4] steps = [1, 1] : tensor<3x4xf32> -> tensor<2x2xf32>
  func.return %1, %3 : tensor<3x6xf32>, tensor<2x2xf32>
}

// Pads of different numbers, and a slice that has pads in it.
// CHECK-LABEL: func.func @other_pads
// CHECK-NEXT:    graph.pad
// CHECK-NEXT:    graph.pad
// CHECK-NEXT:    graph.slice
func.func @other_pads(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = graph.pad %x low = [1] high = [0] value = 0.0 : f32 : tensor<3xf32> -> tensor<4xf32>
  %1 = graph.pad %0 low = [1] high = [0] value = -0.0 : f32 : tensor<4xf32> -> tensor<5xf32>
  %2 = graph.slice %1 starts = [0] stops = [3] steps = [1] : tensor<5xf32> -> tensor<3xf32>
  func.return %2 : tensor<3xf32>
}

// CHECK-LABEL: func.func @concats
// CHECK-NEXT:    graph.concat %x, %y, %x axis = 0
// CHECK-NEXT:    graph.slice %y starts = [0] stops = [2] steps = [1]
// CHECK-NEXT:    func.return %{{.*}}, %{{.*}}, %x
func.func @concats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<12xf32>, tensor<2xf32>, tensor<4xf32>) {
  %0 = graph.concat %x, %y axis = 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  %1 = graph.concat %0, %x axis = 0 : tensor<8xf32>, tensor<4xf32> -> tensor<12xf32>
  %2 = graph.concat %x, %y axis = 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  %3 = graph.slice %2 starts = [4] stops = [6] steps = [1] : tensor<8xf32> -> tensor<2xf32>
  %4, %5 = graph.split %x axis = 0 sizes = [1, 3] : tensor<4xf32> -> tensor<1xf32>, tensor<3xf32>
  %6 = graph.concat %4, %5 axis = 0 : tensor<1xf32>, tensor<3xf32> -> tensor<4xf32>
  func.return %1, %3, %6 : tensor<12xf32>, tensor<2xf32>, tensor<4xf32>
}

// Parts in another order, and a slice across both.
// CHECK-LABEL: func.func @other_concats
// CHECK:         graph.concat
// CHECK:         graph.concat
// CHECK-NEXT:    graph.slice
func.func @other_concats(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %0, %1 = graph.split %x axis = 0 sizes = [1, 3] : tensor<4xf32> -> tensor<1xf32>, tensor<3xf32>
  %2 = graph.concat %1, %0 axis = 0 : tensor<3xf32>, tensor<1xf32> -> tensor<4xf32>
  %3 = graph.concat %x, %y axis = 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
  %4 = graph.slice %3 starts = [3] stops = [5] steps = [1] : tensor<8xf32> -> tensor<2xf32>
  func.return %2, %4 : tensor<4xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @broadcasts
// CHECK-NEXT:    graph.add %x, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %[[WIDE:.*]] = graph.broadcast_to %y
// CHECK-NEXT:    graph.mul %[[WIDE]], %y
func.func @broadcasts(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = graph.broadcast_to %y : tensor<3xf32> -> tensor<2x3xf32>
  %1 = graph.add %x, %0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = graph.broadcast_to %y : tensor<3xf32> -> tensor<2x3xf32>
  %3 = graph.mul %2, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @padded_convolution
// CHECK-NEXT:    graph.conv %x, %w strides = [2] dilations = [1] pad = [3], [2] groups = 1
// CHECK-NEXT:    %[[CHANNELS:.*]] = graph.pad
// CHECK-NEXT:    graph.conv %[[CHANNELS]], %v
// CHECK-NEXT:    %[[ONES:.*]] = graph.pad
// CHECK-NEXT:    graph.conv %[[ONES]], %w
func.func @padded_convolution(%x: tensor<1x2x8xf32>, %w: tensor<4x2x3xf32>, %v: tensor<4x3x3xf32>) -> (tensor<1x4x6xf32>, tensor<1x4x6xf32>, tensor<1x4x8xf32>) {
  %0 = graph.pad %x low = [0, 0, 2] high = [0, 0, 1] value = 0.0 : f32 : tensor<1x2x8xf32> -> tensor<1x2x11xf32>
  %1 = graph.conv %0, %w strides = [2] dilations = [1] pad = [1], [1] groups = 1 : tensor<1x2x11xf32>, tensor<4x2x3xf32> -> tensor<1x4x6xf32>
  %2 = graph.pad %x low = [0, 1, 0] high = [0, 0, 0] value = 0.0 : f32 : tensor<1x2x8xf32> -> tensor<1x3x8xf32>
  %3 = graph.conv %2, %v strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  %4 = graph.pad %x low = [0, 0, 1] high = [0, 0, 1] value = 1.0 : f32 : tensor<1x2x8xf32> -> tensor<1x2x10xf32>
  %5 = graph.conv %4, %w strides = [1] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x2x10xf32>, tensor<4x2x3xf32> -> tensor<1x4x8xf32>
  func.return %1, %3, %5 : tensor<1x4x6xf32>, tensor<1x4x6xf32>, tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func @gathers
// CHECK:         %[[PART:.*]] = graph.slice %x starts = [1, 0] stops = [2, 4] steps = [1, 1]
// CHECK-NEXT:    graph.reshape %[[PART]] : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    graph.slice %x starts = [0, 3] stops = [3, -1] steps = [1, -2]
// CHECK-NEXT:    graph.gather
func.func @gathers(%x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x2xf32>, tensor<3x4xf32>) {
  %one = graph.constant dense<-2> : tensor<i64>
  %odd = graph.constant dense<[3, 1]> : tensor<2xi64>
  %others = graph.constant dense<[0, 1, 1]> : tensor<3xi64>
  %0 = graph.gather %x, %one axis = 0 : tensor<3x4xf32>, tensor<i64> -> tensor<4xf32>
  %1 = graph.gather %x, %odd axis = 1 : tensor<3x4xf32>, tensor<2xi64> -> tensor<3x2xf32>
  %2 = graph.gather %x, %others axis = 0 : tensor<3x4xf32>, tensor<3xi64> -> tensor<3x4xf32>
  func.return %0, %1, %2 : tensor<4xf32>, tensor<3x2xf32>, tensor<3x4xf32>
}

// One element in all places is that in places of another shape, too; a row is not.
// CHECK-LABEL: func.func @one_element_everywhere
// CHECK-NEXT:    graph.broadcast_to %x : tensor<f32> -> tensor<6xf32>
// CHECK-NEXT:    %[[ONE:.*]] = graph.reshape %y : tensor<1x1xf32> -> tensor<f32>
// CHECK-NEXT:    graph.broadcast_to %[[ONE]] : tensor<f32> -> tensor<3x2xf32>
// CHECK-NEXT:    %[[ROWS:.*]] = graph.broadcast_to %z
// CHECK-NEXT:    graph.reshape %[[ROWS]]
func.func @one_element_everywhere(%x: tensor<f32>, %y: tensor<1x1xf32>, %z: tensor<3xf32>) -> (tensor<6xf32>, tensor<3x2xf32>, tensor<6xf32>) {
  %0 = graph.broadcast_to %x : tensor<f32> -> tensor<2x3xf32>
  %1 = graph.reshape %0 : tensor<2x3xf32> -> tensor<6xf32>
  %2 = graph.broadcast_to %y : tensor<1x1xf32> -> tensor<2x3xf32>
  %3 = graph.transpose %2 perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %4 = graph.broadcast_to %z : tensor<3xf32> -> tensor<2x3xf32>
  %5 = graph.reshape %4 : tensor<2x3xf32> -> tensor<6xf32>
  func.return %1, %3, %5 : tensor<6xf32>, tensor<3x2xf32>, tensor<6xf32>
}

// Frames: indices that are affine in their position, found through sums, products with numbers and new axes.
// CHECK-LABEL: func.func @frames
// CHECK-NEXT:    %r = graph.affine_view %x map = affine_map<(d0, d1) -> (((d0 * 2) + d1))> : tensor<9xf32> -> tensor<4x3xf32>
// CHECK-NEXT:    func.return %r
func.func @frames(%x: tensor<9xf32>) -> tensor<4x3xf32> {
  %two = graph.constant dense<2> : tensor<i64>
  %i = graph.iota axis = 0 : tensor<4xi64>
  %starts = graph.mul %i, %two : tensor<4xi64>, tensor<i64> -> tensor<4xi64>
  %rows = graph.expand_dims %starts axes = [1] : tensor<4xi64> -> tensor<4x1xi64>
  %j = graph.iota axis = 0 : tensor<3xi64>
  %places = graph.add %rows, %j : tensor<4x1xi64>, tensor<3xi64> -> tensor<4x3xi64>
  %r = graph.gather %x, %places axis = 0 : tensor<9xf32>, tensor<4x3xi64> -> tensor<4x3xf32>
  func.return %r : tensor<4x3xf32>
}


// A diagonal, by tuples.
// CHECK-LABEL: func.func @diagonal
// CHECK-NEXT:    %r = graph.affine_view %x map = affine_map<(d0) -> (d0, (d0 + 1))> : tensor<3x4xf32> -> tensor<3xf32>
func.func @diagonal(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %places = graph.constant dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>
  %r = graph.gather_nd %x, %places batch_dims = 0 : tensor<3x4xf32>, tensor<3x2xi64> -> tensor<3xf32>
  func.return %r : tensor<3xf32>
}


// Out of range, where indices are moved to the nearest, and wrapping, they are not affine.
// CHECK-LABEL: func.func @not_affine
// CHECK-COUNT-2: graph.gather
func.func @not_affine(%x: tensor<9xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %i = graph.iota axis = 0 : tensor<4x3xi64>
  %j = graph.iota axis = 1 : tensor<4x3xi64>
  %four = graph.constant dense<4> : tensor<i64>
  %rows = graph.mul %i, %four : tensor<4x3xi64>, tensor<i64> -> tensor<4x3xi64>
  %places = graph.add %rows, %j : tensor<4x3xi64>, tensor<4x3xi64> -> tensor<4x3xi64>
  %0 = graph.gather %x, %places axis = 0 : tensor<9xf32>, tensor<4x3xi64> -> tensor<4x3xf32>
  %k = graph.iota axis = 0 : tensor<4xi8>
  %hundred = graph.constant dense<100> : tensor<i8>
  %wrapped = graph.mul %k, %hundred : tensor<4xi8>, tensor<i8> -> tensor<4xi8>
  %wide = graph.cast %wrapped : tensor<4xi8> -> tensor<4xi32>
  %1 = graph.gather %x, %wide axis = 0 : tensor<9xf32>, tensor<4xi32> -> tensor<4xf32>
  func.return %0, %1 : tensor<4x3xf32>, tensor<4xf32>
}

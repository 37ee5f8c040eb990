// RUN: stepwell-opt %s -p 'graph-compute-by-images{threads=1 target=zen4}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-compute-by-images{threads=3 target=zen4}' | filecheck %s --check-prefix THREE
// RUN: stepwell-opt %s -p 'graph-compute-by-images{threads=1 target=zen4}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'graph-compute-by-images{threads=1 target=zen4 opt=quick}' | filecheck %s --check-prefix QUICK
// QUICK-NOT: graph.scan

// Layers of as many images as the last cache has room for; the sum over the images needs all of them, and comes after the loop.
// REMARK: 4 operations on 12 images 4 images at a time: what lies between them stays in the last cache, predicted to save
// CHECK-LABEL: func.func @network
// CHECK:         %[[X:.*]] = graph.reshape %x : tensor<12x64x112x112xf32> -> tensor<3x4x64x112x112xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.scan 3 over (%[[I:.*]] = %[[X]]) : {{.*}} -> tensor<3x4x64x1x1xf32> {
// CHECK-NEXT:      %[[A:.*]] = graph.conv %[[I]], %w {{.*}} -> tensor<4x64x112x112xf32>
// CHECK-NEXT:      %[[B:.*]] = graph.add %[[A]], %bias
// CHECK-NEXT:      %[[C:.*]] = graph.conv %[[B]], %w {{.*}} -> tensor<4x64x112x112xf32>
// CHECK-NEXT:      %[[D:.*]] = graph.max %[[C]] axes = [2, 3] keepdims
// CHECK-NEXT:      graph.yield %[[D]]
// CHECK:         %[[R:.*]] = graph.reshape %[[S]]
// CHECK-NEXT:    graph.sum %[[R]] axes = [0]

// Three threads share three of them.
// THREE-LABEL: func.func @network
// THREE:         graph.scan 4 over {{.*}} -> tensor<4x3x64x1x1xf32>
func.func @network(%x: tensor<12x64x112x112xf32>, %bias: tensor<64x1x1xf32>) -> tensor<64x1x1xf32> {
  %w = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<12x64x112x112xf32>, tensor<64x64x3x3xf32> -> tensor<12x64x112x112xf32>
  %b = graph.add %a, %bias : tensor<12x64x112x112xf32>, tensor<64x1x1xf32> -> tensor<12x64x112x112xf32>
  %c = graph.conv %b, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<12x64x112x112xf32>, tensor<64x64x3x3xf32> -> tensor<12x64x112x112xf32>
  %d = graph.max %c axes = [2, 3] keepdims : tensor<12x64x112x112xf32> -> tensor<12x64x1x1xf32>
  %s = graph.sum %d axes = [0] : tensor<12x64x1x1xf32> -> tensor<64x1x1xf32>
  func.return %s : tensor<64x1x1xf32>
}

// The images of the whole batch stay in the last cache.
// REMARK: not computed by images: 2 operations on all 12 images at once are predicted to wait no longer for memory
// CHECK-LABEL: func.func @small
// CHECK-NOT:     graph.scan
func.func @small(%x: tensor<12x8x14x14xf32>) -> tensor<12x8x14x14xf32> {
  %w = graph.constant dense<0.5> : tensor<8x8x3x3xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<12x8x14x14xf32>, tensor<8x8x3x3xf32> -> tensor<12x8x14x14xf32>
  %b = graph.conv %a, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<12x8x14x14xf32>, tensor<8x8x3x3xf32> -> tensor<12x8x14x14xf32>
  func.return %b : tensor<12x8x14x14xf32>
}

// A convolution alone has nothing between layers.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:     graph.scan
func.func @alone(%x: tensor<64x64x112x112xf32>) -> tensor<64x64x110x110xf32> {
  %w = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<64x64x112x112xf32>, tensor<64x64x3x3xf32> -> tensor<64x64x110x110xf32>
  func.return %a : tensor<64x64x110x110xf32>
}

// A function of several blocks stays as it is.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%more: i1, %x: tensor<4xf32>) {
  cf.cond_br %more, ^again, ^end
^again:
  cf.br ^end
^end:
  func.return
}

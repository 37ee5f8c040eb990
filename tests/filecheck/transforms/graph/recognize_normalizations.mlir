// RUN: stepwell-opt %s -p graph-reduce-strength,graph-recognize-normalizations,canonicalize | filecheck %s
// RUN: stepwell-opt %s -p 'graph-recognize-normalizations{fp=strict}' | filecheck %s --check-prefix STRICT

// STRICT-LABEL: func.func @layer_norm
// STRICT-NOT: graph.layer_norm
// STRICT-LABEL: func.func @other_norms

// As PyTorch exports it before opset 17.
// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT:    graph.layer_norm %x, %scale, %bias axis = 1 epsilon = 9.9999997{{.*}}e-06
// CHECK-NEXT:    func.return
func.func @layer_norm(%x: tensor<2x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<2x8xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %epsilon = graph.constant dense<1.0e-5> : tensor<f32>
  %mean = graph.mean %x axes = [1] keepdims : tensor<2x8xf32> -> tensor<2x1xf32>
  %0 = graph.sub %x, %mean : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %1 = graph.pow %0, %two : tensor<2x8xf32>, tensor<f32> -> tensor<2x8xf32>
  %2 = graph.mean %1 axes = [1] keepdims : tensor<2x8xf32> -> tensor<2x1xf32>
  %3 = graph.add %2, %epsilon : tensor<2x1xf32>, tensor<f32> -> tensor<2x1xf32>
  %4 = graph.sqrt %3 : tensor<2x1xf32>
  %5 = graph.div %0, %4 : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %6 = graph.mul %5, %scale : tensor<2x8xf32>, tensor<8xf32> -> tensor<2x8xf32>
  %7 = graph.add %6, %bias : tensor<2x8xf32>, tensor<8xf32> -> tensor<2x8xf32>
  func.return %7 : tensor<2x8xf32>
}

// Over an axis that is not the last, and with a factor for each row.
// CHECK-LABEL: func.func @other_norms
// CHECK:         graph.sqrt
// CHECK:         graph.layer_norm %x axis = 1 epsilon
// CHECK-NEXT:    graph.mul %{{.*}}, %rows
func.func @other_norms(%x: tensor<2x8xf32>, %rows: tensor<2x1xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %epsilon = graph.constant dense<1.0e-5> : tensor<f32>
  %mean = graph.mean %x axes = [0] keepdims : tensor<2x8xf32> -> tensor<1x8xf32>
  %0 = graph.sub %x, %mean : tensor<2x8xf32>, tensor<1x8xf32> -> tensor<2x8xf32>
  %1 = graph.mul %0, %0 : tensor<2x8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
  %2 = graph.mean %1 axes = [0] keepdims : tensor<2x8xf32> -> tensor<1x8xf32>
  %3 = graph.add %2, %epsilon : tensor<1x8xf32>, tensor<f32> -> tensor<1x8xf32>
  %4 = graph.sqrt %3 : tensor<1x8xf32>
  %5 = graph.div %0, %4 : tensor<2x8xf32>, tensor<1x8xf32> -> tensor<2x8xf32>
  %6 = graph.layer_norm %x axis = 1 epsilon = 1.0e-5 : tensor<2x8xf32> -> tensor<2x8xf32>
  %7 = graph.mul %6, %rows : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  func.return %5, %7 : tensor<2x8xf32>, tensor<2x8xf32>
}

// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    graph.softmax %x axis = 1
// CHECK-NEXT:    graph.log_softmax %x axis = 0
// CHECK-NEXT:    func.return
func.func @softmax(%x: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %max = graph.max %x axes = [1] keepdims : tensor<2x8xf32> -> tensor<2x1xf32>
  %0 = graph.sub %x, %max : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %1 = graph.exp %0 : tensor<2x8xf32>
  %2 = graph.sum %1 axes = [1] keepdims : tensor<2x8xf32> -> tensor<2x1xf32>
  %3 = graph.div %1, %2 : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %4 = graph.softmax %x axis = 0 : tensor<2x8xf32>
  %5 = graph.log %4 : tensor<2x8xf32>
  func.return %3, %5 : tensor<2x8xf32>, tensor<2x8xf32>
}

// The sum is over other elements than the maximum.
// CHECK-LABEL: func.func @other_softmax
// CHECK-NOT:     graph.softmax
// CHECK:         func.return
func.func @other_softmax(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %max = graph.max %x axes = [0] keepdims : tensor<2x8xf32> -> tensor<1x8xf32>
  %0 = graph.sub %x, %max : tensor<2x8xf32>, tensor<1x8xf32> -> tensor<2x8xf32>
  %1 = graph.exp %0 : tensor<2x8xf32>
  %2 = graph.sum %1 axes = [0, 1] keepdims : tensor<2x8xf32> -> tensor<1x1xf32>
  %3 = graph.div %1, %2 : tensor<2x8xf32>, tensor<1x1xf32> -> tensor<2x8xf32>
  func.return %3 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT:    graph.rms_norm %x, %scale axis = 1 epsilon
// CHECK-NEXT:    func.return
func.func @rms_norm(%x: tensor<2x8xf32>, %scale: tensor<8xf32>) -> tensor<2x8xf32> {
  %two = graph.constant dense<2.0> : tensor<f32>
  %epsilon = graph.constant dense<1.0e-5> : tensor<f32>
  %0 = graph.pow %x, %two : tensor<2x8xf32>, tensor<f32> -> tensor<2x8xf32>
  %1 = graph.mean %0 axes = [1] keepdims : tensor<2x8xf32> -> tensor<2x1xf32>
  %2 = graph.add %1, %epsilon : tensor<2x1xf32>, tensor<f32> -> tensor<2x1xf32>
  %3 = graph.sqrt %2 : tensor<2x1xf32>
  %4 = graph.reciprocal %3 : tensor<2x1xf32>
  %5 = graph.mul %x, %4 : tensor<2x8xf32>, tensor<2x1xf32> -> tensor<2x8xf32>
  %6 = graph.mul %scale, %5 : tensor<8xf32>, tensor<2x8xf32> -> tensor<2x8xf32>
  func.return %6 : tensor<2x8xf32>
}

// As PyTorch exports it: an instance normalization of groups, its own scale of ones and bias of zeros left out.
// CHECK-LABEL: func.func @group_norm
// CHECK-NEXT:    %[[SCALE:.*]] = graph.reshape %scale
// CHECK-NEXT:    %[[BIAS:.*]] = graph.reshape %bias
// CHECK-NEXT:    %y = graph.group_norm %x, %[[SCALE]], %[[BIAS]] groups = 2 epsilon
// CHECK-NEXT:    func.return %y
func.func @group_norm(%x: tensor<3x6x5x5xf32>, %scale: tensor<6x1x1xf32>, %bias: tensor<1x6x1x1xf32>) -> tensor<3x6x5x5xf32> {
  %epsilon = graph.constant dense<1.0e-5> : tensor<f32>
  %r = graph.reshape %x : tensor<3x6x5x5xf32> -> tensor<3x2x75xf32>
  %mean = graph.mean %r axes = [2] keepdims : tensor<3x2x75xf32> -> tensor<3x2x1xf32>
  %0 = graph.sub %r, %mean : tensor<3x2x75xf32>, tensor<3x2x1xf32> -> tensor<3x2x75xf32>
  %1 = graph.mul %0, %0 : tensor<3x2x75xf32>, tensor<3x2x75xf32> -> tensor<3x2x75xf32>
  %2 = graph.mean %1 axes = [2] keepdims : tensor<3x2x75xf32> -> tensor<3x2x1xf32>
  %3 = graph.add %2, %epsilon : tensor<3x2x1xf32>, tensor<f32> -> tensor<3x2x1xf32>
  %4 = graph.rsqrt %3 : tensor<3x2x1xf32>
  %5 = graph.mul %0, %4 : tensor<3x2x75xf32>, tensor<3x2x1xf32> -> tensor<3x2x75xf32>
  %6 = graph.reshape %5 : tensor<3x2x75xf32> -> tensor<3x6x5x5xf32>
  %7 = graph.mul %scale, %6 : tensor<6x1x1xf32>, tensor<3x6x5x5xf32> -> tensor<3x6x5x5xf32>
  %y = graph.add %7, %bias : tensor<3x6x5x5xf32>, tensor<1x6x1x1xf32> -> tensor<3x6x5x5xf32>
  func.return %y : tensor<3x6x5x5xf32>
}

// Groups that cut channels, a scale along the last axis, and a normalized value that is needed itself.
// CHECK-LABEL: func.func @other_groups
// CHECK-NOT:     graph.group_norm
// CHECK:         func.return
func.func @other_groups(%x: tensor<3x6x4x6xf32>, %c: tensor<6x1x1xf32>, %w: tensor<6xf32>) -> (tensor<3x6x4x6xf32>, tensor<3x6x4x6xf32>, tensor<3x6x4x6xf32>, tensor<3x6x4x6xf32>) {
  %r = graph.reshape %x : tensor<3x6x4x6xf32> -> tensor<3x4x36xf32>
  %0 = graph.layer_norm %r axis = 2 epsilon = 1.0e-5 : tensor<3x4x36xf32> -> tensor<3x4x36xf32>
  %1 = graph.reshape %0 : tensor<3x4x36xf32> -> tensor<3x6x4x6xf32>
  %2 = graph.mul %1, %c : tensor<3x6x4x6xf32>, tensor<6x1x1xf32> -> tensor<3x6x4x6xf32>
  %3 = graph.add %2, %c : tensor<3x6x4x6xf32>, tensor<6x1x1xf32> -> tensor<3x6x4x6xf32>
  %s = graph.reshape %x : tensor<3x6x4x6xf32> -> tensor<3x2x72xf32>
  %4 = graph.layer_norm %s axis = 2 epsilon = 1.0e-5 : tensor<3x2x72xf32> -> tensor<3x2x72xf32>
  %5 = graph.reshape %4 : tensor<3x2x72xf32> -> tensor<3x6x4x6xf32>
  %6 = graph.mul %5, %w : tensor<3x6x4x6xf32>, tensor<6xf32> -> tensor<3x6x4x6xf32>
  %7 = graph.add %6, %c : tensor<3x6x4x6xf32>, tensor<6x1x1xf32> -> tensor<3x6x4x6xf32>
  %8 = graph.layer_norm %s axis = 2 epsilon = 1.0e-3 : tensor<3x2x72xf32> -> tensor<3x2x72xf32>
  %9 = graph.reshape %8 : tensor<3x2x72xf32> -> tensor<3x6x4x6xf32>
  %10 = graph.mul %9, %c : tensor<3x6x4x6xf32>, tensor<6x1x1xf32> -> tensor<3x6x4x6xf32>
  %11 = graph.add %10, %c : tensor<3x6x4x6xf32>, tensor<6x1x1xf32> -> tensor<3x6x4x6xf32>
  func.return %3, %7, %9, %11 : tensor<3x6x4x6xf32>, tensor<3x6x4x6xf32>, tensor<3x6x4x6xf32>, tensor<3x6x4x6xf32>
}

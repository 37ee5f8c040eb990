// RUN: stepwell-opt %s -p graph-flatten-rows | filecheck %s
// RUN: stepwell-opt %s -p graph-flatten-rows --remarks 2>&1 | filecheck %s --check-prefix REMARK

// REMARK: remark: graph-flatten-rows: graph.matmul works on 6 rows of one matrix

// A layer with a residual: what follows the product row by row goes on with the matrix, and the next one begins there.
// CHECK-LABEL: func.func @layer
// CHECK-NEXT:    %reshape = graph.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
// CHECK-NEXT:    %0 = graph.matmul %reshape, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
// CHECK-NEXT:    %reshape_1 = graph.reshape %b : tensor<1x1x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    %1 = graph.add %0, %reshape_1 : tensor<6x4xf32>, tensor<4xf32> -> tensor<6x4xf32>
// CHECK-NEXT:    %2 = graph.add %reshape, %1
// CHECK-NEXT:    %3 = graph.layer_norm %2 axis = 1 epsilon
// CHECK-NEXT:    %4 = graph.matmul %3, %w
// CHECK-NEXT:    %5 = graph.softmax %4 axis = 1
// CHECK-NEXT:    %reshape_2 = graph.reshape %5 : tensor<6x4xf32> -> tensor<2x3x4xf32>
// CHECK-NEXT:    func.return %reshape_2
func.func @layer(%x: tensor<2x3x4xf32>, %w: tensor<4x4xf32>, %b: tensor<1x1x4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.matmul %x, %w : tensor<2x3x4xf32>, tensor<4x4xf32> -> tensor<2x3x4xf32>
  %1 = graph.add %0, %b : tensor<2x3x4xf32>, tensor<1x1x4xf32> -> tensor<2x3x4xf32>
  %2 = graph.add %x, %1 : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %3 = graph.layer_norm %2 axis = 2 epsilon = 1.0e-05 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %4 = graph.matmul %3, %w : tensor<2x3x4xf32>, tensor<4x4xf32> -> tensor<2x3x4xf32>
  %5 = graph.softmax %4 axis = 2 : tensor<2x3x4xf32>
  func.return %5 : tensor<2x3x4xf32>
}

// Rows that were a matrix before: the reshape comes after what follows row by row.
// CHECK-LABEL: func.func @reshaped
// CHECK-NEXT:    %0 = graph.matmul %x, %w
// CHECK-NEXT:    %1 = graph.relu %0 : tensor<6x4xf32>
// CHECK-NEXT:    %reshape = graph.reshape %1
// CHECK-NEXT:    func.return %reshape
func.func @reshaped(%x: tensor<6x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.matmul %x, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
  %1 = graph.reshape %0 : tensor<6x4xf32> -> tensor<2x3x4xf32>
  %2 = graph.relu %1 : tensor<2x3x4xf32>
  func.return %2 : tensor<2x3x4xf32>
}

// Rows that are told apart: by a summand for each position, a mask for each entry of the batch, axes before the last one.
// CHECK-LABEL: func.func @told_apart
// CHECK:         graph.matmul %reshape, %w
// CHECK-NEXT:    %reshape_1 = graph.reshape %0
// CHECK-NEXT:    graph.add %reshape_1, %position : tensor<2x3x4xf32>, tensor<3x4xf32>
// CHECK-NEXT:    graph.mul %{{.*}}, %mask : tensor<2x3x4xf32>, tensor<2x1x1xf32>
// CHECK-NEXT:    graph.softmax %{{.*}} axis = 1 : tensor<2x3x4xf32>
// CHECK-NEXT:    graph.layer_norm %{{.*}} axis = 1
func.func @told_apart(%x: tensor<2x3x4xf32>, %w: tensor<4x4xf32>, %position: tensor<3x4xf32>, %mask: tensor<2x1x1xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.matmul %x, %w : tensor<2x3x4xf32>, tensor<4x4xf32> -> tensor<2x3x4xf32>
  %1 = graph.add %0, %position : tensor<2x3x4xf32>, tensor<3x4xf32> -> tensor<2x3x4xf32>
  %2 = graph.mul %1, %mask : tensor<2x3x4xf32>, tensor<2x1x1xf32> -> tensor<2x3x4xf32>
  %3 = graph.softmax %2 axis = 1 : tensor<2x3x4xf32>
  %4 = graph.layer_norm %3 axis = 1 epsilon = 1.0e-05 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return %4 : tensor<2x3x4xf32>
}

// A batch of matrices on the right, an extent that is not known, and rows that no product is made of.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.reshape
// CHECK:         func.return
func.func @others(%x: tensor<2x3x4xf32>, %w: tensor<2x4x4xf32>, %y: tensor<?x3x4xf32>, %v: tensor<4x4xf32>) -> (tensor<2x3x4xf32>, tensor<?x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = graph.matmul %x, %w : tensor<2x3x4xf32>, tensor<2x4x4xf32> -> tensor<2x3x4xf32>
  %1 = graph.matmul %y, %v : tensor<?x3x4xf32>, tensor<4x4xf32> -> tensor<?x3x4xf32>
  %2 = graph.relu %x : tensor<2x3x4xf32>
  func.return %0, %1, %2 : tensor<2x3x4xf32>, tensor<?x3x4xf32>, tensor<2x3x4xf32>
}

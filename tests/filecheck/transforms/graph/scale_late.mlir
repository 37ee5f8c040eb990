// RUN: stepwell-opt %s -p graph-scale-late | filecheck %s
// RUN: stepwell-opt %s -p 'graph-scale-late{fp=strict}' | filecheck %s --check-prefix STRICT
// RUN: stepwell-opt %s -p graph-scale-late --remarks 2>&1 | filecheck %s --check-prefix REMARK

// REMARK: remark: graph-scale-late: rewrote (x * c) @ y → (x @ y) * c

// As PyTorch's exporters write attention: queries and keys are both scaled.
// CHECK-LABEL: func.func @queries_and_keys
// CHECK-NEXT:    %[[S:.*]] = graph.matmul %q, %k
// CHECK-NEXT:    %[[C:.*]] = graph.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT:    %{{.*}} = graph.mul %[[S]], %[[C]]
// CHECK-NEXT:    func.return
// STRICT-LABEL:  func.func @queries_and_keys
// STRICT:        graph.mul
// STRICT-NEXT:   graph.mul
// STRICT-NEXT:   graph.matmul
func.func @queries_and_keys(%q: tensor<2x3x4xf32>, %k: tensor<2x4x3xf32>) -> tensor<2x3x3xf32> {
  %c = graph.constant dense<0.5> : tensor<1xf32>
  %0 = graph.mul %q, %c : tensor<2x3x4xf32>, tensor<1xf32> -> tensor<2x3x4xf32>
  %1 = graph.mul %k, %c : tensor<2x4x3xf32>, tensor<1xf32> -> tensor<2x4x3xf32>
  %s = graph.matmul %0, %1 : tensor<2x3x4xf32>, tensor<2x4x3xf32> -> tensor<2x3x3xf32>
  func.return %s : tensor<2x3x3xf32>
}

// A number for each column is none for all elements; what is scaled is needed itself; a shape that the number gives.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: graph.mul
// CHECK-NOT:     graph.mul
// CHECK-LABEL: func.func @broadcast
// CHECK:         graph.mul
// CHECK-NEXT:    graph.matmul
func.func @others(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %columns = graph.constant dense<[0.5, 1.0, 1.5, 2.0]> : tensor<4xf32>
  %0 = graph.mul %x, %columns : tensor<3x4xf32>, tensor<4xf32> -> tensor<3x4xf32>
  %1 = graph.matmul %0, %w : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %c = graph.constant dense<0.5> : tensor<f32>
  %2 = graph.mul %x, %c : tensor<3x4xf32>, tensor<f32> -> tensor<3x4xf32>
  %3 = graph.matmul %2, %w : tensor<3x4xf32>, tensor<4x4xf32> -> tensor<3x4xf32>
  %4 = graph.mul %2, %3 : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  func.return %1, %2, %4 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

func.func @broadcast(%x: tensor<3x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x3x4xf32> {
  %c = graph.constant dense<0.5> : tensor<2x1x1xf32>
  %0 = graph.mul %x, %c : tensor<3x4xf32>, tensor<2x1x1xf32> -> tensor<2x3x4xf32>
  %1 = graph.matmul %0, %w : tensor<2x3x4xf32>, tensor<4x4xf32> -> tensor<2x3x4xf32>
  func.return %1 : tensor<2x3x4xf32>
}

// Sums that are not scaled yet may lie beyond f16.
// CHECK-LABEL: func.func @narrow
// CHECK:         graph.mul
// CHECK-NEXT:    graph.matmul
func.func @narrow(%x: tensor<3x4xf16>, %w: tensor<4x4xf16>) -> tensor<3x4xf16> {
  %c = graph.constant dense<0.5> : tensor<f16>
  %0 = graph.mul %x, %c : tensor<3x4xf16>, tensor<f16> -> tensor<3x4xf16>
  %1 = graph.matmul %0, %w : tensor<3x4xf16>, tensor<4x4xf16> -> tensor<3x4xf16>
  func.return %1 : tensor<3x4xf16>
}

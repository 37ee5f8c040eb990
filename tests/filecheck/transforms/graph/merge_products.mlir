// RUN: stepwell-opt %s -p graph-merge-products,canonicalize | filecheck %s
// RUN: stepwell-opt %s -p graph-merge-products --remarks 2>&1 | filecheck %s --check-prefix REMARK

// REMARK: remark: graph-merge-products: computes 2 products of x as one

// One weight is kept transposed, as exporters of linear layers write it.
// CHECK-LABEL: func.func @queries_and_keys
// CHECK-NEXT:    %weights = graph.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 5.000000e+00, 7.000000e+00], [3.000000e+00, 4.000000e+00, 6.000000e+00, 8.000000e+00]]> : tensor<2x4xf32>
// CHECK-NEXT:    %products = graph.matmul %x, %weights
// CHECK-NEXT:    %biases = graph.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.add %products, %biases
// CHECK-NEXT:    %q, %k = graph.split %[[SUM]] axis = 1 sizes = [2, 2]
// CHECK-NEXT:    func.return %q, %k
func.func @queries_and_keys(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %wq = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %wk = graph.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %bq = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %bk = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %xq = graph.matmul %x, %wq : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %q = graph.add %xq, %bq : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %wt = graph.transpose %wk perm = [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %xk = graph.matmul %x, %wt : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %k = graph.add %bk, %xk : tensor<2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
  func.return %q, %k : tensor<3x2xf32>, tensor<3x2xf32>
}

// A weight that is not known, one whose product goes into an element-wise operation, and one alone.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.split
// CHECK:         func.return
func.func @others(%x: tensor<3x2xf32>, %w: tensor<2x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %wq = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %q = graph.matmul %x, %wq : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %k = graph.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %v = graph.matmul %x, %wq : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %r = graph.relu %v : tensor<3x2xf32>
  func.return %q, %k, %r : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

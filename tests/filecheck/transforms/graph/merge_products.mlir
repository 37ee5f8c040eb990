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

// Branches of one image with windows of one size, up to their activation.
// CHECK-LABEL: func.func @branches
// CHECK:         %products = graph.conv %x, %weights strides = [2, 2]
// CHECK-SAME:      tensor<1x2x4x4xf32>, tensor<3x2x1x1xf32> -> tensor<1x3x2x2xf32>
// CHECK-NEXT:    %biases = graph.constant dense<{{.*}}1.000000e+00{{.*}}2.000000e+00{{.*}}3.000000e+00{{.*}}> : tensor<3x1x1xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.add %products, %biases
// CHECK-NEXT:    %[[RELU:.*]] = graph.relu %[[SUM]]
// CHECK-NEXT:    %r, %s = graph.split %[[RELU]] axis = 1 sizes = [2, 1]
// CHECK-NEXT:    func.return %r, %s
func.func @branches(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>) {
  %v = graph.constant dense<2.0> : tensor<2x2x1x1xf32>
  %w = graph.constant dense<3.0> : tensor<1x2x1x1xf32>
  %b = graph.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %c = graph.constant dense<[[[3.0]]]> : tensor<1x1x1xf32>
  %0 = graph.conv %x, %v strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x2x2xf32>
  %1 = graph.add %0, %b : tensor<1x2x2x2xf32>, tensor<2x1x1xf32> -> tensor<1x2x2x2xf32>
  %r = graph.relu %1 : tensor<1x2x2x2xf32>
  %2 = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32> -> tensor<1x1x2x2xf32>
  %3 = graph.add %2, %c : tensor<1x1x2x2xf32>, tensor<1x1x1xf32> -> tensor<1x1x2x2xf32>
  %s = graph.relu %3 : tensor<1x1x2x2xf32>
  func.return %r, %s : tensor<1x2x2x2xf32>, tensor<1x1x2x2xf32>
}

// Other strides, another activation, groups, and a part of a concatenation.
// CHECK-LABEL: func.func @other_branches
// CHECK-NOT:     graph.split
// CHECK:         func.return
func.func @other_branches(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x4x4x4xf32>) {
  %w = graph.constant dense<2.0> : tensor<2x2x1x1xf32>
  %g = graph.constant dense<3.0> : tensor<2x1x1x1xf32>
  %0 = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x2x2xf32>
  %2 = graph.relu %1 : tensor<1x2x2x2xf32>
  %3 = graph.conv %x, %g strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 2 : tensor<1x2x4x4xf32>, tensor<2x1x1x1xf32> -> tensor<1x2x2x2xf32>
  %4 = graph.relu %3 : tensor<1x2x2x2xf32>
  %5 = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %6 = graph.tanh %5 : tensor<1x2x4x4xf32>
  %7 = graph.concat %6, %x axis = 1 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x4x4x4xf32>
  func.return %0, %2, %4, %7 : tensor<1x2x4x4xf32>, tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>, tensor<1x4x4x4xf32>
}

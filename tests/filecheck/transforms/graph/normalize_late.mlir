// RUN: stepwell-opt %s -p graph-normalize-late | filecheck %s
// RUN: stepwell-opt %s -p 'graph-normalize-late{fp=strict}' | filecheck %s --check-prefix STRICT
// RUN: not stepwell-opt %s -p 'graph-normalize-late{fp=loose}' 2>&1 | filecheck %s --check-prefix LOOSE

// STRICT-NOT: graph.reciprocal
// LOOSE: error: {{.*}}found fp='loose', expected one of strict, contract, fast

// CHECK-LABEL: func.func @attention
// CHECK-NEXT:    %max = graph.max %x axes = [2] keepdims {stepwell.nan_left_open} : tensor<2x8x16xf32> -> tensor<2x8x1xf32>
// CHECK-NEXT:    %shifted = graph.sub %x, %max
// CHECK-NEXT:    %exp = graph.exp %shifted
// CHECK-NEXT:    %sum = graph.sum %exp axes = [2] keepdims : tensor<2x8x16xf32> -> tensor<2x8x1xf32>
// CHECK-NEXT:    %inverse = graph.reciprocal %sum
// CHECK-NEXT:    %y = graph.matmul %exp, %v : tensor<2x8x16xf32>, tensor<2x16x4xf32> -> tensor<2x8x4xf32>
// CHECK-NEXT:    %y_1 = graph.mul %y, %inverse : tensor<2x8x4xf32>, tensor<2x8x1xf32> -> tensor<2x8x4xf32>
// CHECK-NEXT:    func.return %y_1
func.func @attention(%x: tensor<2x8x16xf32>, %v: tensor<2x16x4xf32>) -> tensor<2x8x4xf32> {
  %p = graph.softmax %x axis = 2 : tensor<2x8x16xf32>
  %y = graph.matmul %p, %v : tensor<2x8x16xf32>, tensor<2x16x4xf32> -> tensor<2x8x4xf32>
  func.return %y : tensor<2x8x4xf32>
}

// One value for a row of the left factor: a vector has but one row.
// CHECK-LABEL: func.func @vector
// CHECK:         graph.matmul %exp, %v : tensor<16xf32>, tensor<16x4xf32> -> tensor<4xf32>
// CHECK-NEXT:    graph.mul %{{.*}}, %inverse : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
func.func @vector(%x: tensor<16xf32>, %v: tensor<16x4xf32>) -> tensor<4xf32> {
  %p = graph.softmax %x axis = 0 : tensor<16xf32>
  %y = graph.matmul %p, %v : tensor<16xf32>, tensor<16x4xf32> -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// The product has more elements.
// CHECK-LABEL: func.func @wide
// CHECK-NEXT:    graph.softmax
func.func @wide(%x: tensor<8x16xf32>, %v: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %p = graph.softmax %x axis = 1 : tensor<8x16xf32>
  %y = graph.matmul %p, %v : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
  func.return %y : tensor<8x32xf32>
}

// The softmax is needed itself.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    graph.softmax
func.func @twice(%x: tensor<8x16xf32>, %v: tensor<16x4xf32>) -> (tensor<8x4xf32>, tensor<8x16xf32>) {
  %p = graph.softmax %x axis = 1 : tensor<8x16xf32>
  %y = graph.matmul %p, %v : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  func.return %y, %p : tensor<8x4xf32>, tensor<8x16xf32>
}

// Columns are normalised, over which the product sums up.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT:    graph.softmax
func.func @columns(%x: tensor<8x16xf32>, %v: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %p = graph.softmax %x axis = 0 : tensor<8x16xf32>
  %y = graph.matmul %p, %v : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}

// The product of a matrix and a vector, and the softmax on the right.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    graph.softmax
// CHECK-NEXT:    graph.matmul
// CHECK-NEXT:    graph.softmax
func.func @others(%x: tensor<8x16xf32>, %v: tensor<16xf32>, %w: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<4x16xf32>) {
  %p = graph.softmax %x axis = 1 : tensor<8x16xf32>
  %y = graph.matmul %p, %v : tensor<8x16xf32>, tensor<16xf32> -> tensor<8xf32>
  %q = graph.softmax %x axis = 1 : tensor<8x16xf32>
  %z = graph.matmul %w, %q : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  func.return %y, %z : tensor<8xf32>, tensor<4x16xf32>
}

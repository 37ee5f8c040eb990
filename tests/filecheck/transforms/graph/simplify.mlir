// RUN: stepwell-opt %s -p graph-simplify | filecheck %s
// RUN: stepwell-opt %s -p graph-simplify --remarks 2>&1 | filecheck %s --check-prefix REMARK

// REMARK: remark: graph-simplify: rewrote maximum(x, 0) → relu(x)
// REMARK: remark: graph-simplify: rewrote minimum(relu(x), hi) → clip(x, min=0, max=hi)

// CHECK-LABEL: func.func @clips
// CHECK-NEXT:    %y = graph.clip %x min = 0.000000e+00 : f32 max = 6.000000e+00 : f32 : tensor<2x3xf32>
// CHECK-NEXT:    func.return %y
func.func @clips(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %six = graph.constant dense<6.0> : tensor<3xf32>
  %0 = graph.maximum %zero, %x : tensor<f32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.minimum %0, %six : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %2 = graph.relu %1 : tensor<2x3xf32>
  %y = graph.clip %2 min = -1.000000e+00 : f32 max = 8.000000e+00 : f32 : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// Of empty ranges the upper bound is the result: the bounds are not joined.
// CHECK-LABEL: func.func @empty_ranges
// CHECK:         graph.relu
// CHECK:         graph.maximum
func.func @empty_ranges(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = graph.clip %x min = 4.000000e+00 : f32 max = -4.000000e+00 : f32 : tensor<3xf32>
  %1 = graph.relu %0 : tensor<3xf32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %2 = graph.minimum %x, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %3 = graph.maximum %2, %two : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  func.return %1, %3 : tensor<3xf32>, tensor<3xf32>
}

// Only a power of two has a reciprocal without rounding.
// CHECK-LABEL: func.func @divisions
// CHECK:         %[[EIGHTH:.*]] = graph.constant dense<1.250000e-01> : tensor<f32>
// CHECK-NEXT:    graph.mul %x, %[[EIGHTH]]
// CHECK-NEXT:    graph.div %x, %three
// CHECK-NEXT:    graph.div %x, %huge
// CHECK-NEXT:    graph.reciprocal %x
func.func @divisions(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %eight = graph.constant dense<8.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %huge = graph.constant dense<0x7F000000> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.div %x, %eight : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %1 = graph.div %x, %three : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %2 = graph.div %x, %huge : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %3 = graph.div %one, %x : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// A result that is broadcast by the constant is not the operation on the operand alone.
// CHECK-LABEL: func.func @broadcast
// CHECK:         graph.maximum
func.func @broadcast(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %zeros = graph.constant dense<0.0> : tensor<2x1xf32>
  %0 = graph.maximum %x, %zeros : tensor<3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// The negation is computed anyway, for others.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    graph.neg
// CHECK-NEXT:    graph.sub
func.func @shared(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = graph.neg %y : tensor<3xf32>
  %1 = graph.sub %x, %0 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %0, %1 : tensor<3xf32>, tensor<3xf32>
}

// leaky_relu is of floats.
// CHECK-LABEL: func.func @integers
// CHECK:         graph.where
func.func @integers(%x: tensor<3xi32>) -> tensor<3xi32> {
  %zero = graph.constant dense<0> : tensor<i32>
  %two = graph.constant dense<2> : tensor<i32>
  %0 = graph.ge %x, %zero : tensor<3xi32>, tensor<i32> -> tensor<3xi1>
  %1 = graph.mul %two, %x : tensor<i32>, tensor<3xi32> -> tensor<3xi32>
  %2 = graph.where %0, %x, %1 : tensor<3xi1>, tensor<3xi32>, tensor<3xi32> -> tensor<3xi32>
  func.return %2 : tensor<3xi32>
}

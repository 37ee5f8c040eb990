// RUN: stepwell-opt %s -p graph-reduce-strength | filecheck %s
// RUN: stepwell-opt %s -p 'graph-reduce-strength{fp=strict}' | filecheck %s --check-prefix STRICT

// STRICT-LABEL: func.func @powers
// STRICT-COUNT-7: graph.pow

// CHECK-LABEL: func.func @powers
// CHECK-NOT:     graph.pow
// CHECK:         graph.mul %x, %x
// CHECK:         graph.sqrt %x
// CHECK:         graph.rsqrt %x
// CHECK:         graph.pow %x, %other
func.func @powers(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %two = graph.constant dense<2.0> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %minus = graph.constant dense<-0.5> : tensor<f32>
  %other = graph.constant dense<0.499> : tensor<f32>
  %0 = graph.pow %x, %two : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %1 = graph.pow %x, %half : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %2 = graph.pow %x, %minus : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %3 = graph.pow %x, %other : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  func.return %0, %1, %2, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @products
// CHECK:         %[[S:.*]] = graph.mul %x, %x
// CHECK-NEXT:    %[[Q:.*]] = graph.mul %[[S]], %[[S]]
// CHECK-NEXT:    %[[P:.*]] = graph.mul %x, %[[Q]]
// CHECK-NEXT:    %[[R:.*]] = graph.rsqrt %x
// CHECK-NEXT:    %[[I:.*]] = graph.reciprocal %x
// CHECK-NEXT:    %[[T:.*]] = graph.mul %[[R]], %[[I]]
// CHECK-NEXT:    graph.pow %x, %nine
// CHECK-NEXT:    func.return %[[P]], %[[T]],
func.func @products(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %five = graph.constant dense<5.0> : tensor<f32>
  %minus = graph.constant dense<-1.5> : tensor<f32>
  %nine = graph.constant dense<9.0> : tensor<f32>
  %0 = graph.pow %x, %five : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %1 = graph.pow %x, %minus : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %2 = graph.pow %x, %nine : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Numbers that meet; not where their product overflows or vanishes.
// CHECK-LABEL: func.func @numbers
// CHECK:         %[[SIX:.*]] = graph.constant dense<6.000000e+00> : tensor<f32>
// CHECK-NEXT:    graph.mul %x, %[[SIX]]
// CHECK-NEXT:    graph.mul %x, %huge
// CHECK-NEXT:    graph.mul %{{.*}}, %huge
// CHECK-NEXT:    graph.mul %x, %tiny
// CHECK-NEXT:    graph.mul %{{.*}}, %tiny
func.func @numbers(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %two = graph.constant dense<2.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %huge = graph.constant dense<1.0e30> : tensor<f32>
  %tiny = graph.constant dense<1.0e-30> : tensor<f32>
  %0 = graph.mul %x, %two : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %1 = graph.mul %0, %three : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %2 = graph.mul %x, %huge : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %3 = graph.mul %2, %huge : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %4 = graph.mul %x, %tiny : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %5 = graph.mul %4, %tiny : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  func.return %1, %3, %5 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @mean
// CHECK:         graph.mean %x axes = [1] keepdims : tensor<2x8xf32> -> tensor<2x1xf32>
// CHECK:         graph.sum
// CHECK-NEXT:    graph.div
func.func @mean(%x: tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2xf32>) {
  %eight = graph.constant dense<8.0> : tensor<f32>
  %seven = graph.constant dense<7.0> : tensor<f32>
  %0 = graph.sum %x axes = [1] keepdims : tensor<2x8xf32> -> tensor<2x1xf32>
  %1 = graph.div %0, %eight : tensor<2x1xf32>, tensor<f32> -> tensor<2x1xf32>
  %2 = graph.sum %x axes = [1] : tensor<2x8xf32> -> tensor<2xf32>
  %3 = graph.div %2, %seven : tensor<2xf32>, tensor<f32> -> tensor<2xf32>
  func.return %1, %3 : tensor<2x1xf32>, tensor<2xf32>
}

// RUN: stepwell-opt %s -p graph-sink-transposes,canonicalize | filecheck %s

// As an exporter writes a network whose images are NHWC: the constant's axes are put back.
// CHECK-LABEL: func.func @cancel
// CHECK:         %[[BIAS:.*]] = graph.constant dense<{{.*}}> : tensor<1x3x1x1xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.add %x, %[[BIAS]]
// CHECK-NEXT:    %[[RELU:.*]] = graph.relu %[[SUM]] : tensor<1x3x4x5xf32>
// CHECK-NEXT:    func.return %[[RELU]]
func.func @cancel(%x: tensor<1x3x4x5xf32>) -> tensor<1x3x4x5xf32> {
  %bias = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = graph.transpose %x perm = [0, 2, 3, 1] : tensor<1x3x4x5xf32> -> tensor<1x4x5x3xf32>
  %1 = graph.add %0, %bias : tensor<1x4x5x3xf32>, tensor<3xf32> -> tensor<1x4x5x3xf32>
  %2 = graph.relu %1 : tensor<1x4x5x3xf32>
  %3 = graph.transpose %2 perm = [0, 3, 1, 2] : tensor<1x4x5x3xf32> -> tensor<1x3x4x5xf32>
  func.return %3 : tensor<1x3x4x5xf32>
}

// Nothing behind undoes it: it stays where it is.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT:    graph.transpose
// CHECK-NEXT:    graph.relu
func.func @stays(%x: tensor<2x3xf32>) -> tensor<3x2xf32> {
  %0 = graph.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = graph.relu %0 : tensor<3x2xf32>
  func.return %1 : tensor<3x2xf32>
}

// The other operand is not transposed.
// CHECK-LABEL: func.func @one_of_two
// CHECK-NEXT:    graph.transpose %x
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.transpose
func.func @one_of_two(%x: tensor<2x3xf32>, %y: tensor<3x2xf32>) -> tensor<2x3xf32> {
  %0 = graph.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %1 = graph.add %0, %y : tensor<3x2xf32>, tensor<3x2xf32> -> tensor<3x2xf32>
  %2 = graph.transpose %1 perm = [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}

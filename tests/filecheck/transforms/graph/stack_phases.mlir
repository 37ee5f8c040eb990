// RUN: stepwell-opt %s -p 'graph-stack-phases' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-stack-phases' --remarks 2>&1 | filecheck %s --check-prefix REMARK

// One convolution has the outputs of all phases, what is done to each channel is done to these, and then they take turns.
// REMARK: graph-stack-phases: computes its 4 phases as outputs of one convolution
// CHECK-LABEL: func.func @windows_of_two
// CHECK:         %phases = graph.constant {{.*}} : tensor<16x3x1x1xf32>
// CHECK-NEXT:    %phases_1 = graph.conv %x, %phases strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x3x5x6xf32>, tensor<16x3x1x1xf32> -> tensor<1x16x5x6xf32>
// CHECK-NEXT:    graph.reshape %phases_1 : tensor<1x16x5x6xf32> -> tensor<1x4x20x6xf32>
// CHECK-NEXT:    graph.relu
// CHECK-NEXT:    graph.reshape {{.*}} -> tensor<1x4x2x2x5x6xf32>
// CHECK-NEXT:    graph.transpose {{.*}} perm = [0, 1, 4, 2, 5, 3]
// CHECK-NEXT:    %r = graph.reshape {{.*}} -> tensor<1x4x10x12xf32>
// CHECK-NEXT:    func.return %r
func.func @windows_of_two(%x: tensor<1x3x5x6xf32>) -> tensor<1x4x10x12xf32> {
  %w = graph.constant dense<0.5> : tensor<3x4x2x2xf32>
  %y = graph.conv_transpose %x, %w strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x3x5x6xf32>, tensor<3x4x2x2xf32> -> tensor<1x4x10x12xf32>
  %r = graph.relu %y : tensor<1x4x10x12xf32>
  func.return %r : tensor<1x4x10x12xf32>
}

// Windows twice as far reach the element before, too; what the result has no place for is cut off.
// CHECK-LABEL: func.func @windows_of_four
// CHECK:         graph.conv %x, {{.*}} pad = [0], [0] groups = 1 : tensor<1x3x5xf32>, tensor<8x3x2xf32> -> tensor<1x8x4xf32>
// CHECK:         graph.slice {{.*}} -> tensor<1x4x7xf32>
func.func @windows_of_four(%x: tensor<1x3x5xf32>) -> tensor<1x4x7xf32> {
  %w = graph.constant dense<0.5> : tensor<3x4x4xf32>
  %y = graph.conv_transpose %x, %w strides = [2] dilations = [1] pad = [2], [3] groups = 1 : tensor<1x3x5xf32>, tensor<3x4x4xf32> -> tensor<1x4x7xf32>
  func.return %y : tensor<1x4x7xf32>
}

// Phases that meet different elements of the image stay apart, and weights that come as an argument as they are.
// CHECK-LABEL: func.func @others
// CHECK:         graph.conv_transpose %x, %w strides
// CHECK:         graph.conv_transpose %x, %w strides
// CHECK:         graph.conv_transpose %x, %v strides
func.func @others(%x: tensor<1x3x8xf32>, %v: tensor<3x4x2xf32>) -> (tensor<1x4x14xf32>, tensor<1x4x23xf32>, tensor<1x4x16xf32>) {
  %w = graph.constant dense<0.5> : tensor<3x4x2xf32>
  %a = graph.conv_transpose %x, %w strides = [2] dilations = [1] pad = [1], [1] groups = 1 : tensor<1x3x8xf32>, tensor<3x4x2xf32> -> tensor<1x4x14xf32>
  %b = graph.conv_transpose %x, %w strides = [3] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x3x8xf32>, tensor<3x4x2xf32> -> tensor<1x4x23xf32>
  %c = graph.conv_transpose %x, %v strides = [2] dilations = [1] pad = [0], [0] groups = 1 : tensor<1x3x8xf32>, tensor<3x4x2xf32> -> tensor<1x4x16xf32>
  func.return %a, %b, %c : tensor<1x4x14xf32>, tensor<1x4x23xf32>, tensor<1x4x16xf32>
}

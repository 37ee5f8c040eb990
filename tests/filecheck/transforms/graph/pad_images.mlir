// RUN: stepwell-opt %s -p 'graph-pad-images{target=zen3}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-pad-images{target=zen3}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'graph-pad-images{target=zen3 opt=quick}' | filecheck %s --check-prefix OFF
// RUN: stepwell-opt %s -p 'graph-pad-images{target=zen3},convert-graph-to-te,te-fuse,te-bufferize' | filecheck %s --check-prefix PLACED
// RUN: stepwell-opt %s -p 'graph-pad-images{target=zen4}' | filecheck %s --check-prefix LEFT-OUT

// OFF-NOT: graph.pad

// Where tiles leave out what is outside of the image, no border is read.
// LEFT-OUT-NOT: graph.pad

// What computes the image writes it inside of the border, which kernels of their own write.
// REMARK: graph-pad-images: what computes the image writes it inside of its border
// CHECK-LABEL: func.func @computed
// CHECK:         %r = graph.relu
// CHECK-NEXT:    %r_1 = graph.pad %r low = [0, 0, 1, 1, 0] high = [0, 0, 1, 1, 0] value = 0.000000e+00 : f32 : tensor<1x4x56x56x16xf32> -> tensor<1x4x58x58x16xf32>
// CHECK-NEXT:    graph.blocked_conv %r_1, %{{.*}} pad = [0, 0], [0, 0] blocks = 16, 16
// PLACED-LABEL: func.func @computed
// PLACED:         te.kernel "a_r" {{.*}} -> memref<1x4x56x56x16xf32, strided<[215296, 53824, 928, 16, 1], offset: ?>>
// PLACED:         te.kernel "r_border"
// PLACED:         te.kernel "b" {{.*}} : (memref<1x4x58x58x16xf32>,
func.func @computed(%x: tensor<1x4x56x56x16xf32>) -> tensor<1x4x56x56x16xf32> {
  %w = graph.constant dense<0.5> : tensor<4x16x4x16x3x3xf32>
  %v = graph.constant dense<0.5> : tensor<4x16x4x16x1x1xf32>
  %a = graph.blocked_conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] blocks = 16, 16 : tensor<1x4x56x56x16xf32>, tensor<4x16x4x16x1x1xf32> -> tensor<1x4x56x56x16xf32>
  %r = graph.relu %a : tensor<1x4x56x56x16xf32>
  %b = graph.blocked_conv %r, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 16, 16 : tensor<1x4x56x56x16xf32>, tensor<4x16x4x16x3x3xf32> -> tensor<1x4x56x56x16xf32>
  func.return %b : tensor<1x4x56x56x16xf32>
}

// An argument is where it is; what something else reads would have to be read with its rows apart.
// REMARK: the image is copied into its border: nothing computes it
// REMARK: the image is copied into its border: something else reads it too
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.pad
func.func @others(%x: tensor<1x4x56x56x16xf32>) -> tensor<1x4x56x56x16xf32> {
  %w = graph.constant dense<0.5> : tensor<4x16x4x16x3x3xf32>
  %a = graph.blocked_conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 16, 16 : tensor<1x4x56x56x16xf32>, tensor<4x16x4x16x3x3xf32> -> tensor<1x4x56x56x16xf32>
  %b = graph.blocked_conv %a, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 16, 16 : tensor<1x4x56x56x16xf32>, tensor<4x16x4x16x3x3xf32> -> tensor<1x4x56x56x16xf32>
  %s = graph.add %a, %b : tensor<1x4x56x56x16xf32>, tensor<1x4x56x56x16xf32> -> tensor<1x4x56x56x16xf32>
  func.return %s : tensor<1x4x56x56x16xf32>
}

// Of 7 x 7 pixels tiles leave fewer edges than of 7 rows: that is more than so small a copy takes.
// REMARK: the image is copied into its border: with one already there they are predicted to take {{.*}}, and else
// CHECK-LABEL: func.func @small
// CHECK-NOT:     graph.pad
func.func @small(%x: tensor<1x128x7x7x16xf32>) -> tensor<1x8x7x7x16xf32> {
  %w = graph.constant dense<0.5> : tensor<8x16x8x16x3x3xf32>
  %v = graph.constant dense<0.5> : tensor<8x16x128x16x1x1xf32>
  %a = graph.blocked_conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] blocks = 16, 16 : tensor<1x128x7x7x16xf32>, tensor<8x16x128x16x1x1xf32> -> tensor<1x8x7x7x16xf32>
  %b = graph.blocked_conv %a, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] blocks = 16, 16 : tensor<1x8x7x7x16xf32>, tensor<8x16x8x16x3x3xf32> -> tensor<1x8x7x7x16xf32>
  func.return %b : tensor<1x8x7x7x16xf32>
}

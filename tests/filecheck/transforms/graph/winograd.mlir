// RUN: stepwell-opt %s -p 'graph-winograd{winograd=true target=zen4}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-winograd{fp=fast target=zen4}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-winograd{target=zen4}' | filecheck %s --check-prefix OFF
// RUN: stepwell-opt %s -p 'graph-winograd{winograd=true target=zen4}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: not stepwell-opt %s -p 'graph-winograd{fp=loose}' 2>&1 | filecheck %s --check-prefix LOOSE

// OFF-NOT: graph.winograd
// LOOSE: error: {{.*}}found fp='loose', expected one of strict, contract, fast

// The image, channels last, is padded to whole tiles; what the last ones have beyond the result is cut off.
// REMARK: graph-winograd: computed by tiles of 4x4: predicted to take F(2, 3) {{.*}}, F(4, 3) {{.*}}, direct
// CHECK-LABEL: func.func @ragged
// CHECK:         %[[U:.*]] = graph.constant dense_resource<{{.*}}> : tensor<36x64x64xf32>
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %x perm = [0, 2, 3, 1]
// CHECK-NEXT:    %[[P:.*]] = graph.pad %[[T]]{{.*}} -> tensor<1x58x58x64xf32>
// CHECK-NEXT:    %[[V:.*]] = graph.winograd_input %[[P]] tile = 4 : tensor<1x58x58x64xf32> -> tensor<36x196x64xf32>
// CHECK-NEXT:    %[[M:.*]] = graph.matmul %[[V]], %[[U]]
// CHECK-NEXT:    %[[Y:.*]] = graph.winograd_output %[[M]] tile = 4 rows = 14 columns = 14 : tensor<36x196x64xf32> -> tensor<1x56x56x64xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.slice %[[Y]]{{.*}} -> tensor<1x55x54x64xf32>
// CHECK-NEXT:    %y = graph.transpose %[[S]] perm = [0, 3, 1, 2]
// CHECK-NEXT:    func.return %y
func.func @ragged(%x: tensor<1x64x55x54xf32>) -> tensor<1x64x55x54xf32> {
  %w = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
  %y = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x64x55x54xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x55x54xf32>
  func.return %y : tensor<1x64x55x54xf32>
}

// Two channels are not worth the transforms.
// REMARK: computed directly: predicted to take F(2, 3) {{.*}}, F(4, 3) {{.*}}, direct
// CHECK-LABEL: func.func @few_channels
// CHECK:         graph.conv
func.func @few_channels(%x: tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32> {
  %w = graph.constant dense<0.5> : tensor<2x2x3x3xf32>
  %y = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x2x9x9xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x9x9xf32>
  func.return %y : tensor<1x2x9x9xf32>
}

// REMARK: computed directly: its window has 5x5 elements, not 3x3
// REMARK: computed directly: its window moves by more than one element, or has holes
// REMARK: computed directly: its window moves by more than one element, or has holes
// REMARK: computed directly: its channels are in groups
// REMARK: computed directly: elements of f16 have too few digits
// REMARK: computed directly: its image is cut off
// REMARK: computed directly: its weights are not known at compile time, and would be transformed in each call
// CHECK-LABEL: func.func @others
// CHECK-COUNT-7: graph.conv
// CHECK-NOT:   graph.winograd
func.func @others(%x: tensor<1x64x56x56xf32>, %h: tensor<1x64x56x56xf16>, %v: tensor<64x64x3x3xf32>) {
  %w5 = graph.constant dense<0.5> : tensor<64x64x5x5xf32>
  %w = graph.constant dense<0.5> : tensor<64x64x3x3xf32>
  %wg = graph.constant dense<0.5> : tensor<64x32x3x3xf32>
  %wh = graph.constant dense<0.5> : tensor<64x64x3x3xf16>
  %0 = graph.conv %x, %w5 strides = [1, 1] dilations = [1, 1] pad = [2, 2], [2, 2] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x5x5xf32> -> tensor<1x64x56x56xf32>
  %1 = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x28x28xf32>
  %2 = graph.conv %x, %w strides = [1, 1] dilations = [2, 2] pad = [2, 2], [2, 2] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  %3 = graph.conv %x, %wg strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 2 : tensor<1x64x56x56xf32>, tensor<64x32x3x3xf32> -> tensor<1x64x56x56xf32>
  %4 = graph.conv %h, %wh strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x64x56x56xf16>, tensor<64x64x3x3xf16> -> tensor<1x64x56x56xf16>
  %5 = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [-1, 1], [1, 1] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x54x56xf32>
  %6 = graph.conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  func.return
}

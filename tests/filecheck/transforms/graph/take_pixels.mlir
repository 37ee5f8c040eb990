// RUN: stepwell-opt %s -p 'graph-take-pixels{target=zen3}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-take-pixels{target=zen3}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'graph-take-pixels{target=zen3 opt=quick}' | filecheck %s --check-prefix OFF
// RUN: stepwell-opt %s -p 'graph-take-pixels{target=zen3},convert-graph-to-te,te-fuse' | filecheck %s --check-prefix KERNELS
// RUN: stepwell-opt %s -p 'graph-take-pixels{target=x86-64-v3}' --remarks 2>&1 | filecheck %s --check-prefix NEAR

// OFF-NOT: graph.slice

// A product for each of these pixels would use half of each line, for each tile of outputs.
// REMARK: graph-take-pixels: the pixels that it reads are taken first: predicted to take {{.*}}, and else
// CHECK-LABEL: func.func @many
// CHECK:         %x_1 = graph.slice %x starts = [0, 0, 0, 0] stops = [1, 512, 28, 28] steps = [1, 1, 2, 2]
// CHECK-NEXT:    graph.conv %x_1, %w strides = [1, 1]
// KERNELS-LABEL: func.func @many
// KERNELS:         te.kernel "x" (%{{.*}} = %x)
// KERNELS:         te.kernel "y" (%{{.*}} = %x_1)
func.func @many(%x: tensor<1x512x28x28xf32>) -> tensor<1x1024x14x14xf32> {
  %w = graph.constant dense<0.5> : tensor<1024x512x1x1xf32>
  %y = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x512x28x28xf32>, tensor<1024x512x1x1xf32> -> tensor<1x1024x14x14xf32>
  func.return %y : tensor<1x1024x14x14xf32>
}

// For few outputs a copy would take as long as the product.
// REMARK: graph-take-pixels: the image is read with strides: with its pixels taken first predicted to take {{.*}}, and else
// CHECK-LABEL: func.func @few
// CHECK-NOT:     graph.slice
func.func @few(%x: tensor<1x64x28x28xf32>) -> tensor<1x4x14x14xf32> {
  %w = graph.constant dense<0.5> : tensor<4x64x1x1xf32>
  %y = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x28x28xf32>, tensor<4x64x1x1xf32> -> tensor<1x4x14x14xf32>
  func.return %y : tensor<1x4x14x14xf32>
}

// Windows of several pixels, borders and groups are left as they are, and so are rows of which all elements are used.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.slice
func.func @others(%x: tensor<1x512x28x28xf32>) -> (tensor<1x1024x13x13xf32>, tensor<1x1024x15x15xf32>, tensor<1x1024x14x14xf32>, tensor<1x1024x14x28xf32>) {
  %w = graph.constant dense<0.5> : tensor<1024x512x3x3xf32>
  %v = graph.constant dense<0.5> : tensor<1024x512x1x1xf32>
  %u = graph.constant dense<0.5> : tensor<1024x256x1x1xf32>
  %a = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x512x28x28xf32>, tensor<1024x512x3x3xf32> -> tensor<1x1024x13x13xf32>
  %b = graph.conv %x, %v strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x512x28x28xf32>, tensor<1024x512x1x1xf32> -> tensor<1x1024x15x15xf32>
  %c = graph.conv %x, %u strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 2 : tensor<1x512x28x28xf32>, tensor<1024x256x1x1xf32> -> tensor<1x1024x14x14xf32>
  %d = graph.conv %x, %v strides = [2, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x512x28x28xf32>, tensor<1024x512x1x1xf32> -> tensor<1x1024x14x28xf32>
  func.return %a, %b, %c, %d : tensor<1x1024x13x13xf32>, tensor<1x1024x15x15xf32>, tensor<1x1024x14x14xf32>, tensor<1x1024x14x28xf32>
}

// The pixels that were taken are the columns of a product, which packs panels of them: with an L2 of 512 KiB and little bandwidth beyond it
// that is predicted to gain more than taking them costs. As a convolution of them, with no panels, it would not be.
// NEAR:      graph-take-pixels: the pixels that it reads are taken first: predicted to take {{.*}} ms, and else
// NEAR:      func.func @panels
// NEAR-NEXT:   graph.constant
// NEAR-NEXT:   graph.slice
// CHECK-LABEL: func.func @panels
func.func @panels(%x: tensor<1x256x56x56xf32>) -> tensor<1x512x28x28xf32> {
  %w = graph.constant dense<0.5> : tensor<512x256x1x1xf32>
  %y = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x256x56x56xf32>, tensor<512x256x1x1xf32> -> tensor<1x512x28x28xf32>
  func.return %y : tensor<1x512x28x28xf32>
}

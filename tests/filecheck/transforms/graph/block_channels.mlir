// RUN: stepwell-opt %s -p 'graph-block-channels{target=zen4}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-block-channels{target=zen4}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'graph-block-channels{target=zen4 opt=quick}' | filecheck %s --check-prefix OFF
// RUN: stepwell-opt %s -p 'graph-block-channels{target=zen4 fp=strict}' | filecheck %s --check-prefix OFF

// OFF-NOT: graph.blocked_conv

// Arguments and results have their channels as they are. A window, additions and a mean do not care; what is the same for all
// channels is broadcast to a block, too.
// REMARK: graph-block-channels: channels of 2 of 2 images in blocks of 16: convolutions are predicted to take
// CHECK-LABEL: func.func @network
// CHECK:         %a = graph.blocked_conv %x, %{{.*}} blocks = 1, 16 : tensor<1x3x112x112xf32>, tensor<4x16x3x3x3xf32> -> tensor<1x4x56x56x16xf32>
// CHECK:         %b = graph.add %a, %{{.*}} : tensor<1x4x56x56x16xf32>, tensor<1x4x1x1x16xf32> -> tensor<1x4x56x56x16xf32>
// CHECK-NEXT:    %r = graph.relu %b : tensor<1x4x56x56x16xf32>
// CHECK-NEXT:    %p = graph.max_pool %r window = [1, 1, 3, 3, 1] strides = [1, 1, 1, 1, 1] dilations = [1, 1, 1, 1, 1] low = [0, 0, 1, 1, 0] high = [0, 0, 1, 1, 0]
// CHECK:         %c = graph.blocked_conv %p, %{{.*}} blocks = 16, 16 : tensor<1x4x56x56x16xf32>, tensor<16x16x4x16x1x1xf32> -> tensor<1x16x56x56x16xf32>
// CHECK-NEXT:    %m = graph.mean %c axes = [2, 3] keepdims : tensor<1x16x56x56x16xf32> -> tensor<1x16x1x1x16xf32>
// CHECK-NEXT:    %{{.*}} = graph.reshape %m : tensor<1x16x1x1x16xf32> -> tensor<1x256x1x1xf32>
// CHECK:         %d = graph.blocked_conv %c, %{{.*}} blocks = 16, 1 : tensor<1x16x56x56x16xf32>, tensor<64x16x16x1x1xf32> -> tensor<1x64x56x56xf32>
func.func @network(%x: tensor<1x3x112x112xf32>) -> (tensor<1x256x1x1xf32>, tensor<1x64x56x56xf32>) {
  %v = graph.constant dense<0.5> : tensor<64x3x3x3xf32>
  %w = graph.constant dense<0.5> : tensor<256x64x1x1xf32>
  %u = graph.constant dense<0.5> : tensor<64x256x1x1xf32>
  %bias = graph.constant dense<0.5> : tensor<64x1x1xf32>
  %a = graph.conv %x, %v strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x3x112x112xf32>, tensor<64x3x3x3xf32> -> tensor<1x64x56x56xf32>
  %b = graph.add %a, %bias : tensor<1x64x56x56xf32>, tensor<64x1x1xf32> -> tensor<1x64x56x56xf32>
  %r = graph.relu %b : tensor<1x64x56x56xf32>
  %p = graph.max_pool %r window = [1, 1, 3, 3] strides = [1, 1, 1, 1] dilations = [1, 1, 1, 1] low = [0, 0, 1, 1] high = [0, 0, 1, 1] : tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf32>
  %c = graph.conv %p, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32> -> tensor<1x256x56x56xf32>
  %m = graph.mean %c axes = [2, 3] keepdims : tensor<1x256x56x56xf32> -> tensor<1x256x1x1xf32>
  %d = graph.conv %c, %u strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x256x56x56xf32>, tensor<64x256x1x1xf32> -> tensor<1x64x56x56xf32>
  func.return %m, %d : tensor<1x256x1x1xf32>, tensor<1x64x56x56xf32>
}

// REMARK: channels are as they are: graph.transpose needs them so
// CHECK-LABEL: func.func @transposed
// CHECK-NOT:   graph.blocked_conv
func.func @transposed(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x56x56x64xf32>) {
  %w = graph.constant dense<0.5> : tensor<64x64x1x1xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x56x56xf32>
  %b = graph.conv %a, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x56x56xf32>
  %t = graph.transpose %a perm = [0, 2, 3, 1] : tensor<1x64x56x56xf32> -> tensor<1x56x56x64xf32>
  func.return %b, %t : tensor<1x64x56x56xf32>, tensor<1x56x56x64xf32>
}

// Channels of groups of several are not told apart by blocks, and weights that are not known would be put into blocks in each call.
// REMARK: channels are as they are: 36 are no whole blocks of 8
// REMARK: channels are as they are: graph.conv needs them so
// CHECK-LABEL: func.func @others
// CHECK-NOT:   graph.blocked_conv
func.func @others(%x: tensor<1x64x28x28xf32>, %u: tensor<64x64x1x1xf32>) -> (tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>) {
  %w = graph.constant dense<0.5> : tensor<36x64x1x1xf32>
  %v = graph.constant dense<0.5> : tensor<64x36x1x1xf32>
  %h = graph.constant dense<0.5> : tensor<64x64x1x1xf32>
  %g = graph.constant dense<0.5> : tensor<64x2x3x3xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x28x28xf32>, tensor<36x64x1x1xf32> -> tensor<1x36x28x28xf32>
  %b = graph.conv %a, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x36x28x28xf32>, tensor<64x36x1x1xf32> -> tensor<1x64x28x28xf32>
  %c = graph.conv %b, %g strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 32 : tensor<1x64x28x28xf32>, tensor<64x2x3x3xf32> -> tensor<1x64x28x28xf32>
  %f = graph.conv %b, %h strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x28x28xf32>
  %d = graph.conv %x, %u strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x28x28xf32>
  %e = graph.conv %d, %u strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x28x28xf32>
  func.return %c, %e : tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>
}

// REMARK: channels are as they are: in blocks no less time is predicted
// CHECK-LABEL: func.func @small
// CHECK-NOT:   graph.blocked_conv
func.func @small(%x: tensor<1x1x1x16xf32>) -> tensor<1x1x1x16xf32> {
  %w = graph.constant dense<0.5> : tensor<16x1x1x1xf32>
  %v = graph.constant dense<0.5> : tensor<1x16x1x1xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x1x1x16xf32>, tensor<16x1x1x1xf32> -> tensor<1x16x1x16xf32>
  %b = graph.conv %a, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x16x1x16xf32>, tensor<1x16x1x1xf32> -> tensor<1x1x1x16xf32>
  func.return %b : tensor<1x1x1x16xf32>
}

// An argument that is added to an image would have to be put into blocks first.
// REMARK: channels are as they are: an argument has them so
// CHECK-LABEL: func.func @residual
// CHECK-NOT:   graph.blocked_conv
func.func @residual(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = graph.constant dense<0.5> : tensor<64x64x1x1xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x56x56xf32>
  %b = graph.add %a, %x : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf32>
  %c = graph.conv %b, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x56x56xf32>
  func.return %c : tensor<1x64x56x56xf32>
}

// Images are joined and cut along channels by whole blocks; a constant that is joined to them keeps its channels.
// REMARK: channels are as they are: graph.concat needs them so
// CHECK-LABEL: func.func @joined
// CHECK:         %c = graph.concat %a, %b axis = 1 : tensor<1x16x56x56x16xf32>, tensor<1x16x56x56x16xf32> -> tensor<1x32x56x56x16xf32>
// CHECK-NEXT:    %d, %e = graph.split %c axis = 1 sizes = [4, 28] : tensor<1x32x56x56x16xf32> -> tensor<1x4x56x56x16xf32>, tensor<1x28x56x56x16xf32>
// CHECK:         %g = graph.conv %x
func.func @joined(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>) {
  %v = graph.constant dense<0.5> : tensor<256x64x1x1xf32>
  %w = graph.constant dense<0.5> : tensor<256x64x1x1xf32>
  %t = graph.constant dense<0.5> : tensor<64x256x1x1xf32>
  %u = graph.constant dense<0.5> : tensor<64x448x1x1xf32>
  %k = graph.constant dense<0.5> : tensor<1x192x56x56xf32>
  %a = graph.conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32> -> tensor<1x256x56x56xf32>
  %b = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32> -> tensor<1x256x56x56xf32>
  %c = graph.concat %a, %b axis = 1 : tensor<1x256x56x56xf32>, tensor<1x256x56x56xf32> -> tensor<1x512x56x56xf32>
  %d, %e = graph.split %c axis = 1 sizes = [64, 448] : tensor<1x512x56x56xf32> -> tensor<1x64x56x56xf32>, tensor<1x448x56x56xf32>
  %m = graph.conv %d, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32> -> tensor<1x256x56x56xf32>
  %f = graph.conv %m, %t strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x256x56x56xf32>, tensor<64x256x1x1xf32> -> tensor<1x64x56x56xf32>
  %h = graph.conv %e, %u strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x448x56x56xf32>, tensor<64x448x1x1xf32> -> tensor<1x64x56x56xf32>
  %g = graph.conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32> -> tensor<1x256x56x56xf32>
  %j = graph.concat %g, %k axis = 1 : tensor<1x256x56x56xf32>, tensor<1x192x56x56xf32> -> tensor<1x448x56x56xf32>
  %i = graph.conv %j, %u strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x448x56x56xf32>, tensor<64x448x1x1xf32> -> tensor<1x64x56x56xf32>
  %l = graph.conv %g, %t strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x256x56x56xf32>, tensor<64x256x1x1xf32> -> tensor<1x64x56x56xf32>
  %s = graph.add %i, %l : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32> -> tensor<1x64x56x56xf32>
  func.return %f, %h, %s : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
}

// A convolution of each channel alone takes and makes images with their channels in blocks. That it is quicker so, with a border
// which what computes its image writes, makes up for what the others may lose.
// CHECK-LABEL: func.func @depthwise
// CHECK:         %a = graph.blocked_conv %x, %{{.*}} blocks = 1, 16 : tensor<1x24x28x28xf32>, tensor<9x16x24x1x1xf32> -> tensor<1x9x28x28x16xf32>
// CHECK-NEXT:    %r = graph.relu %a
// CHECK-NEXT:    %{{.*}} = graph.constant
// CHECK-NEXT:    %b = graph.blocked_depthwise_conv %r, %{{.*}} strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] : tensor<1x9x28x28x16xf32>, tensor<9x3x3x16xf32> -> tensor<1x9x14x14x16xf32>
// CHECK:         %c = graph.blocked_conv %b, %{{.*}} blocks = 16, 1
func.func @depthwise(%x: tensor<1x24x28x28xf32>) -> tensor<1x32x14x14xf32> {
  %u = graph.constant dense<0.5> : tensor<144x24x1x1xf32>
  %v = graph.constant dense<0.5> : tensor<144x1x3x3xf32>
  %w = graph.constant dense<0.5> : tensor<32x144x1x1xf32>
  %a = graph.conv %x, %u strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x24x28x28xf32>, tensor<144x24x1x1xf32> -> tensor<1x144x28x28xf32>
  %r = graph.relu %a : tensor<1x144x28x28xf32>
  %b = graph.conv %r, %v strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 144 : tensor<1x144x28x28xf32>, tensor<144x1x3x3xf32> -> tensor<1x144x14x14xf32>
  %c = graph.conv %b, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x144x14x14xf32>, tensor<32x144x1x1xf32> -> tensor<1x32x14x14xf32>
  func.return %c : tensor<1x32x14x14xf32>
}

// 72 channels are whole blocks of half a vector, which takes half of a full one's time here.
// REMARK: channels of 1 of 1 images in blocks of 8: convolutions are predicted to take
// CHECK-LABEL: func.func @halves
// CHECK:         graph.blocked_conv %x, %{{.*}} blocks = 1, 8 : tensor<1x24x28x28xf32>, tensor<9x8x24x1x1xf32> -> tensor<1x9x28x28x8xf32>
// CHECK:         graph.blocked_depthwise_conv %{{.*}} : tensor<1x9x28x28x8xf32>, tensor<9x3x3x8xf32> -> tensor<1x9x14x14x8xf32>
// CHECK:         graph.blocked_conv %{{.*}} blocks = 8, 1 : tensor<1x9x14x14x8xf32>, tensor<32x9x8x1x1xf32> -> tensor<1x32x14x14xf32>
func.func @halves(%x: tensor<1x24x28x28xf32>) -> tensor<1x32x14x14xf32> {
  %u = graph.constant dense<0.5> : tensor<72x24x1x1xf32>
  %v = graph.constant dense<0.5> : tensor<72x1x3x3xf32>
  %w = graph.constant dense<0.5> : tensor<32x72x1x1xf32>
  %a = graph.conv %x, %u strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x24x28x28xf32>, tensor<72x24x1x1xf32> -> tensor<1x72x28x28xf32>
  %r = graph.relu %a : tensor<1x72x28x28xf32>
  %b = graph.conv %r, %v strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 72 : tensor<1x72x28x28xf32>, tensor<72x1x3x3xf32> -> tensor<1x72x14x14xf32>
  %c = graph.conv %b, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x72x14x14xf32>, tensor<32x72x1x1xf32> -> tensor<1x32x14x14xf32>
  func.return %c : tensor<1x32x14x14xf32>
}

// Winograd's transforms read and write images with channels last: blocks of channels are transposed to there and back as
// they are.
// CHECK-LABEL: func.func @tiles
// CHECK:         %[[B:.*]] = graph.blocked_conv %x, {{.*}} blocks = 1, 16 {{.*}} -> tensor<1x4x55x56x16xf32>
// CHECK:         %[[S:.*]] = graph.slice
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[S]]{{.*}} -> tensor<1x55x56x4x16xf32>
// CHECK-NEXT:    %[[O:.*]] = graph.transpose %[[R]] perm = [0, 3, 1, 2, 4]
// CHECK-NEXT:    %[[A:.*]] = graph.add %[[B]], %[[O]]
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[A]] perm = [0, 2, 3, 1, 4]
// CHECK-NEXT:    %[[L:.*]] = graph.reshape %[[T]]{{.*}} -> tensor<1x55x56x64xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.pad %[[L]]
// CHECK-NEXT:    graph.winograd_input %[[P]]
func.func @tiles(%x: tensor<1x256x55x56xf32>, %m: tensor<36x196x64xf32>) -> tensor<36x196x64xf32> {
  %w = graph.constant dense<0.5> : tensor<64x256x1x1xf32>
  %a = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x256x55x56xf32>, tensor<64x256x1x1xf32> -> tensor<1x64x55x56xf32>
  %y = graph.winograd_output %m tile = 4 rows = 14 columns = 14 : tensor<36x196x64xf32> -> tensor<1x56x56x64xf32>
  %s = graph.slice %y starts = [0, 0, 0, 0] stops = [1, 55, 56, 64] steps = [1, 1, 1, 1] : tensor<1x56x56x64xf32> -> tensor<1x55x56x64xf32>
  %b = graph.transpose %s perm = [0, 3, 1, 2] : tensor<1x55x56x64xf32> -> tensor<1x64x55x56xf32>
  %c = graph.add %a, %b : tensor<1x64x55x56xf32>, tensor<1x64x55x56xf32> -> tensor<1x64x55x56xf32>
  %t = graph.transpose %c perm = [0, 2, 3, 1] : tensor<1x64x55x56xf32> -> tensor<1x55x56x64xf32>
  %p = graph.pad %t low = [0, 1, 1, 0] high = [0, 2, 1, 0] value = 0.0 : f32 : tensor<1x55x56x64xf32> -> tensor<1x58x58x64xf32>
  %v = graph.winograd_input %p tile = 4 : tensor<1x58x58x64xf32> -> tensor<36x196x64xf32>
  func.return %v : tensor<36x196x64xf32>
}

// RUN: stepwell compile %s --emit plan --target sapphire-rapids | filecheck %s --check-prefixes CHECK,WIDE
// RUN: stepwell compile %s --emit plan --target zen5 | filecheck %s

// Grouped convolutions are reductions over windows, with the outputs of a group as further rows, and contractions of each
// group: the plan that is predicted to take less is chosen. Of 28 columns lanes would leave some empty, which the 32
// outputs of a group fill: where a core has more ports for loads than they need both are predicted to take as long.

// WIDE: wide_groups.
// WIDE-NEXT: chosen contraction: direct, tile 14x16 of axes 3, 1,
// CHECK: narrow_groups.
// CHECK-NEXT: chosen windows: tile
// CHECK: depthwise.
// CHECK-NEXT: chosen windows: tile
// CHECK-NOT: contraction

func.func @wide_groups(%x: tensor<1x128x28x28xf32>) -> tensor<1x128x28x28xf32> {
  %w = arith.constant dense<0.5> : tensor<128x32x3x3xf32>
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 4 : tensor<1x128x28x28xf32>, tensor<128x32x3x3xf32> -> tensor<1x128x28x28xf32>
  func.return %conv : tensor<1x128x28x28xf32>
}

func.func @narrow_groups(%x: tensor<1x128x56x56xf32>, %w: tensor<128x4x3x3xf32>) -> tensor<1x128x56x56xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 32 : tensor<1x128x56x56xf32>, tensor<128x4x3x3xf32> -> tensor<1x128x56x56xf32>
  func.return %conv : tensor<1x128x56x56xf32>
}

func.func @depthwise(%x: tensor<1x96x56x56xf32>, %w: tensor<96x1x3x3xf32>) -> tensor<1x96x56x56xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 96 : tensor<1x96x56x56xf32>, tensor<96x1x3x3xf32> -> tensor<1x96x56x56xf32>
  func.return %conv : tensor<1x96x56x56xf32>
}

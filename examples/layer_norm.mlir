// Layer normalization of an activation: a residual sum, two reductions over each row, scale and bias.
// The variance is that of the centered row, so that a large mean does not cancel its digits.
func.func @layer_norm(%x: tensor<3x31xf32>, %residual: tensor<3x31xf32>, %scale: tensor<31xf32>, %bias: tensor<31xf32>) -> tensor<3x31xf32> {
  %sum = graph.add %x, %residual : tensor<3x31xf32>, tensor<3x31xf32> -> tensor<3x31xf32>
  %gelu = graph.gelu %sum approximate = "tanh" : tensor<3x31xf32>
  %norm = graph.layer_norm %gelu, %scale, %bias axis = 1 epsilon = 1.000000e-05 : tensor<3x31xf32>, tensor<31xf32>, tensor<31xf32> -> tensor<3x31xf32>
  func.return %norm : tensor<3x31xf32>
}

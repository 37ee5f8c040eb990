// Softmax of logits that exp alone would overflow on: the greatest of each row is subtracted first.
// The second result, the logarithm, comes from its own formula and not from log(softmax(x)).
func.func @softmax(%x: tensor<4x33xf32>) -> (tensor<4x33xf32>, tensor<4x33xf32>) {
  %scale = graph.constant dense<1.000000e+02> : tensor<f32>
  %logits = graph.mul %x, %scale : tensor<4x33xf32>, tensor<f32> -> tensor<4x33xf32>
  %softmax = graph.softmax %logits axis = 1 : tensor<4x33xf32>
  %log_softmax = graph.log_softmax %logits axis = 1 : tensor<4x33xf32>
  func.return %softmax, %log_softmax : tensor<4x33xf32>, tensor<4x33xf32>
}

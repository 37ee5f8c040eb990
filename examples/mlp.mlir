// A two-layer network, softmax(relu(x @ w1 + b1) @ w2 + b2): the classifier everything here began with.
// Each contraction takes its bias and activation along; softmax is decomposed into stable steps.
func.func @mlp(%x: tensor<5x17xf32>, %w1: tensor<17x33xf32>, %b1: tensor<33xf32>, %w2: tensor<33x7xf32>, %b2: tensor<7xf32>) -> tensor<5x7xf32> {
  %matmul1 = graph.matmul %x, %w1 : tensor<5x17xf32>, tensor<17x33xf32> -> tensor<5x33xf32>
  %add1 = graph.add %matmul1, %b1 : tensor<5x33xf32>, tensor<33xf32> -> tensor<5x33xf32>
  %hidden = graph.relu %add1 : tensor<5x33xf32>
  %matmul2 = graph.matmul %hidden, %w2 : tensor<5x33xf32>, tensor<33x7xf32> -> tensor<5x7xf32>
  %logits = graph.add %matmul2, %b2 : tensor<5x7xf32>, tensor<7xf32> -> tensor<5x7xf32>
  %softmax = graph.softmax %logits axis = 1 : tensor<5x7xf32>
  func.return %softmax : tensor<5x7xf32>
}

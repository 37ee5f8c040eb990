// A bag of words: the rows of a table that an integer tensor names, averaged, then a linear classifier.
// Reads at computed indices; a negative index counts from the end, one out of range is moved into it.
func.func @embedding(%table: tensor<11x5xf32>, %words: tensor<3x7xi64>, %w: tensor<5x2xf32>) -> (tensor<3x2xf32>, tensor<3xi64>) {
  %rows = graph.gather %table, %words axis = 0 : tensor<11x5xf32>, tensor<3x7xi64> -> tensor<3x7x5xf32>
  %bag = graph.mean %rows axes = [1] : tensor<3x7x5xf32> -> tensor<3x5xf32>
  %logits = graph.matmul %bag, %w : tensor<3x5xf32>, tensor<5x2xf32> -> tensor<3x2xf32>
  %class = graph.argmax %logits axis = 1 : tensor<3x2xf32> -> tensor<3xi64>
  func.return %logits, %class : tensor<3x2xf32>, tensor<3xi64>
}

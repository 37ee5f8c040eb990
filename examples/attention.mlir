// Causal self-attention with two heads: batched contractions, a mask made by comparing two counters,
// and a softmax between them. Masked scores are -infinity, so that their weights are exactly 0.
func.func @attention(%q: tensor<2x7x5xf32>, %k: tensor<2x7x5xf32>, %v: tensor<2x7x5xf32>) -> tensor<7x10xf32> {
  %k_t = graph.transpose %k perm = [0, 2, 1] : tensor<2x7x5xf32> -> tensor<2x5x7xf32>
  %products = graph.matmul %q, %k_t : tensor<2x7x5xf32>, tensor<2x5x7xf32> -> tensor<2x7x7xf32>
  %scale = graph.constant dense<0.447213590> : tensor<f32>
  %scores = graph.mul %products, %scale : tensor<2x7x7xf32>, tensor<f32> -> tensor<2x7x7xf32>
  %row = graph.iota axis = 0 : tensor<7x7xi32>
  %column = graph.iota axis = 1 : tensor<7x7xi32>
  %seen = graph.le %column, %row : tensor<7x7xi32>, tensor<7x7xi32> -> tensor<7x7xi1>
  %never = graph.constant dense<0xff800000> : tensor<f32>
  %masked = graph.where %seen, %scores, %never : tensor<7x7xi1>, tensor<2x7x7xf32>, tensor<f32> -> tensor<2x7x7xf32>
  %weights = graph.softmax %masked axis = 2 : tensor<2x7x7xf32>
  %heads = graph.matmul %weights, %v : tensor<2x7x7xf32>, tensor<2x7x5xf32> -> tensor<2x7x5xf32>
  %by_position = graph.transpose %heads perm = [1, 0, 2] : tensor<2x7x5xf32> -> tensor<7x2x5xf32>
  %joined = graph.reshape %by_position : tensor<7x2x5xf32> -> tensor<7x10xf32>
  func.return %joined : tensor<7x10xf32>
}

// A hidden layer of a network, relu(x @ w + b): the kernel that the README shows at every level.
// A contraction, and an element-wise epilogue that is applied to each row of accumulators.
func.func @hidden(%x: tensor<4x16xf32>, %w: tensor<16x10xf32>, %b: tensor<10xf32>) -> tensor<4x10xf32> {
  %matmul = graph.matmul %x, %w : tensor<4x16xf32>, tensor<16x10xf32> -> tensor<4x10xf32>
  %add = graph.add %matmul, %b : tensor<4x10xf32>, tensor<10xf32> -> tensor<4x10xf32>
  %relu = graph.relu %add : tensor<4x10xf32>
  func.return %relu : tensor<4x10xf32>
}

// A hidden layer of a network, relu(x @ w + b): the kernel that the README shows at every level.
// A contraction, and an element-wise epilogue that is applied to each row of accumulators.
func.func @hidden(%x: tensor<8x64xf32>, %w: tensor<64x10xf32>, %b: tensor<10xf32>) -> tensor<8x10xf32> {
  %matmul = graph.matmul %x, %w : tensor<8x64xf32>, tensor<64x10xf32> -> tensor<8x10xf32>
  %add = graph.add %matmul, %b : tensor<8x10xf32>, tensor<10xf32> -> tensor<8x10xf32>
  %relu = graph.relu %add : tensor<8x10xf32>
  func.return %relu : tensor<8x10xf32>
}

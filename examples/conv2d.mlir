// A 2-D convolution with padding 1 and stride 2, and its bias: one compute of four parallel and three
// reduction iterators. Reads outside the image give 0.0 by `else`: no padded copy is made.
func.func @conv2d(%image: tensor<2x3x7x9xf32>, %filter: tensor<4x3x3x3xf32>, %bias: tensor<4xf32>) -> tensor<2x4x4x5xf32> {
  %conv = te.compute [%n = 2, %f = 4, %y = 4, %x = 5] add [%c = 3, %dy = 3, %dx = 3] (%a = %image[%n, %c, %y * 2 + %dy - 1, %x * 2 + %dx - 1] else 0.0 : f32, %b = %filter[%f, %c, %dy, %dx]) : (tensor<2x3x7x9xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x4x5xf32> {
    %product = arith.mulf %a, %b : f32
    te.yield %product : f32
  }
  %biased = te.compute [%n = 2, %f = 4, %y = 4, %x = 5] (%a = %conv[%n, %f, %y, %x], %b = %bias[%f]) : (tensor<2x4x4x5xf32>, tensor<4xf32>) -> tensor<2x4x4x5xf32> {
    %sum = arith.addf %a, %b : f32
    te.yield %sum : f32
  }
  func.return %biased : tensor<2x4x4x5xf32>
}

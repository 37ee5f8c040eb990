// Bytes of an image to normalized floats and back: unsigned arithmetic, casts that saturate, clipping.
// Only this level has `ui8`; from te down the type is i8 and the operations carry the sign.
func.func @image_normalize(%image: tensor<3x5x7xui8>, %mean: tensor<3x1x1xf32>) -> (tensor<3x5x7xf32>, tensor<3x5x7xui8>) {
  %floats = graph.cast %image : tensor<3x5x7xui8> -> tensor<3x5x7xf32>
  %centered = graph.sub %floats, %mean : tensor<3x5x7xf32>, tensor<3x1x1xf32> -> tensor<3x5x7xf32>
  %deviation = graph.constant dense<4.500000e+00> : tensor<f32>
  %normal = graph.div %centered, %deviation : tensor<3x5x7xf32>, tensor<f32> -> tensor<3x5x7xf32>
  %clipped = graph.clip %normal min = -2.000000e+00 : f32 max = 2.000000e+00 : f32 : tensor<3x5x7xf32>
  %dark_limit = graph.constant dense<3> : tensor<ui8>
  %dark = graph.lt %image, %dark_limit : tensor<3x5x7xui8>, tensor<ui8> -> tensor<3x5x7xi1>
  %zero = graph.constant dense<0.000000e+00> : tensor<f32>
  %lit = graph.where %dark, %zero, %clipped : tensor<3x5x7xi1>, tensor<f32>, tensor<3x5x7xf32> -> tensor<3x5x7xf32>
  %gain = graph.constant dense<1.270000e+02> : tensor<f32>
  %stretched = graph.mul %lit, %gain : tensor<3x5x7xf32>, tensor<f32> -> tensor<3x5x7xf32>
  %bytes = graph.cast %stretched : tensor<3x5x7xf32> -> tensor<3x5x7xui8>
  func.return %lit, %bytes : tensor<3x5x7xf32>, tensor<3x5x7xui8>
}

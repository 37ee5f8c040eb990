// Nearest neighbour: squared distances of points to centres by broadcasting, and an argmin over them.
// One-hot rows and counts are made by comparing with a counter, as a histogram without scatter.
func.func @nearest(%points: tensor<17x3xf64>, %centres: tensor<5x3xf64>) -> (tensor<17xi64>, tensor<5xi32>) {
  %a = graph.expand_dims %points axes = [1] : tensor<17x3xf64> -> tensor<17x1x3xf64>
  %difference = graph.sub %a, %centres : tensor<17x1x3xf64>, tensor<5x3xf64> -> tensor<17x5x3xf64>
  %square = graph.mul %difference, %difference : tensor<17x5x3xf64>, tensor<17x5x3xf64> -> tensor<17x5x3xf64>
  %distance = graph.sum %square axes = [2] : tensor<17x5x3xf64> -> tensor<17x5xf64>
  %nearest = graph.argmin %distance axis = 1 : tensor<17x5xf64> -> tensor<17xi64>
  %column = graph.expand_dims %nearest axes = [1] : tensor<17xi64> -> tensor<17x1xi64>
  %counter = graph.iota axis = 0 : tensor<5xi64>
  %is = graph.eq %column, %counter : tensor<17x1xi64>, tensor<5xi64> -> tensor<17x5xi1>
  %ones = graph.cast %is : tensor<17x5xi1> -> tensor<17x5xi32>
  %counts = graph.sum %ones axes = [0] : tensor<17x5xi32> -> tensor<5xi32>
  func.return %nearest, %counts : tensor<17xi64>, tensor<5xi32>
}

// Nothing but movement: reversed and strided slices, a pad, parts of a split joined in another order.
// All of it becomes index arithmetic: reads through affine maps, with a value for those that fall outside.
func.func @shuffle(%x: tensor<6x8xi32>) -> (tensor<6x9xi32>, tensor<8x6xi32>) {
  %reversed = graph.slice %x starts = [5, 0] stops = [-1, 8] steps = [-1, 1] : tensor<6x8xi32> -> tensor<6x8xi32>
  %odd = graph.slice %x starts = [0, 1] stops = [6, 8] steps = [1, 2] : tensor<6x8xi32> -> tensor<6x4xi32>
  %left, %right = graph.split %reversed axis = 1 sizes = [3, 5] : tensor<6x8xi32> -> tensor<6x3xi32>, tensor<6x5xi32>
  %joined = graph.concat %right, %odd axis = 1 : tensor<6x5xi32>, tensor<6x4xi32> -> tensor<6x9xi32>
  %padded = graph.pad %left low = [1, 0] high = [1, 3] value = -1 : i32 : tensor<6x3xi32> -> tensor<8x6xi32>
  func.return %joined, %padded : tensor<6x9xi32>, tensor<8x6xi32>
}

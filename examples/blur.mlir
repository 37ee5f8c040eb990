// A separable blur, [1 2 1] / 4 along the rows and then along the columns, the edges repeated.
// The clamp to the edge is in the body, where the whole tensor is read at computed indices.
func.func @blur(%image: tensor<9x17xf64>) -> tensor<9x17xf64> {
  %rows = te.compute [%y = 9, %x = 17] (%whole = %image) : (tensor<9x17xf64>) -> tensor<9x17xf64> {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %last = arith.constant 16 : index
    %before = arith.subi %x, %one : index
    %after = arith.addi %x, %one : index
    %left = arith.maxsi %before, %zero : index
    %right = arith.minsi %after, %last : index
    %l = tensor.extract %whole[%y, %left] : tensor<9x17xf64>
    %m = tensor.extract %whole[%y, %x] : tensor<9x17xf64>
    %r = tensor.extract %whole[%y, %right] : tensor<9x17xf64>
    %two = arith.constant 2.0 : f64
    %quarter = arith.constant 0.25 : f64
    %sides = arith.addf %l, %r : f64
    %middle = arith.mulf %m, %two : f64
    %sum = arith.addf %sides, %middle : f64
    %mean = arith.mulf %sum, %quarter : f64
    te.yield %mean : f64
  }
  %blurred = te.compute [%y = 9, %x = 17] (%whole = %rows) : (tensor<9x17xf64>) -> tensor<9x17xf64> {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %last = arith.constant 8 : index
    %before = arith.subi %y, %one : index
    %after = arith.addi %y, %one : index
    %above = arith.maxsi %before, %zero : index
    %below = arith.minsi %after, %last : index
    %a = tensor.extract %whole[%above, %x] : tensor<9x17xf64>
    %m = tensor.extract %whole[%y, %x] : tensor<9x17xf64>
    %b = tensor.extract %whole[%below, %x] : tensor<9x17xf64>
    %two = arith.constant 2.0 : f64
    %quarter = arith.constant 0.25 : f64
    %sides = arith.addf %a, %b : f64
    %middle = arith.mulf %m, %two : f64
    %sum = arith.addf %sides, %middle : f64
    %mean = arith.mulf %sum, %quarter : f64
    te.yield %mean : f64
  }
  func.return %blurred : tensor<9x17xf64>
}

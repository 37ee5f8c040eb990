// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @extent(%xs: tensor<6x2xf32>) {
  %ys = graph.scan 7 over (%x = %xs) : (tensor<6x2xf32>) -> tensor<7x2xf32> {
    graph.yield %x : tensor<2xf32>
  }
  func.return
}
// CHECK: found tensor<6x2xf32> to scan over in 7 steps, expected a leading axis of 7; make them agree

// -----

func.func @state(%h0: tensor<2xf32>) {
  %h = graph.scan 7 carry (%h = %h0) : (tensor<2xf32>) -> tensor<2xf32> {
    %n = graph.sum %h axes = [0] : tensor<2xf32> -> tensor<f32>
    graph.yield %n : tensor<f32>
  }
  func.return
}
// CHECK: found a body that yields (tensor<f32>), expected (tensor<2xf32>); make them agree

// -----

func.func @negative(%h0: tensor<2xf32>) {
  %h = graph.scan -1 carry (%h = %h0) : (tensor<2xf32>) -> tensor<2xf32> {
    graph.yield %h : tensor<2xf32>
  }
  func.return
}
// CHECK: found -1 steps, expected none below 0; mend the number

// -----

func.func @types(%h0: tensor<2xf32>) {
  %h = graph.scan 3 carry (%h = %h0) : () -> tensor<2xf32> {
    graph.yield %h : tensor<2xf32>
  }
  func.return
}
// CHECK: found 0 operand types, expected 1, one for each operand; make them agree

// -----

func.func @flag(%go: tensor<2xi1>, %k0: tensor<i64>) {
  %n = graph.while %go carry (%k = %k0) : (tensor<2xi1>, tensor<i64>) -> tensor<i64> {
    graph.yield %go, %k : tensor<2xi1>, tensor<i64>
  }
  func.return
}
// CHECK: found a condition of type tensor<2xi1>, expected tensor<i1>; compare, and reduce to one element

// -----

func.func @branches(%go: tensor<i1>, %a: tensor<2xf32>, %b: tensor<3xf32>) {
  %n = graph.if %go : tensor<i1> -> tensor<2xf32> {
    graph.yield %a : tensor<2xf32>
  } else {
    graph.yield %b : tensor<3xf32>
  }
  func.return
}
// CHECK: found a body that yields (tensor<3xf32>), expected (tensor<2xf32>); make them agree

// -----

func.func @scalar(%go: i1, %a: tensor<2xf32>) {
  %n = graph.if %go : i1 -> tensor<2xf32> {
    graph.yield %a : tensor<2xf32>
  } else {
    graph.yield %a : tensor<2xf32>
  }
  func.return
}
// CHECK: found a value of type i1, expected a ranked tensor; graph.if takes no others

// -----

func.func @yield_of_a_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<4xf32>
}
// CHECK: 'graph.yield' expects parent op to be one of 'graph.scan', 'graph.while', 'graph.if'

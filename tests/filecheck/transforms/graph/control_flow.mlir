// RUN: stepwell-opt %s -p canonicalize | filecheck %s

// What is known of a condition or a number of steps leaves no region.

// CHECK-LABEL: func.func @if_true
// CHECK-NEXT:    %e = graph.exp %x
// CHECK-NEXT:    func.return %e
func.func @if_true(%x: tensor<4xf32>) -> tensor<4xf32> {
  %flag = graph.constant dense<true> : tensor<i1>
  %y = graph.if %flag : tensor<i1> -> tensor<4xf32> {
    %e = graph.exp %x : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A branch that is never taken goes with what only it used, as does one inside the branch that is taken.
// CHECK-LABEL: func.func @if_false
// CHECK-NEXT:    %e = graph.exp %x
// CHECK-NEXT:    func.return %e
func.func @if_false(%x: tensor<4xf32>) -> tensor<4xf32> {
  %no = graph.constant dense<false> : tensor<i1>
  %yes = graph.not %no : tensor<i1>
  %unused = graph.tanh %x : tensor<4xf32>
  %y = graph.if %no : tensor<i1> -> tensor<4xf32> {
    graph.yield %unused : tensor<4xf32>
  } else {
    %z = graph.if %yes : tensor<i1> -> tensor<4xf32> {
      %e = graph.exp %x : tensor<4xf32>
      graph.yield %e : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    graph.yield %z : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @if_unknown
// CHECK:         graph.if %flag
func.func @if_unknown(%flag: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.if %flag : tensor<i1> -> tensor<4xf32> {
    %e = graph.exp %x : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_false
// CHECK-NEXT:    func.return %k0
func.func @while_false(%k0: tensor<i64>) -> tensor<i64> {
  %go = graph.constant dense<false> : tensor<i1>
  %n = graph.while %go carry (%k = %k0) : (tensor<i1>, tensor<i64>) -> tensor<i64> {
    graph.yield %go, %k : tensor<i1>, tensor<i64>
  }
  func.return %n : tensor<i64>
}

// CHECK-LABEL: func.func @no_steps
// CHECK-NEXT:    %[[NONE:.*]] = graph.constant dense<> : tensor<0x2xf32>
// CHECK-NEXT:    func.return %h0, %[[NONE]]
func.func @no_steps(%h0: tensor<2xf32>) -> (tensor<2xf32>, tensor<0x2xf32>) {
  %last, %ys = graph.scan 0 carry (%h = %h0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<0x2xf32>) {
    graph.yield %h, %h : tensor<2xf32>, tensor<2xf32>
  }
  func.return %last, %ys : tensor<2xf32>, tensor<0x2xf32>
}

// A scan that nothing needs is gone.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT:    func.return %h0
func.func @unused(%h0: tensor<2xf32>) -> tensor<2xf32> {
  %last = graph.scan 5 carry (%h = %h0) : (tensor<2xf32>) -> tensor<2xf32> {
    %e = graph.exp %h : tensor<2xf32>
    graph.yield %e : tensor<2xf32>
  }
  func.return %h0 : tensor<2xf32>
}

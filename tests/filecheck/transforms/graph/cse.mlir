// RUN: stepwell-opt %s -p graph-cse | filecheck %s
// RUN: stepwell-opt %s -p cse | filecheck %s

// What is computed twice is computed once, also where the second one is in the body of a loop.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    [[E:%.*]] = graph.exp %x
// CHECK-NEXT:    [[S:%.*]] = graph.sum [[E]] axes = [0]
// CHECK-NEXT:    [[P:%.*]] = graph.add [[S]], [[S]]
// CHECK-NEXT:    [[L:%.*]] = graph.scan 3 carry (%c = [[S]]) : (tensor<f32>) -> tensor<f32> {
// CHECK-NEXT:      [[N:%.*]] = graph.add %c, [[S]]
// CHECK-NEXT:      graph.yield [[N]]
// CHECK:         func.return [[P]], [[L]]
func.func @twice(%x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %e = graph.exp %x : tensor<4xf32>
  %f = graph.exp %x : tensor<4xf32>
  %s = graph.sum %e axes = [0] : tensor<4xf32> -> tensor<f32>
  %t = graph.sum %f axes = [0] : tensor<4xf32> -> tensor<f32>
  %p = graph.add %s, %t : tensor<f32>, tensor<f32> -> tensor<f32>
  %l = graph.scan 3 carry (%c = %s) : (tensor<f32>) -> tensor<f32> {
    %g = graph.exp %x : tensor<4xf32>
    %u = graph.sum %g axes = [0] : tensor<4xf32> -> tensor<f32>
    %n = graph.add %c, %u : tensor<f32>, tensor<f32> -> tensor<f32>
    graph.yield %n : tensor<f32>
  }
  func.return %p, %l : tensor<f32>, tensor<f32>
}

// Another axis, other operands and another type are something else, and what is in one loop is not there in the next.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: graph.sum
// CHECK-COUNT-2: graph.sub
// CHECK:         graph.scan
// CHECK:           graph.exp
// CHECK:         graph.scan
// CHECK:           graph.exp
func.func @apart(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = graph.sum %x axes = [0] : tensor<4x4xf32> -> tensor<4xf32>
  %b = graph.sum %x axes = [1] : tensor<4x4xf32> -> tensor<4xf32>
  %c = graph.sub %a, %b : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %d = graph.sub %b, %a : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %l = graph.scan 3 carry (%s = %a) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = graph.exp %y : tensor<4xf32>
    %n = graph.add %s, %e : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  %m = graph.scan 4 carry (%s = %a) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = graph.exp %y : tensor<4xf32>
    %n = graph.add %s, %e : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  func.return %c, %d, %l, %m : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

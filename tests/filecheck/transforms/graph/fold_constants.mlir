// RUN: stepwell-opt %s -p graph-fold-constants --split-input-file | filecheck %s

// A table of cosines, at the width in which it is read; what repeats it stays.
// CHECK-LABEL: func.func @table
// CHECK-NEXT:    %[[TABLE:.*]] = graph.constant dense<[1.000000e+00, 0.540302277, -0.416146845]> : tensor<3xf32>
// CHECK-NEXT:    %rows = graph.broadcast_to %[[TABLE]] : tensor<3xf32> -> tensor<2x3xf32>
// CHECK-NEXT:    %r = graph.mul %x, %rows
// CHECK-NEXT:    func.return %r
func.func @table(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %i = graph.iota axis = 0 : tensor<3xi64>
  %angle = graph.cast %i : tensor<3xi64> -> tensor<3xf64>
  %cos = graph.cos %angle : tensor<3xf64>
  %narrow = graph.cast %cos : tensor<3xf64> -> tensor<3xf32>
  %rows = graph.broadcast_to %narrow : tensor<3xf32> -> tensor<2x3xf32>
  %r = graph.mul %x, %rows : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// -----

// A product would store its operand first, however cheap that is; an element-wise operation computes it itself.
// CHECK-LABEL: func.func @cheap
// CHECK:         %[[TWICE:.*]] = graph.constant dense<[0.000000e+00, 2.000000e+00, 4.000000e+00]> : tensor<3xf32>
// CHECK:         graph.matmul %x, %[[TWICE]]
// CHECK:         %[[IOTA:.*]] = graph.iota axis = 0 : tensor<3xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.add %[[IOTA]], %[[IOTA]]
// CHECK-NEXT:    graph.mul %x, %[[SUM]]
func.func @cheap(%x: tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>) {
  %i = graph.iota axis = 0 : tensor<3xf32>
  %twice = graph.add %i, %i : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %0 = graph.matmul %x, %twice : tensor<3xf32>, tensor<3xf32> -> tensor<f32>
  %j = graph.iota axis = 0 : tensor<3xf32>
  %sum = graph.add %j, %j : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %1 = graph.mul %x, %sum : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %0, %1 : tensor<f32>, tensor<3xf32>
}

// -----

// A program without arguments is run, not looked up.
// CHECK-LABEL: func.func @result
// CHECK:         graph.exp
func.func @result() -> tensor<3xf32> {
  %i = graph.iota axis = 0 : tensor<3xf32>
  %r = graph.exp %i : tensor<3xf32>
  func.return %r : tensor<3xf32>
}

// -----

// More than is kept.
// CHECK-LABEL: func.func @large
// CHECK:         graph.exp
func.func @large(%x: tensor<4194305xf32>) -> tensor<4194305xf32> {
  %i = graph.iota axis = 0 : tensor<4194305xf32>
  %e = graph.exp %i : tensor<4194305xf32>
  %r = graph.mul %x, %e : tensor<4194305xf32>, tensor<4194305xf32> -> tensor<4194305xf32>
  func.return %r : tensor<4194305xf32>
}

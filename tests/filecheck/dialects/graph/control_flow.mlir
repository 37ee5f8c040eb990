// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: func.func @scan
// CHECK:         %last, %ys = graph.scan 7 reverse carry (%h = %h0) over (%x = %xs) : (tensor<2xf32>, tensor<7x2xf32>) -> (tensor<2xf32>, tensor<7x2xf32>) {
// CHECK-NEXT:      %s = graph.add %h, %x
// CHECK-NEXT:      graph.yield %s, %h : tensor<2xf32>, tensor<2xf32>
func.func @scan(%h0: tensor<2xf32>, %xs: tensor<7x2xf32>) -> (tensor<2xf32>, tensor<7x2xf32>) {
  %last, %ys = graph.scan 7 reverse carry (%h = %h0) over (%x = %xs)
      : (tensor<2xf32>, tensor<7x2xf32>) -> (tensor<2xf32>, tensor<7x2xf32>) {
    %s = graph.add %h, %x : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
    graph.yield %s, %h : tensor<2xf32>, tensor<2xf32>
  }
  func.return %last, %ys : tensor<2xf32>, tensor<7x2xf32>
}

// CHECK-LABEL: func.func @map
// CHECK:         %ys = graph.scan 7 over (%x = %xs) : (tensor<7x2xf32>) -> tensor<7x2xf32> {
func.func @map(%xs: tensor<7x2xf32>) -> tensor<7x2xf32> {
  %ys = graph.scan 7 over (%x = %xs) : (tensor<7x2xf32>) -> tensor<7x2xf32> {
    %y = graph.exp %x : tensor<2xf32>
    graph.yield %y : tensor<2xf32>
  }
  func.return %ys : tensor<7x2xf32>
}

// CHECK-LABEL: func.func @repeat
// CHECK:         graph.scan 3 carry (%s = %x) : (tensor<2xf32>) -> tensor<2xf32> attributes {note} {
func.func @repeat(%x: tensor<2xf32>) -> tensor<2xf32> {
  %r = graph.scan 3 carry (%s = %x) : (tensor<2xf32>) -> tensor<2xf32> attributes {"note"} {
    %n = graph.exp %s : tensor<2xf32>
    graph.yield %n : tensor<2xf32>
  }
  func.return %r : tensor<2xf32>
}

// CHECK-LABEL: func.func @while
// CHECK:         %n = graph.while %go carry (%k = %k0) : (tensor<i1>, tensor<i64>) -> tensor<i64> {
// CHECK:           graph.yield %again, %next : tensor<i1>, tensor<i64>
func.func @while(%go: tensor<i1>, %k0: tensor<i64>) -> tensor<i64> {
  %n = graph.while %go carry (%k = %k0) : (tensor<i1>, tensor<i64>) -> tensor<i64> {
    %next = graph.add %k, %k : tensor<i64>, tensor<i64> -> tensor<i64>
    %again = graph.lt %next, %k0 : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %again, %next : tensor<i1>, tensor<i64>
  }
  func.return %n : tensor<i64>
}

// CHECK-LABEL: func.func @if
// CHECK:         %y = graph.if %flag : tensor<i1> -> tensor<4xf32> {
// CHECK-NEXT:      graph.yield %a : tensor<4xf32>
// CHECK-NEXT:    } else {
// CHECK-NEXT:      graph.yield %b : tensor<4xf32>
func.func @if(%flag: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.if %flag : tensor<i1> -> tensor<4xf32> {
    graph.yield %a : tensor<4xf32>
  } else {
    graph.yield %b : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

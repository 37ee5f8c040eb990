// RUN: stepwell-opt %s -p convert-graph-to-te,te-sink-into-regions | filecheck %s

// Positions are made in the steps that use them; what is loaded or takes longer to make stands before them.

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %twice = te.compute
// CHECK-NOT:     %iota =
// CHECK:         te.scan
// CHECK:           %iota = te.compute [%{{.*}} = 9] () : () -> tensor<9xi64>
// CHECK:           = %iota[%{{.*}}], %b = %twice[%{{.*}}]
func.func @main(%x: tensor<9xi64>) -> tensor<9xi64> {
  %iota = graph.iota axis = 0 : tensor<9xi64>
  %twice = graph.add %x, %x : tensor<9xi64>, tensor<9xi64> -> tensor<9xi64>
  %scan = graph.scan 3 carry (%state = %x) : (tensor<9xi64>) -> tensor<9xi64> {
    %near = graph.mul %iota, %twice : tensor<9xi64>, tensor<9xi64> -> tensor<9xi64>
    %next = graph.add %state, %near : tensor<9xi64>, tensor<9xi64> -> tensor<9xi64>
    graph.yield %next : tensor<9xi64>
  }
  func.return %scan : tensor<9xi64>
}

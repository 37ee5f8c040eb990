// RUN: stepwell-opt %s -p graph-scatter-in-any-order | filecheck %s
// RUN: stepwell-opt %s -p graph-scatter-in-any-order{fp=strict} | filecheck %s --check-prefix STRICT
// RUN: stepwell-opt %s -p graph-scatter-in-any-order,convert-graph-to-te | filecheck %s --check-prefix ROWS

// Of floats only: the order of integers does not matter, and that of extremes is seen in nothing that is gained.
// CHECK:         graph.scatter_elements %{{.*}} reduction = "add" any_order :
// CHECK:         graph.scatter_elements %{{.*}} reduction = "max" : tensor<9xf64>
// CHECK:         graph.scatter_elements %{{.*}} reduction = "add" : tensor<9xi64>
// STRICT-NOT:    any_order
// ROWS:          memref<4x10xf64>
// ROWS:          memref<1x10xf64>
// ROWS:          memref<4x10xi64>
func.func @updates(%x: tensor<8192xi64>, %w: tensor<8192xf64>, %none: tensor<9xi64>, %zero: tensor<9xf64>) -> (tensor<9xf64>, tensor<9xf64>, tensor<9xi64>) {
  %r = graph.scatter_elements %zero, %x, %w axis = 0 reduction = "add" : tensor<9xf64>, tensor<8192xi64>, tensor<8192xf64> -> tensor<9xf64>
  %s = graph.scatter_elements %zero, %x, %w axis = 0 reduction = "max" : tensor<9xf64>, tensor<8192xi64>, tensor<8192xf64> -> tensor<9xf64>
  %t = graph.scatter_elements %none, %x, %x axis = 0 reduction = "add" : tensor<9xi64>, tensor<8192xi64>, tensor<8192xi64> -> tensor<9xi64>
  func.return %r, %s, %t : tensor<9xf64>, tensor<9xf64>, tensor<9xi64>
}

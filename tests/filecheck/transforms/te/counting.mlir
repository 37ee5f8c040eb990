// RUN: stepwell-opt %s -p "convert-graph-to-te,te-fuse,te-compute-in-loops" | filecheck %s

// Of each update its place is computed, with what it is the place of, a block of updates ahead: in loops that lanes may run.
// CHECK-LABEL: func.func @computed
// CHECK:         te.kernel
// CHECK-NOT:     te.kernel
// CHECK:           loop.for parallel "i.ahead"
// CHECK:             arith.fptosi
// CHECK:             arith.minui
// CHECK:           loop.for serial "i" %
// CHECK-NOT:         arith.minui
// CHECK:             memref.store
// CHECK:         func.return
func.func @computed(%x: tensor<8192xf64>, %one: tensor<1xi64>, %none: tensor<9xi64>) -> tensor<9xi64> {
  %bin = graph.equal_bins %x first = 0.0 : f64 last = 1.0 : f64 bins = 9 : tensor<8192xf64> -> tensor<8192xi64>
  %r = graph.scatter_elements %none, %bin, %one axis = 0 reduction = "add" : tensor<9xi64>, tensor<8192xi64>, tensor<1xi64> -> tensor<9xi64>
  func.return %r : tensor<9xi64>
}

// Two that update at the same places compute these each: no kernel stores them.
// CHECK-LABEL: func.func @both
// CHECK-COUNT-2: te.kernel "scatter_elements"
// CHECK-NOT:     te.kernel
// CHECK:         func.return
func.func @both(%x: tensor<8192xi64>, %w: tensor<8192xf64>, %one: tensor<1xi64>, %none: tensor<9xi64>, %zero: tensor<9xf64>) -> (tensor<9xi64>, tensor<9xf64>) {
  %r = graph.scatter_elements %none, %x, %one axis = 0 reduction = "add" : tensor<9xi64>, tensor<8192xi64>, tensor<1xi64> -> tensor<9xi64>
  %s = graph.scatter_elements %zero, %x, %w axis = 0 reduction = "add" : tensor<9xf64>, tensor<8192xi64>, tensor<8192xf64> -> tensor<9xf64>
  func.return %r, %s : tensor<9xi64>, tensor<9xf64>
}

// What is computed at its loads is one kernel with them too, though the places are computed ahead.
// CHECK-LABEL: func.func @weights
// CHECK:         te.kernel "scatter_elements"
// CHECK-NOT:     te.kernel
// CHECK:           loop.for parallel "i.ahead"
// CHECK:           loop.for serial "i" %
// CHECK:             arith.extf
// CHECK:         func.return
func.func @weights(%x: tensor<8192xf64>, %w: tensor<8192xf32>, %none: tensor<9xf64>) -> tensor<9xf64> {
  %bin = graph.equal_bins %x first = 0.0 : f64 last = 1.0 : f64 bins = 9 : tensor<8192xf64> -> tensor<8192xi64>
  %wide = graph.cast %w : tensor<8192xf32> -> tensor<8192xf64>
  %r = graph.scatter_elements %none, %bin, %wide axis = 0 reduction = "add" : tensor<9xf64>, tensor<8192xi64>, tensor<8192xf64> -> tensor<9xf64>
  func.return %r : tensor<9xf64>
}

// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s
// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics -p convert-graph-to-te | filecheck %s --check-prefix=TE

// CHECK-LABEL: func.func @bins
// CHECK-NEXT: %r = graph.equal_bins %x first = 0.000000e+00 : f64 last = 1.000000e+00 : f64 bins = 4 : tensor<9xf32> -> tensor<9xi64>

// An edge is rounded twice, whatever the compiler may do elsewhere: a product that is fused with a sum would be another.
// TE-LABEL: func.func @bins
// TE: arith.mulf {{.*}} {stepwell.exact} : f64
// TE-NEXT: arith.constant
// TE-NEXT: arith.addf {{.*}} {stepwell.exact} : f64
// TE-NEXT: arith.truncf
func.func @bins(%x: tensor<9xf32>) {
  %r = graph.equal_bins %x first = 0.0 : f64 last = 1.0 : f64 bins = 4 : tensor<9xf32> -> tensor<9xi64>
  func.return
}

// -----
// CHECK: binning.mlir:{{[0-9]+:[0-9]+}}: found 0 bins, expected 1 to 2147483646; take fewer, or compare with the edges
func.func @none(%x: tensor<9xf32>) {
  %r = graph.equal_bins %x first = 0.0 : f64 last = 1.0 : f64 bins = 0 : tensor<9xf32> -> tensor<9xi64>
  func.return
}

// -----
// CHECK: binning.mlir:{{[0-9]+:[0-9]+}}: found bins from 1.0 to 1.0, expected finite numbers in order; mend them
func.func @empty(%x: tensor<9xf32>) {
  %r = graph.equal_bins %x first = 1.0 : f64 last = 1.0 : f64 bins = 4 : tensor<9xf32> -> tensor<9xi64>
  func.return
}

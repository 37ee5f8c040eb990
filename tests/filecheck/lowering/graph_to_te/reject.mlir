// RUN: stepwell-opt %s -p convert-graph-to-te --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @dynamic(%x: tensor<2x?xf32>) -> tensor<2x?xf32> {
  %r = graph.exp %x : tensor<2x?xf32>
  func.return %r : tensor<2x?xf32>
}
// CHECK: reject.mlir:4:8: found graph.exp on tensor<2x?xf32>, expected static extents: '?' cannot be lowered to te yet; give the extents

// -----

func.func @nested(%c: i1, %x: tensor<2xf32>) {
  scf.if %c {
    %r = graph.exp %x : tensor<2xf32>
  }
  func.return
}
// CHECK: reject.mlir:13:10: found graph.exp inside scf.if, expected it in the single block of a func.func; move it there

// -----

func.func @blocks(%x: tensor<2xf32>) {
  cf.br ^next
^next:
  %r = graph.exp %x : tensor<2xf32>
  func.return
}
// CHECK: reject.mlir:24:8: found graph.exp inside func.func of several blocks, expected it in the single block of a func.func; move it there

// RUN: stepwell compile %s --emit loop --target zen4 | filecheck %s

// Two results of one product leave L2 between calls. While a tile is computed, the next one's parts of both are asked for, a part
// of it before each 32 terms of the sums: all at once would hold up what the tile reads, and one for each term takes instructions.

// CHECK-LABEL: func.func private @two.
// CHECK:       loop.for reduction "k.part" %k_part = 0 to 4 {
// CHECK:         loop.prefetch %{{[a-z0-9_]+}}[{{.*}}(%k_part * 7 + %{{.*}}) floordiv 2, {{.*}} mod 2 * 16], write, locality<3>
// CHECK:         loop.prefetch %{{[a-z0-9_]+}}[{{.*}}(%k_part * 7 + %{{.*}}) floordiv 2, {{.*}} mod 2 * 16], write, locality<3>
// CHECK:         loop.for reduction "k.term" %k = 0 to 32 {
// CHECK-NEXT:      loop.for parallel unroll "b.prefetch0"
// CHECK:           loop.for parallel unroll "i.row"

func.func @two(%a: tensor<512x128xf32>, %b: tensor<128x256xf32>, %bias: tensor<256xf32>) -> (tensor<512x256xf32>, tensor<512x256xf32>) {
  %c = graph.matmul %a, %b : tensor<512x128xf32>, tensor<128x256xf32> -> tensor<512x256xf32>
  %d = graph.add %c, %bias : tensor<512x256xf32>, tensor<256xf32> -> tensor<512x256xf32>
  %e = graph.relu %c : tensor<512x256xf32>
  func.return %d, %e : tensor<512x256xf32>, tensor<512x256xf32>
}

// RUN: stepwell compile %s --emit plan --target icelake-server | filecheck %s --check-prefix=PLAN
// RUN: stepwell compile %s --emit loop --target icelake-server | filecheck %s

// Rows of A that are extended to a wider type are packed when their tiles begin, where a copy of all of them would come
// from beyond L2. A smaller A is converted once, before all tiles, row after row as it lies.

// PLAN-LABEL: large.
// PLAN-NEXT: chosen {{.*}} packs A and B, A row by row of tiles,
// PLAN-LABEL: small.
// PLAN-NEXT: chosen {{.*}} packs A and B, A in its own order, peels M
// PLAN-NOT: instead {{.*}} row by row

// CHECK-LABEL: func.func private @large.
// CHECK:         loop.for parallel threads "i.block"
// CHECK-NEXT:      %left = loop.alloc arena : memref<1x512x[[MR:[0-9]+]]xf32>
// CHECK:           arith.sitofp
// CHECK:           loop.for parallel "j.tile"
// CHECK-LABEL: func.func private @small.
// CHECK-NEXT:    %left = loop.alloc arena : memref<512x128xf32>
func.func @large(%a: tensor<4096x512xi8>, %b: tensor<512x256xi8>) -> tensor<4096x256xi32> {
  %x = graph.cast %a : tensor<4096x512xi8> -> tensor<4096x512xi32>
  %y = graph.cast %b : tensor<512x256xi8> -> tensor<512x256xi32>
  %c = graph.matmul %x, %y : tensor<4096x512xi32>, tensor<512x256xi32> -> tensor<4096x256xi32>
  func.return %c : tensor<4096x256xi32>
}
func.func @small(%a: tensor<512x128xi8>, %b: tensor<128x256xi8>) -> tensor<512x256xi32> {
  %x = graph.cast %a : tensor<512x128xi8> -> tensor<512x128xi32>
  %y = graph.cast %b : tensor<128x256xi8> -> tensor<128x256xi32>
  %c = graph.matmul %x, %y : tensor<512x128xi32>, tensor<128x256xi32> -> tensor<512x256xi32>
  func.return %c : tensor<512x256xi32>
}

// RUN: stepwell compile %s --emit plan --target zen4 | filecheck %s --check-prefix=PLAN
// RUN: stepwell compile %s --emit loop --target zen4 | filecheck %s

// A layer of 3072 terms for 197 rows, which are three pages apart. Blocks of terms are panels of B of their own: while one is
// used, the next one is asked for, which of the last block of a tile of columns is the first of the next tile. What a panel
// has for a later term is asked for when terms before it are under way. Eight rows of A
// stay in L1 side by side and are not packed; the last five have tiles of their own.

// PLAN: chosen contraction: tile 8x48, MC {{[0-9]+}}, NC 768, KC {{[0-9]+}}, M tiles innermost, packs B, peels M, prefetches B, prefetches panels of B {{[0-9]+}} terms ahead;

// CHECK-LABEL: func.func private @layer.xw_y
// CHECK-NOT: %left
// CHECK: "j.tile"
// CHECK: "k.block" %k_block
// CHECK: "i.tile" %i_tile
// CHECK: "k.step" %k =
// CHECK-NEXT: "right.prefetch0" %[[LINE:.*]] = 0 to 3
// CHECK-NEXT: loop.prefetch %right[%j_tile, %k_block * {{[0-9]+}} + %k + 9, %[[LINE]] * 16], read, locality<3>
// CHECK: loop.prefetch %right[%j_tile, %k_block * [[KC:[0-9]+]] + [[KC]], %i_tile *
// CHECK-NEXT: "i.row" %{{.*}} = 0 to 8
// CHECK: "i.row.back{{.*}}" %{{.*}} = 0 to 5

func.func @layer(%x: tensor<197x3072xf32>, %b: tensor<768xf32>) -> tensor<197x768xf32> {
  %w = graph.constant dense<0.5> : tensor<3072x768xf32>
  %xw = graph.matmul %x, %w : tensor<197x3072xf32>, tensor<3072x768xf32> -> tensor<197x768xf32>
  %y = graph.add %xw, %b : tensor<197x768xf32>, tensor<768xf32> -> tensor<197x768xf32>
  func.return %y : tensor<197x768xf32>
}

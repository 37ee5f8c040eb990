// RUN: stepwell-opt %s -p "te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=zen4}" | filecheck %s

// Nine blocks of channels: one thread has five of them, which is sooner than a team for the rows of each block.
// CHECK-LABEL: @blocks.z
// CHECK:         loop.for parallel threads "c.init" {{.*}} = 0 to 9
// CHECK-NEXT:      loop.for parallel "oh.init"
func.func @blocks(%x: tensor<1x9x58x58x8xf32>, %w: tensor<9x3x3x8xf32>) -> tensor<1x9x56x56x8xf32> {
  %z = te.compute [%n = 1, %c = 9, %oh = 56, %ow = 56, %d = 8] add [%kh = 3, %kw = 3] (%a = %x[%n, %c, %oh + %kh, %ow + %kw, %d], %b = %w[%c, %kh, %kw, %d]) : (tensor<1x9x58x58x8xf32>, tensor<9x3x3x8xf32>) -> tensor<1x9x56x56x8xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %z : tensor<1x9x56x56x8xf32>
}

// The same of a few rows is done before a team has started.
// CHECK-LABEL: @short.z
// CHECK-NOT:     threads
func.func @short(%x: tensor<1x9x9x9x8xf32>, %w: tensor<9x3x3x8xf32>) -> tensor<1x9x7x7x8xf32> {
  %z = te.compute [%n = 1, %c = 9, %oh = 7, %ow = 7, %d = 8] add [%kh = 3, %kw = 3] (%a = %x[%n, %c, %oh + %kh, %ow + %kw, %d], %b = %w[%c, %kh, %kw, %d]) : (tensor<1x9x9x9x8xf32>, tensor<9x3x3x8xf32>) -> tensor<1x9x7x7x8xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %z : tensor<1x9x7x7x8xf32>
}

// Three tiles of weights, of seven by seven tiles each: one team for all, and another for what is left of the weights,
// where a tile is smaller.
// CHECK-LABEL: @rest.z
// CHECK:         loop.for parallel threads "f.tile" {{.*}} = 0 to 3
// CHECK:         loop.for parallel threads "oh.tile.back"
func.func @rest(%x: tensor<1x5x14x14x16xf32>, %w: tensor<23x8x5x16xf32>) -> tensor<1x23x14x14x8xf32> {
  %z = te.compute [%n = 1, %f = 23, %oh = 14, %ow = 14, %g = 8] add [%c = 5, %d = 16] (%a = %x[%n, %c, %oh, %ow, %d], %b = %w[%f, %g, %c, %d]) : (tensor<1x5x14x14x16xf32>, tensor<23x8x5x16xf32>) -> tensor<1x23x14x14x8xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %z : tensor<1x23x14x14x8xf32>
}

// Tiles of whole lines: threads that share a product by its columns write no line together. One team for all rows.
// CHECK-LABEL: @lines.z
// CHECK:         loop.for parallel threads "j.tile"
// CHECK-NEXT:      loop.for parallel "i.tile"
func.func @lines(%x: tensor<128x128xf32>, %w: tensor<128x160xf32>) -> tensor<128x160xf32> {
  %z = te.compute [%i = 128, %j = 160] add [%k = 128] (%a = %x[%i, %k], %b = %w[%k, %j]) : (tensor<128x128xf32>, tensor<128x160xf32>) -> tensor<128x160xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %z : tensor<128x160xf32>
}

// Rows that end within a line: its columns stay with one thread.
// CHECK-LABEL: @parts_of_lines.z
// CHECK-NOT:     threads "j.tile"
// CHECK:       func.func @parts_of_lines(
func.func @parts_of_lines(%x: tensor<128x128xf32>, %w: tensor<128x132xf32>) -> tensor<128x132xf32> {
  %z = te.compute [%i = 128, %j = 132] add [%k = 128] (%a = %x[%i, %k], %b = %w[%k, %j]) : (tensor<128x128xf32>, tensor<128x132xf32>) -> tensor<128x132xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %z : tensor<128x132xf32>
}

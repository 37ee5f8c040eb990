// RUN: stepwell-opt %s -p "te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=x86-64-v2}" --remarks 2>&1 | filecheck %s
// RUN: stepwell-opt %s -p "te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=x86-64-v2}" | filecheck %s --check-prefix LOOP
// RUN: stepwell-opt %s -p "te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=x86-64-v4}" | filecheck %s --check-prefix MASK
// RUN: stepwell compile %s --emit plan --target zen4 | filecheck %s --check-prefix ZEN4
// RUN: stepwell compile %s --emit plan --target zen3 | filecheck %s --check-prefix ZEN3
// RUN: stepwell compile %s --emit plan --target icelake-server | filecheck %s --check-prefix ICELAKE

// Each channel by itself: rows of vectors in registers, one column of the window after the other, and what follows is
// done while the sums are there.
// CHECK: scheduled as windows: tile {{.*}} of the result, axes {{.*}}3 of the window written out, copies the image with its border
// LOOP-LABEL: @depthwise.
// LOOP:         loop.for parallel threads "c.init"
// LOOP-NEXT:      %image = loop.alloc stack : memref<1x1x30x30xf32>
// LOOP:           %tile = loop.alloc register
// LOOP-NOT:       loop.alloc
// LOOP:           loop.for reduction {{.*}}"kw"
// LOOP-NEXT:        loop.for parallel unroll "oh.each"
// LOOP-NEXT:          loop.for reduction unroll "kh"
// LOOP-NEXT:            loop.for parallel vector "ow.each
// LOOP:           loop.for parallel unroll "oh.finish"
// LOOP-NEXT:        loop.for parallel vector "ow.finish
// LOOP:                 loop.load %tile

// Where some lanes of a vector can be loaded, nothing is copied: tiles at an edge leave out what is not in the image, and
// lanes beyond the result are masked with it. Of four tiles of rows the first has none above it, and the last one none below.
// MASK-LABEL: @depthwise.
// MASK-NOT:     loop.alloc stack
// MASK:         loop.for parallel unroll "oh.each.front" %[[OH:.*]] = 0 to 7
// MASK:           %{{.*}} = loop.if (%[[OH]] + %{{.*}} - 1 >= 0, %[[OW:.*]] + %[[KW:.*]] - 1 >= 0, -%[[OW]] - %[[KW]] + 28 >= 0) -> (f32) {
// MASK:         loop.for parallel "oh.tile" {{.*}} = 0 to 2
// MASK:           %{{.*}} = loop.if (%[[OW:.*]] + %[[KW:.*]] - 1 >= 0, -%[[OW]] - %[[KW]] + 28 >= 0) -> (f32) {
// MASK:         loop.for parallel unroll "oh.each.back" %[[LAST:.*]] = 0 to 7
// MASK:           %{{.*}} = loop.if (-%[[LAST]] - %{{.*}} + 7 >= 0, %{{.*}} >= 0
func.func @depthwise(%x: tensor<1x64x28x28xf32>, %w: tensor<64x1x3x3xf32>) -> tensor<1x64x28x28xf32> {
  %y = te.compute [%n = 1, %c = 64, %oh = 28, %ow = 28] add [%kh = 3, %kw = 3] (%a = %x[%n, %c, %oh + %kh - 1, %ow + %kw - 1] else 0.0 : f32, %b = %w[%c, 0, %kh, %kw]) : (tensor<1x64x28x28xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x28x28xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %z = te.compute [%n = 1, %c = 64, %oh = 28, %ow = 28] (%a = %y[%n, %c, %oh, %ow]) : (tensor<1x64x28x28xf32>) -> tensor<1x64x28x28xf32> {
    %zero = arith.constant 0.0 : f32
    %p = arith.maximumf %a, %zero : f32
    te.yield %p : f32
  }
  func.return %z : tensor<1x64x28x28xf32>
}

// Windows that do not leave the image are read where they are; every second element of a row, in vectors
// that all columns of a window share.
// CHECK: scheduled as windows: tile {{[0-9x]+}} of the result, axes 3, 4 of the window written out;
// LOOP-LABEL: @halved.y
// LOOP-NOT:     %image
// LOOP:         loop.for parallel vector "ow.each" {{.*}} attributes {stepwell.strided
// LOOP:         arith.maximumf
func.func @halved(%x: tensor<32x64x64xf32>) -> tensor<32x32x32xf32> {
  %y = te.compute [%c = 32, %oh = 32, %ow = 32] max [%kh = 2, %kw = 2] (%a = %x[%c, %oh * 2 + %kh, %ow * 2 + %kw]) : (tensor<32x64x64xf32>) -> tensor<32x32x32xf32> {
    te.yield %a : f32
  }
  func.return %y : tensor<32x32x32xf32>
}

// The terms of a large window are loops around the rows.
// CHECK: scheduled as windows: tile {{[0-9x]+}} of the result, copies the image with its border
// LOOP-LABEL: @spread.y
// LOOP:         loop.for reduction "k{{[hw]}}"
// LOOP-NEXT:      loop.for reduction "k{{[hw]}}"
// LOOP-NEXT:        loop.for parallel unroll "oh.each"
func.func @spread(%x: tensor<64x13x13xf32>) -> tensor<64x13x13xf32> {
  %y = te.compute [%c = 64, %oh = 13, %ow = 13] max [%kh = 13, %kw = 13] (%a = %x[%c, %oh + %kh - 6, %ow + %kw - 6] else 0xFF800000 : f32) : (tensor<64x13x13xf32>) -> tensor<64x13x13xf32> {
    te.yield %a : f32
  }
  func.return %y : tensor<64x13x13xf32>
}

// Channels in lanes have nothing to mask: rows of the image would have to be asked for at each load.
// MASK-LABEL: @blocked.y
// MASK:         %image = loop.alloc
func.func @blocked(%x: tensor<2x28x28x16xf32>, %w: tensor<2x3x3x16xf32>) -> tensor<2x28x28x16xf32> {
  %y = te.compute [%c = 2, %oh = 28, %ow = 28, %d = 16] add [%kh = 3, %kw = 3] (%a = %x[%c, %oh + %kh - 1, %ow + %kw - 1, %d] else 0.0 : f32, %b = %w[%c, %kh, %kw, %d]) : (tensor<2x28x28x16xf32>, tensor<2x3x3x16xf32>) -> tensor<2x28x28x16xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<2x28x28x16xf32>
}

// Of a plane that does not stay in L1 the rows that a tile reads are copied, where vectors of every other element are
// made of two lines each.
// CHECK: scheduled as windows: tile {{[0-9x]+}} of the result, {{.*}}copies strips of the image with their border
// LOOP-LABEL: @strips.y
// LOOP:         loop.for parallel "oh.tile"
// LOOP-NEXT:      %image = loop.alloc stack : memref<1x{{[0-9]+}}x116xf32>
// LOOP:           loop.for parallel "ow.tile"

// With masks nothing is copied, and a tile has whole rows: each of these is finished before the next one begins.
// MASK-LABEL: @strips.y
// MASK-NOT:     loop.alloc stack
// MASK:         loop.for parallel "oh.tile"
// MASK-NOT:       loop.for parallel "ow.tile"
// MASK:           loop.for parallel unroll "oh.init"
// MASK:             loop.for reduction unroll "kh"
// MASK-NEXT:          loop.for reduction unroll "kw"
// MASK-NEXT:            loop.for parallel vector "ow.each" {{.*}} attributes {stepwell.strided
// MASK:             loop.for parallel vector "tile.out
// MASK:               loop.store %{{.*}}, %y[%c, %{{.*}} + %oh
func.func @strips(%x: tensor<64x112x112xf32>) -> tensor<64x56x56xf32> {
  %y = te.compute [%c = 64, %oh = 56, %ow = 56] max [%kh = 3, %kw = 3] (%a = %x[%c, %oh * 2 + %kh - 1, %ow * 2 + %kw - 1] else 0xFF800000 : f32) : (tensor<64x112x112xf32>) -> tensor<64x56x56xf32> {
    te.yield %a : f32
  }
  func.return %y : tensor<64x56x56xf32>
}

// Depthwise with a stride: where registers do not hold the filter beside what is dealt out of the image, tiles are lower or narrower
// and the filter stays in memory.
// ZEN4-LABEL: halves
// ZEN3-LABEL: halves
// ICELAKE-LABEL: halves
// ZEN4: tile 7x32 of the result, axes 3, 4 of the window written out, masks lanes outside of the image; {{.*}} bound by arithmetic
// ZEN3: tile 2x8 of the result, axes 3, 4 of the window written out, masks lanes outside of the image; {{.*}} bound by arithmetic
// ICELAKE: tile 10x16 of the result, axes 3, 4 of the window written out, masks lanes outside of the image
// CHECK: scheduled as windows: tile 10x4 of the result, axes 3 of the window written out, copies the image with its border
func.func @halves(%x: tensor<144x56x56xf32>, %w: tensor<144x3x3xf32>) -> tensor<144x28x28xf32> {
  %y = te.compute [%c = 144, %oh = 28, %ow = 28] add [%kh = 3, %kw = 3] (%a = %x[%c, %oh * 2 + %kh - 1, %ow * 2 + %kw - 1] else 0.0 : f32, %b = %w[%c, %kh, %kw]) : (tensor<144x56x56xf32>, tensor<144x3x3xf32>) -> tensor<144x28x28xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<144x28x28xf32>
}

// RUN: stepwell-opt %s -p 'te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target="x86-64-v4:read_l3=64e9"}' --remarks 2>&1 | filecheck %s
// RUN: stepwell-opt %s -p 'te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target="x86-64-v4:read_l3=64e9"}' | filecheck %s --check-prefix LOOP
// RUN: stepwell-opt %s -p 'te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=x86-64-v2}' --remarks 2>&1 | filecheck %s --check-prefix WHOLE

// A convolution is a contraction: output channels in lanes, neighbouring elements of the result in the rows of a
// register tile, the image copied with its border, and the tile transposed in registers on its way out, straight from those that it is in.
// CHECK: scheduled as contraction: direct, tile {{.*}} copies the image with its border, packs weights
// LOOP-LABEL: @padded.y
// LOOP:         %image = loop.alloc arena : memref<1x30x64x30xf32>
// LOOP:         %weights = loop.alloc arena : memref<2x3x64x3x32xf32>
// LOOP:         loop.for parallel threads "f.tile.oh
// LOOP:             loop.alloc stack
// LOOP:             loop.alloc register
// LOOP:             loop.for reduction "kh"
// LOOP:               loop.prefetch %y[
// LOOP:               loop.for reduction "c" %[[C:.*]] = 0 to 64
// LOOP-NEXT:            loop.prefetch %image[0, {{.*}}, %[[C]] + {{.*}}], read, locality<3>
// LOOP-NOT:              loop.if
// LOOP:                   loop.for parallel vector "f.each" {{.*}} to 32
// LOOP:             loop.for parallel unroll "panel.vector" {{.*}} to 2
// LOOP-NEXT:          loop.for parallel vector "panel.lane" {{.*}} to 16
// LOOP-NEXT:            loop.for parallel vector "{{.*}}.out3"
func.func @padded(%x: tensor<1x64x28x28xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32> {
  %y = te.compute [%n = 1, %f = 64, %oh = 28, %ow = 28] add [%c = 64, %kh = 3, %kw = 3] (%a = %x[%n, %c, %oh + %kh - 1, %ow + %kw - 1] else 0.0 : f32, %b = %w[%f, %c, %kh, %kw]) : (tensor<1x64x28x28xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<1x64x28x28xf32>
}

// Blocked channels: weights are vectors as they are, the image is read where it is, and tiles are stored whole. A tile goes
// through the pixels that it reads for a row of the window: each is used by up to three places, whose weights stay in registers.
// CHECK: scheduled as contraction: direct, tile 10x2x16 of axes 2, 0, 3, a row of the window for each channel, whose places share elements, prefetches the result;
// LOOP-LABEL: @blocked.y
// LOOP-NOT:     loop.alloc arena
// LOOP-NOT:     loop.alloc stack
// LOOP:         loop.alloc register
// LOOP:         loop.for reduction "kh"
// LOOP:           loop.for reduction "cl"
// LOOP-NOT:         loop.for reduction "
// LOOP:             loop.for reduction unroll "kw.u1" {{.*}} = 0 to 2
// LOOP-NEXT:          loop.for parallel unroll "f.each.u1"
// LOOP-NEXT:            loop.for parallel vector "l.each.u1" {{.*}} to 16
// LOOP:             loop.for reduction unroll "kw.u2" {{.*}} = 0 to 3
// LOOP:             loop.for reduction unroll "kw.u9" {{.*}} = 0 to 3
// LOOP:             loop.for reduction unroll "kw.u10" {{.*}} = 0 to 2
func.func @blocked(%x: tensor<4x30x30x16xf32>, %w: tensor<4x4x3x3x16x16xf32>) -> tensor<4x28x28x16xf32> {
  %y = te.compute [%f = 4, %oh = 28, %ow = 28, %l = 16] add [%c = 4, %kh = 3, %kw = 3, %cl = 16] (%a = %x[%c, %oh + %kh, %ow + %kw, %cl], %b = %w[%f, %c, %kh, %kw, %cl, %l]) : (tensor<4x30x30x16xf32>, tensor<4x4x3x3x16x16xf32>) -> tensor<4x28x28x16xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<4x28x28x16xf32>
}

// A border that is no number: there is no copy with it, and the plan is missed, but for masks.
// CHECK: scheduled as windows: tile 1x48 of the result, {{.*}}masks lanes outside of the image
// WHOLE: windows: stage_halo({{.*}}) is refused: a condition around a load of '%x' asks for something else than whether the element exists
func.func private @half(%x: memref<40xf32> {stepwell.noalias}, %w: memref<3xf32> {stepwell.noalias}, %y: memref<40xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 40 {
    loop.for reduction "k" %k = 0 to 3 {
      %a = loop.if (-%i - %k + 30 >= 0) -> (f32) {
        %0 = loop.load %x[%i + %k] : memref<40xf32>
        loop.yield %0 : f32
      } else {
        %1 = arith.constant 0.0 : f32
        loop.yield %1 : f32
      }
      %b = loop.load %w[%k] : memref<3xf32>
      %p = arith.mulf %a, %b fastmath<contract> : f32
      %c = loop.load %y[%i] : memref<40xf32>
      %s = arith.addf %c, %p fastmath<reassoc,contract> : f32
      loop.store %s, %y[%i] : memref<40xf32>
    }
  }
  func.return
}

// What a tile reads of all channels would not stay in L1 from one place of the window to the next: of some at a time it does.
// CHECK: scheduled as contraction: direct, tile 12x32 of axes 0, 2, copies the image with its border, 32 channels at a time
// LOOP-LABEL: @many_channels.y
// LOOP:         loop.for reduction "c.block" {{.*}} = 0 to 3 {
// LOOP:           loop.for reduction "kh" {{.*}} = 0 to 3 {
// LOOP:             loop.for reduction "kw" {{.*}} = 0 to 3 {
// LOOP:               loop.for reduction "c.channel" {{.*}} = 0 to 32 step 2
func.func @many_channels(%x: tensor<1x96x80x120xf32>, %w: tensor<24x96x3x3xf32>) -> tensor<1x24x80x120xf32> {
  %y = te.compute [%n = 1, %f = 24, %oh = 80, %ow = 120] add [%c = 96, %kh = 3, %kw = 3] (%a = %x[%n, %c, %oh + %kh - 1, %ow + %kw - 1] else 0.0 : f32, %b = %w[%f, %c, %kh, %kw]) : (tensor<1x96x80x120xf32>, tensor<24x96x3x3xf32>) -> tensor<1x24x80x120xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<1x24x80x120xf32>
}

// What a block adds to its convolution, and what comes out, do not stay in L2: while a tile is computed, the next one's
// part of both is asked for, a piece of it before each part of the sum; of the image, which does, what terms to come use, to L1.
// CHECK: scheduled as contraction: direct, tile 14x32 of axes 1, 0, packs weights, prefetches the result, prefetches the image 4 terms ahead, in parts of 16 terms
// LOOP-LABEL: @residual.sum_y
// LOOP:         loop.for reduction "c.part" %[[PART:.*]] = 0 to 16
// LOOP-NEXT:      loop.for {{.*}} = 0 to 4
// LOOP-NEXT:        loop.prefetch %r[{{.*}}%[[PART]]
// LOOP:             loop.prefetch %y[{{.*}}%[[PART]]
// LOOP:           loop.for reduction "c.term" %[[C:.*]] = 0 to 16
// LOOP-NEXT:        loop.prefetch %x[%[[C]] + %[[PART]] * 16 + 4, %{{.*}} * 14], read, locality<3>
func.func @residual(%x: tensor<256x196xf32>, %r: tensor<1024x196xf32>) -> tensor<1024x196xf32> {
  %w = arith.constant dense<1.0> : tensor<1024x256xf32>
  %sum = te.compute [%f = 1024, %p = 196] add [%c = 256] (%a = %x[%c, %p], %b = %w[%f, %c]) : (tensor<256x196xf32>, tensor<1024x256xf32>) -> tensor<1024x196xf32> {
    %t = arith.mulf %a, %b : f32
    te.yield %t : f32
  }
  %y = te.compute [%f = 1024, %p = 196] (%a = %sum[%f, %p], %b = %r[%f, %p]) : (tensor<1024x196xf32>, tensor<1024x196xf32>) -> tensor<1024x196xf32> {
    %t = arith.addf %a, %b : f32
    te.yield %t : f32
  }
  func.return %y : tensor<1024x196xf32>
}

// Of weights that are more than the image few tiles use each: they are asked for a page ahead. A block of them stays in L2
// beside what comes of the next one, which all tiles ask for. Of the result each tile writes on beside the one before.
// CHECK: scheduled as contraction: direct, tile {{.*}}prefetches weights, prefetches the next block of them
// LOOP-LABEL: @late.y
// LOOP-NOT:     loop.prefetch %y
// LOOP:         loop.for reduction "c" %c = 0 to 512
// LOOP:             loop.prefetch %weights[{{.*}}%c + 32
// LOOP:             loop.prefetch %weights[(%f_tile * 32 + 1) {{.*}}%oh_tile * 4096 + %c * 8], read, locality<2>
// LOOP:         loop.for parallel unroll "weights.prefetch0.back"
func.func @late(%x: tensor<1x512x7x7xf32>, %w: tensor<2048x512x1x1xf32> {stepwell.constant}) -> tensor<1x2048x7x7xf32> {
  %y = te.compute [%n = 1, %f = 2048, %oh = 7, %ow = 7] add [%c = 512, %kh = 1, %kw = 1] (%a = %x[%n, %c, %oh + %kh, %ow + %kw], %b = %w[%f, %c, %kh, %kw]) : (tensor<1x512x7x7xf32>, tensor<2048x512x1x1xf32>) -> tensor<1x2048x7x7xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<1x2048x7x7xf32>
}

// An image whose channels stand in blocks has none of its pixels next to another. What is made of it here does, and is
// computed with output channels in lanes as well.
// CHECK: scheduled as contraction: direct, tile {{[0-9]+}}x{{[0-9]+}} of axes 1, 0, packs weights
// LOOP-LABEL: @unblocked.y_z
func.func @unblocked(%x: tensor<128x49x16xf32>) -> tensor<512x49xf32> {
  %w = arith.constant dense<1.0> : tensor<512x128x16xf32>
  %y = te.compute [%f = 512, %p = 49] add [%c = 128, %d = 16] (%a = %x[%c, %p, %d], %b = %w[%f, %c, %d]) : (tensor<128x49x16xf32>, tensor<512x128x16xf32>) -> tensor<512x49xf32> {
    %t = arith.mulf %a, %b : f32
    te.yield %t : f32
  }
  %z = te.compute [%f = 512, %p = 49] (%a = %y[%f, %p]) : (tensor<512x49xf32>) -> tensor<512x49xf32> {
    %zero = arith.constant 0.0 : f32
    %m = arith.maximumf %a, %zero : f32
    te.yield %m : f32
  }
  func.return %z : tensor<512x49xf32>
}

// Of every other pixel a tile goes through the places of a row of the window, which share what is in registers from one to the next
// but one. What finishes a tile is written out, too: its elements go there in registers.
// CHECK: scheduled as contraction: direct, tile 8x2x16 of axes 2, 0, 3, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements
// LOOP-LABEL: @few_channels.y_z
// LOOP:         loop.for reduction "c" {{.*}} to 3 {
// LOOP:           loop.for reduction unroll "kw" {{.*}} = 0 to 7 {
// LOOP-NEXT:        loop.for parallel unroll "ow.each"
// LOOP:         loop.for parallel unroll "ow.finish"
// LOOP-NEXT:      loop.for parallel unroll "f.finish"
// LOOP-NEXT:        loop.for parallel vector "g.finish"
func.func @few_channels(%x: tensor<1x3x112x112xf32>, %w: tensor<2x16x3x7x7xf32>, %b: tensor<2x16xf32>) -> tensor<2x56x56x16xf32> {
  %y = te.compute [%f = 2, %oh = 56, %ow = 56, %g = 16] add [%c = 3, %kh = 7, %kw = 7] (%a = %x[0, %c, %oh * 2 + %kh - 3, %ow * 2 + %kw - 3] else 0.0 : f32, %v = %w[%f, %g, %c, %kh, %kw]) : (tensor<1x3x112x112xf32>, tensor<2x16x3x7x7xf32>) -> tensor<2x56x56x16xf32> {
    %p = arith.mulf %a, %v : f32
    te.yield %p : f32
  }
  %z = te.compute [%f = 2, %oh = 56, %ow = 56, %g = 16] (%a = %y[%f, %oh, %ow, %g], %v = %b[%f, %g]) : (tensor<2x56x56x16xf32>, tensor<2x16xf32>) -> tensor<2x56x56x16xf32> {
    %p = arith.addf %a, %v : f32
    te.yield %p : f32
  }
  func.return %z : tensor<2x56x56x16xf32>
}

// A tile that is transposed on its way out goes through memory: what finishes it stays in loops.
// CHECK: scheduled as contraction: direct, tile {{[0-9]+}}x32 of axes 2, 0, copies the image
// LOOP-LABEL: @transposed.y_z
// LOOP:         loop.for reduction unroll "kw" {{.*}} to 7 {
// LOOP-NOT:     loop.for parallel unroll "{{.*}}finish
// LOOP:         loop.for parallel vector "ow.finish"
func.func @transposed(%x: tensor<3x112x112xf32>, %w: tensor<32x3x7x7xf32>, %b: tensor<32xf32>) -> tensor<32x56x56xf32> {
  %y = te.compute [%f = 32, %oh = 56, %ow = 56] add [%c = 3, %kh = 7, %kw = 7] (%a = %x[%c, %oh * 2 + %kh - 3, %ow * 2 + %kw - 3] else 0.0 : f32, %v = %w[%f, %c, %kh, %kw]) : (tensor<3x112x112xf32>, tensor<32x3x7x7xf32>) -> tensor<32x56x56xf32> {
    %p = arith.mulf %a, %v : f32
    te.yield %p : f32
  }
  %z = te.compute [%f = 32, %oh = 56, %ow = 56] (%a = %y[%f, %oh, %ow], %v = %b[%f]) : (tensor<32x56x56xf32>, tensor<32xf32>) -> tensor<32x56x56xf32> {
    %p = arith.addf %a, %v : f32
    te.yield %p : f32
  }
  func.return %z : tensor<32x56x56xf32>
}

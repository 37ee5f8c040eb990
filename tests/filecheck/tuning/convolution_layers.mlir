// RUN: stepwell compile %s --emit plan --target sapphire-rapids | filecheck %s --check-prefix=SPR
// RUN: stepwell compile %s --emit plan --target zen3 | filecheck %s --check-prefix=ZEN3
// RUN: stepwell compile %s --emit plan --target zen5 | filecheck %s --check-prefix=ZEN5

// What rules decide for ten layers of convolutional networks on three known cores, without scheduling them: 3x3 at four
// sizes and with a stride, 1x1 of large and of small images, a first layer, groups, and each channel by itself.

// SPR: c3_56.
// SPR-NEXT: chosen contraction: direct, tile 12x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result, prefetches the image 16 terms ahead;
// SPR: c3_28.
// SPR-NEXT: chosen contraction: direct, tile 10x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the image 19 terms ahead;
// SPR: c3_14.
// SPR-NEXT: chosen contraction: direct, tile 8x3x16 of axes 0, 1, 2, copies the image with its border, 64 channels at a time, prefetches the result;
// SPR: c3_7.
// SPR-NEXT: chosen contraction: direct, tile 3x7x16 of axes 1, 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result, prefetches weights, prefetches the next block of them;
// SPR: c3_s2.
// SPR-NEXT: chosen contraction: direct, tile 10x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, blocks of weights inside of axes 1, 2, prefetches the result, prefetches the image 17 terms ahead;
// SPR: c1_56.
// SPR-NEXT: chosen contraction: tile 14x32, MC 14, NC 3136, KC 64, N tiles innermost, packs nothing, peels M, prefetches rows of B 16 terms ahead;
// SPR: c1_7.
// SPR-NEXT: chosen contraction: tile 6x64, MC 6, NC 49, KC 2048, N tiles innermost, packs B, peels M, prefetches A, prefetches panels of B 15 terms ahead;
// SPR: first.
// SPR-NEXT: chosen contraction: direct, tile 8x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result;
// SPR: grouped.
// SPR-NEXT: chosen windows: tile 7x32 of the result, axes 6, 5 of the window written out, masks lanes outside of the image;
// SPR: depthwise.
// SPR-NEXT: chosen windows: tile 5x64 of the result, axes 3 of the window written out, masks lanes outside of the image;

// ZEN3: c3_56.
// ZEN3-NEXT: chosen contraction: direct, tile 10x8 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, blocks of weights inside of axes 1, 2, prefetches the result, prefetches the image 17 terms ahead;
// ZEN3: c3_28.
// ZEN3-NEXT: chosen contraction: direct, tile 10x8 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result, prefetches the image 17 terms ahead, prefetches weights;
// ZEN3: c3_14.
// ZEN3-NEXT: chosen contraction: direct, tile 2x5x8 of axes 1, 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result, prefetches weights;
// ZEN3: c3_7.
// ZEN3-NEXT: chosen contraction: direct, tile 4x3x8 of axes 1, 0, 2, copies the image with its border, 64 channels at a time, prefetches the result;
// ZEN3: c3_s2.
// ZEN3-NEXT: chosen contraction: direct, tile 6x16 of axes 2, 0, copies the image with its border, packs weights, prefetches the result, prefetches the image 12 terms ahead;
// ZEN3: c1_56.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 6, NC 528, KC 64, N tiles innermost, packs B, peels M, prefetches A, prefetches panels of B 12 terms ahead;
// ZEN3: c1_7.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 6, NC 49, KC 1024, N tiles innermost, packs B, peels M and N, K blocks outside of M, prefetches A and C, prefetches panels of B 12 terms ahead;
// ZEN3: first.
// ZEN3-NEXT: chosen contraction: direct, tile 6x16 of axes 2, 0, copies the image with its border, packs weights, prefetches the result;
// ZEN3: grouped.
// ZEN3-NEXT: chosen windows: tile 11x8 of the result, axes 6, 5 of the window written out, masks lanes outside of the image;
// ZEN3: depthwise.
// ZEN3-NEXT: chosen windows: tile 10x8 of the result, axes 4, 3 of the window written out, masks lanes outside of the image;

// ZEN5: c3_56.
// ZEN5-NEXT: chosen contraction: direct, tile 12x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, blocks of weights inside of axes 1, 2, prefetches the result, prefetches the image 14 terms ahead;
// ZEN5: c3_28.
// ZEN5-NEXT: chosen contraction: direct, tile 10x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result, prefetches the image 17 terms ahead, prefetches weights;
// ZEN5: c3_14.
// ZEN5-NEXT: chosen contraction: direct, tile 2x5x32 of axes 1, 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result, prefetches weights;
// ZEN5: c3_7.
// ZEN5-NEXT: chosen contraction: direct, tile 7x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result, prefetches weights;
// ZEN5: c3_s2.
// ZEN5-NEXT: chosen contraction: direct, tile 10x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, blocks of weights inside of axes 1, 2, prefetches the result, prefetches the image 15 terms ahead;
// ZEN5: c1_56.
// ZEN5-NEXT: chosen contraction: tile 13x32, MC 13, NC 1056, KC 64, N tiles innermost, packs B, peels M, prefetches A;
// ZEN5: c1_7.
// ZEN5-NEXT: chosen contraction: tile 11x32, MC 11, NC 49, KC 2048, N tiles innermost, packs B, peels M, prefetches A;
// ZEN5: first.
// ZEN5-NEXT: chosen contraction: direct, tile 8x32 of axes 2, 0, copies the image with its border, packs weights, a row of the window for each channel, whose places share elements, prefetches the result;
// ZEN5: grouped.
// ZEN5-NEXT: chosen windows: tile 19x16 of the result, axes 5 of the window written out, masks lanes outside of the image;
// ZEN5: depthwise.
// ZEN5-NEXT: chosen windows: tile 19x16 of the result, axes 3 of the window written out, masks lanes outside of the image;

func.func @c3_56(%x: tensor<1x64x56x56xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  func.return %conv : tensor<1x64x56x56xf32>
}

func.func @c3_28(%x: tensor<1x128x28x28xf32>, %w: tensor<128x128x3x3xf32>) -> tensor<1x128x28x28xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x128x28x28xf32>, tensor<128x128x3x3xf32> -> tensor<1x128x28x28xf32>
  func.return %conv : tensor<1x128x28x28xf32>
}

func.func @c3_14(%x: tensor<1x256x14x14xf32>, %w: tensor<256x256x3x3xf32>) -> tensor<1x256x14x14xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x256x14x14xf32>, tensor<256x256x3x3xf32> -> tensor<1x256x14x14xf32>
  func.return %conv : tensor<1x256x14x14xf32>
}

func.func @c3_7(%x: tensor<1x512x7x7xf32>, %w: tensor<512x512x3x3xf32>) -> tensor<1x512x7x7xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x512x7x7xf32>, tensor<512x512x3x3xf32> -> tensor<1x512x7x7xf32>
  func.return %conv : tensor<1x512x7x7xf32>
}

func.func @c3_s2(%x: tensor<1x128x56x56xf32>, %w: tensor<128x128x3x3xf32>) -> tensor<1x128x28x28xf32> {
  %conv = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 1 : tensor<1x128x56x56xf32>, tensor<128x128x3x3xf32> -> tensor<1x128x28x28xf32>
  func.return %conv : tensor<1x128x28x28xf32>
}

func.func @c1_56(%x: tensor<1x64x56x56xf32>, %w: tensor<256x64x1x1xf32>) -> tensor<1x256x56x56xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x64x56x56xf32>, tensor<256x64x1x1xf32> -> tensor<1x256x56x56xf32>
  func.return %conv : tensor<1x256x56x56xf32>
}

func.func @c1_7(%x: tensor<1x2048x7x7xf32>, %w: tensor<512x2048x1x1xf32>) -> tensor<1x512x7x7xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x2048x7x7xf32>, tensor<512x2048x1x1xf32> -> tensor<1x512x7x7xf32>
  func.return %conv : tensor<1x512x7x7xf32>
}

func.func @first(%x: tensor<1x3x224x224xf32>, %w: tensor<64x3x7x7xf32>) -> tensor<1x64x112x112xf32> {
  %conv = graph.conv %x, %w strides = [2, 2] dilations = [1, 1] pad = [3, 3], [3, 3] groups = 1 : tensor<1x3x224x224xf32>, tensor<64x3x7x7xf32> -> tensor<1x64x112x112xf32>
  func.return %conv : tensor<1x64x112x112xf32>
}

func.func @grouped(%x: tensor<1x128x56x56xf32>, %w: tensor<128x4x3x3xf32>) -> tensor<1x128x56x56xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 32 : tensor<1x128x56x56xf32>, tensor<128x4x3x3xf32> -> tensor<1x128x56x56xf32>
  func.return %conv : tensor<1x128x56x56xf32>
}

func.func @depthwise(%x: tensor<1x96x56x56xf32>, %w: tensor<96x1x3x3xf32>) -> tensor<1x96x56x56xf32> {
  %conv = graph.conv %x, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 96 : tensor<1x96x56x56xf32>, tensor<96x1x3x3xf32> -> tensor<1x96x56x56xf32>
  func.return %conv : tensor<1x96x56x56xf32>
}

// RUN: stepwell compile %s --emit plan --target sapphire-rapids | filecheck %s --check-prefix=SPR
// RUN: stepwell compile %s --emit plan --target zen3 | filecheck %s --check-prefix=ZEN3
// RUN: stepwell compile %s --emit plan --target zen5 | filecheck %s --check-prefix=ZEN5
// RUN: stepwell compile %s --emit plan --target icelake-server | filecheck %s --check-prefix=ICX
// RUN: stepwell compile %s --emit plan --target x86-64-v3 | filecheck %s --check-prefix=V3

// What rules decide for thirteen products on four known cores, and for some on any core with AVX2, without
// scheduling them.

// ICX: p256.
// ICX-NEXT: chosen contraction: tile 6x64, MC 6, NC 256, KC 256, N tiles innermost, packs B, B in the first tiles, peels M, prefetches rows of B 10 terms ahead, prefetches panels of B 10 terms ahead;
// ICX: p512.
// ICX-NEXT: chosen contraction: tile 9x48, MC 9, NC 240, KC 512, N tiles innermost, packs B, peels M and N, prefetches A, prefetches panels of B 9 terms ahead;
// ICX: p1024.
// ICX-NEXT: chosen contraction: tile 9x48, MC 9, NC 144, KC 1024, N tiles innermost, packs B, B in the first tiles, peels M and N, prefetches A, prefetches rows of B 65 terms ahead, prefetches panels of B 9 terms ahead;
// ICX: p2048.
// ICX-NEXT: chosen contraction: tile 9x48, MC 9, NC 144, KC 1024, N tiles innermost, packs B, B in the first tiles, peels M and N, K blocks outside of M, prefetches A and C, prefetches rows of B 65 terms ahead, prefetches panels of B 9 terms ahead;
// ICX: f64.
// ICX-NEXT: chosen contraction: tile 9x24, MC 9, NC 72, KC 1024, N tiles innermost, packs B, B in the first tiles, peels M and N, prefetches A, prefetches rows of B 65 terms ahead, prefetches panels of B 9 terms ahead;

// SPR: p256.
// SPR-NEXT: chosen contraction: tile 6x64, MC 6, NC 256, KC 256, N tiles innermost, packs B, B in the first tiles, peels M, prefetches rows of B 15 terms ahead, prefetches panels of B 15 terms ahead;
// SPR: p512.
// SPR-NEXT: chosen contraction: tile 9x48, MC 9, NC 240, KC 512, N tiles innermost, packs B, peels M and N, prefetches A, prefetches panels of B 13 terms ahead;
// SPR: p1024.
// SPR-NEXT: chosen contraction: tile 9x48, MC 9, NC 144, KC 1024, N tiles innermost, packs B, B in the first tiles, peels M and N, prefetches A, prefetches rows of B 47 terms ahead, prefetches panels of B 13 terms ahead;
// SPR: p2048.
// SPR-NEXT: chosen contraction: tile 9x48, MC 9, NC 96, KC 2048, N tiles innermost, packs B, B in the first tiles, peels M and N, prefetches A, prefetches rows of B 47 terms ahead, prefetches panels of B 13 terms ahead;
// SPR: nt.
// SPR-NEXT: chosen contraction: tile 9x48, MC 9, NC 144, KC 1024, N tiles innermost, packs B, peels M and N, prefetches A, prefetches panels of B 13 terms ahead;
// SPR: tn.
// SPR-NEXT: chosen contraction: tile 9x48, MC 90, NC 1024, KC 1024, M tiles innermost, packs A and B, peels N, prefetches B and C, prefetches panels of B 13 terms ahead;
// SPR: f64.
// SPR-NEXT: chosen contraction: tile 6x32, MC 6, NC 96, KC 1024, N tiles innermost, packs B, B in the first tiles, peels M, prefetches A, prefetches rows of B 53 terms ahead, prefetches panels of B 15 terms ahead;
// SPR: wide.
// SPR-NEXT: chosen contraction: tile 8x48, MC 128, NC 384, KC 768, M tiles innermost, packs B, prefetches C, prefetches panels of B 14 terms ahead;
// SPR: deep.
// SPR-NEXT: chosen contraction: tile 8x48, MC 128, NC 768, KC 384, M tiles innermost, packs B, K blocks outside of M, prefetches C, prefetches panels of B 14 terms ahead;
// SPR: small.
// SPR-NEXT: chosen contraction: tile 8x48, MC 8, NC 100, KC 500, N tiles innermost, packs B, B in the first tiles, peels N, prefetches rows of B 14 terms ahead, prefetches panels of B 14 terms ahead;
// SPR: tall.
// SPR-NEXT: chosen contraction: tile 14x32, MC 14, NC 32, KC 64, N tiles innermost, packs B, peels M, prefetches A;
// SPR: ragged.
// SPR-NEXT: chosen contraction: tile 9x48, MC 9, NC 333, KC 97, N tiles innermost, packs B, peels M, prefetches panels of B 13 terms ahead;
// SPR: gram.
// SPR-NEXT: chosen contraction: tile 8x24, MC 300, NC 300, KC 250, M tiles innermost, packs A and B, peels M and N, K blocks outside of M, prefetches C, prefetches panels of B 14 terms ahead, mirrors C;

// ZEN3: p256.
// ZEN3-NEXT: chosen contraction: tile 4x24, MC 256, NC 24, KC 256, M tiles innermost, packs B, peels N, prefetches C;
// ZEN3: p512.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 6, NC 64, KC 512, N tiles innermost, packs B, peels M, prefetches A, prefetches panels of B 12 terms ahead;
// ZEN3: p1024.
// ZEN3-NEXT: chosen contraction: tile 4x24, MC 128, NC 1024, KC 256, M tiles innermost, packs A and B, peels N, K blocks outside of M, prefetches B and C;
// ZEN3: p2048.
// ZEN3-NEXT: chosen contraction: tile 4x24, MC 128, NC 2048, KC 256, M tiles innermost, packs A and B, peels N, K blocks outside of M, prefetches B and C;
// ZEN3: nt.
// ZEN3-NEXT: chosen contraction: tile 4x24, MC 128, NC 1024, KC 256, M tiles innermost, packs A and B, peels N, K blocks outside of M, prefetches B and C;
// ZEN3: tn.
// ZEN3-NEXT: chosen contraction: tile 4x24, MC 128, NC 1024, KC 256, M tiles innermost, packs A and B, peels N, K blocks outside of M, prefetches B and C;
// ZEN3: f64.
// ZEN3-NEXT: chosen contraction: tile 6x8, MC 66, NC 1024, KC 256, M tiles innermost, packs A and B, K blocks outside of M, prefetches B and C;
// ZEN3: wide.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 6, NC 48, KC 768, N tiles innermost, packs B, B in the first tiles, peels M, prefetches A, prefetches rows of B 145 terms ahead, prefetches panels of B 12 terms ahead;
// ZEN3: deep.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 6, NC 32, KC 1536, N tiles innermost, packs B, B in the first tiles, peels M, K blocks outside of M, prefetches A and C, prefetches rows of B 145 terms ahead, prefetches panels of B 12 terms ahead;
// ZEN3: small.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 64, NC 100, KC 500, M tiles innermost, packs nothing, peels M and N, prefetches rows of B 12 terms ahead;
// ZEN3: tall.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 6, NC 32, KC 64, N tiles innermost, packs B, peels M, prefetches A;
// ZEN3: ragged.
// ZEN3-NEXT: chosen contraction: tile 6x16, MC 6, NC 333, KC 97, N tiles innermost, packs B, peels M, prefetches A, prefetches panels of B 12 terms ahead;
// ZEN3: gram.
// ZEN3-NEXT: chosen contraction: tile 5x8, MC 75, NC 300, KC 250, M tiles innermost, packs A and B, peels N, K blocks outside of M, prefetches C, mirrors C;

// ZEN5: p256.
// ZEN5-NEXT: chosen contraction: tile 13x32, MC 256, NC 256, KC 256, M tiles innermost, packs nothing, peels M, prefetches rows of B 10 terms ahead;
// ZEN5: p512.
// ZEN5-NEXT: chosen contraction: tile 14x32, MC 14, NC 128, KC 512, N tiles innermost, packs B, peels M, prefetches A;
// ZEN5: p1024.
// ZEN5-NEXT: chosen contraction: tile 10x32, MC 10, NC 96, KC 1024, N tiles innermost, packs B, B in the first tiles, peels M, prefetches A, prefetches rows of B 81 terms ahead;
// ZEN5: p2048.
// ZEN5-NEXT: chosen contraction: tile 10x32, MC 10, NC 64, KC 2048, N tiles innermost, packs B, B in the first tiles, peels M, prefetches A, prefetches rows of B 81 terms ahead;
// ZEN5: nt.
// ZEN5-NEXT: chosen contraction: tile 10x32, MC 10, NC 96, KC 1024, N tiles innermost, packs B, peels M, prefetches A;
// ZEN5: tn.
// ZEN5-NEXT: chosen contraction: tile 13x32, MC 39, NC 1024, KC 1024, M tiles innermost, packs A and B, prefetches B and C;
// ZEN5: f64.
// ZEN5-NEXT: chosen contraction: tile 9x24, MC 9, NC 48, KC 1024, N tiles innermost, packs B, B in the first tiles, peels M and N, prefetches A, prefetches rows of B 60 terms ahead;
// ZEN5: wide.
// ZEN5-NEXT: chosen contraction: tile 13x32, MC 13, NC 96, KC 768, N tiles innermost, packs B, B in the first tiles, peels M, prefetches A, prefetches rows of B 62 terms ahead;
// ZEN5: deep.
// ZEN5-NEXT: chosen contraction: tile 11x32, MC 11, NC 64, KC 1536, N tiles innermost, packs B, B in the first tiles, peels M, K blocks outside of M, prefetches A and C, prefetches rows of B 74 terms ahead;
// ZEN5: small.
// ZEN5-NEXT: chosen contraction: tile 14x32, MC 14, NC 100, KC 500, N tiles innermost, packs B, B in the first tiles, peels M and N, prefetches rows of B 10 terms ahead;
// ZEN5: tall.
// ZEN5-NEXT: chosen contraction: tile 14x32, MC 14, NC 32, KC 64, N tiles innermost, packs B, peels M, prefetches A;
// ZEN5: ragged.
// ZEN5-NEXT: chosen contraction: tile 9x48, MC 9, NC 333, KC 97, N tiles innermost, packs nothing, peels M and N, prefetches rows of B 11 terms ahead;
// ZEN5: gram.
// ZEN5-NEXT: chosen contraction: tile 12x16, MC 24, NC 300, KC 2000, M tiles innermost, packs A, peels N, prefetches C, mirrors C;

// V3: p256.
// V3-NEXT: chosen contraction: tile 6x16, MC 6, NC 128, KC 256, N tiles innermost, packs B, peels M, prefetches A, prefetches panels of B 9 terms ahead;
// V3: p1024.
// V3-NEXT: chosen contraction: tile 6x16, MC 18, NC 1024, KC 1024, M tiles innermost, packs A and B, prefetches B and C, prefetches panels of B 9 terms ahead;
// V3: p2048.
// V3-NEXT: chosen contraction: tile 6x16, MC 114, NC 2048, KC 256, M tiles innermost, packs A and B, K blocks outside of M, prefetches B and C;
// V3: f64.
// V3-NEXT: chosen contraction: tile 6x8, MC 66, NC 1024, KC 256, M tiles innermost, packs A and B, K blocks outside of M, prefetches B and C;

func.func @p256(%a: tensor<256x256xf32>, %b: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %matmul = graph.matmul %a, %b : tensor<256x256xf32>, tensor<256x256xf32> -> tensor<256x256xf32>
  func.return %matmul : tensor<256x256xf32>
}

func.func @p512(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %matmul = graph.matmul %a, %b : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  func.return %matmul : tensor<512x512xf32>
}

func.func @p1024(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %matmul = graph.matmul %a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  func.return %matmul : tensor<1024x1024xf32>
}

func.func @p2048(%a: tensor<2048x2048xf32>, %b: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %matmul = graph.matmul %a, %b : tensor<2048x2048xf32>, tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  func.return %matmul : tensor<2048x2048xf32>
}

func.func @nt(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %transpose = graph.transpose %b perm = [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %matmul = graph.matmul %a, %transpose : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  func.return %matmul : tensor<1024x1024xf32>
}

func.func @tn(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %transpose = graph.transpose %a perm = [1, 0] : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %matmul = graph.matmul %transpose, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  func.return %matmul : tensor<1024x1024xf32>
}

func.func @f64(%a: tensor<1024x1024xf64>, %b: tensor<1024x1024xf64>) -> tensor<1024x1024xf64> {
  %matmul = graph.matmul %a, %b : tensor<1024x1024xf64>, tensor<1024x1024xf64> -> tensor<1024x1024xf64>
  func.return %matmul : tensor<1024x1024xf64>
}

func.func @wide(%a: tensor<128x768xf32>, %b: tensor<768x3072xf32>) -> tensor<128x3072xf32> {
  %matmul = graph.matmul %a, %b : tensor<128x768xf32>, tensor<768x3072xf32> -> tensor<128x3072xf32>
  func.return %matmul : tensor<128x3072xf32>
}

func.func @deep(%a: tensor<128x3072xf32>, %b: tensor<3072x768xf32>) -> tensor<128x768xf32> {
  %matmul = graph.matmul %a, %b : tensor<128x3072xf32>, tensor<3072x768xf32> -> tensor<128x768xf32>
  func.return %matmul : tensor<128x768xf32>
}

func.func @small(%a: tensor<64x500xf32>, %b: tensor<500x100xf32>) -> tensor<64x100xf32> {
  %matmul = graph.matmul %a, %b : tensor<64x500xf32>, tensor<500x100xf32> -> tensor<64x100xf32>
  func.return %matmul : tensor<64x100xf32>
}

func.func @tall(%a: tensor<20000x64xf32>, %b: tensor<64x32xf32>) -> tensor<20000x32xf32> {
  %matmul = graph.matmul %a, %b : tensor<20000x64xf32>, tensor<64x32xf32> -> tensor<20000x32xf32>
  func.return %matmul : tensor<20000x32xf32>
}

func.func @ragged(%a: tensor<1301x97xf32>, %b: tensor<97x333xf32>) -> tensor<1301x333xf32> {
  %matmul = graph.matmul %a, %b : tensor<1301x97xf32>, tensor<97x333xf32> -> tensor<1301x333xf32>
  func.return %matmul : tensor<1301x333xf32>
}

// A product of a matrix with itself is symmetric: half of it is computed and the rest copied.
func.func @gram(%a: tensor<2000x300xf64>) -> tensor<300x300xf64> {
  %transpose = graph.transpose %a perm = [1, 0] : tensor<2000x300xf64> -> tensor<300x2000xf64>
  %matmul = graph.matmul %transpose, %a : tensor<300x2000xf64>, tensor<2000x300xf64> -> tensor<300x300xf64>
  func.return %matmul : tensor<300x300xf64>
}

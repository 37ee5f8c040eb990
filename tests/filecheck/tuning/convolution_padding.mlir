// RUN: stepwell-opt %s -p 'te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=zen4}' | filecheck %s
// RUN: stepwell-opt %s -p 'te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=zen3}' | filecheck %s --check-prefix ZEN3

// Terms outside of the image are left out: rows of the window above and below it by the bounds of a loop; columns, in the
// first and the last tile of a row, by shorter tiles. No read asks whether it is inside, and the image is read where it is.
// Tiles use a row of the window for each channel, pixel by pixel: each goes to all places of the window that read it.
// CHECK-LABEL: @rows.y(
// CHECK-NOT:     "image
// CHECK-NOT:     loop.if
// CHECK:         loop.for reduction "kh.front" %{{.*}} = max(0, -%[[OH:.*]] + 1) to min(3, -%[[OH]] + 57) {
// CHECK:           loop.for reduction "c.front" {{.*}} to 64
// CHECK:             loop.for reduction unroll "kw.front" {{.*}} = 0 to 2 {
// CHECK:             loop.for reduction unroll "kw.front.u1" {{.*}} = 0 to 3 {
// CHECK:             loop.for reduction unroll "kw.front.u10" {{.*}} = 0 to 3 {
// CHECK:             loop.for reduction unroll "kw.front.u11" {{.*}} = 0 to 2 {
// CHECK:         loop.for reduction "kh" %{{.*}} = max(0, -%{{.*}} + 1) to min(3, -%{{.*}} + 57) {
// CHECK:           loop.for reduction "c" {{.*}} to 64
// CHECK-NOT:         loop.for reduction unroll "kw"
// CHECK:             loop.for reduction unroll "kw.u1" {{.*}} = 0 to 2 {
// CHECK:             loop.for reduction unroll "kw.u2" {{.*}} = 0 to 3 {
// CHECK:             loop.for reduction unroll "kw.u12" {{.*}} = 0 to 2 {
func.func @rows(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = arith.constant dense<0.5> : tensor<64x64x3x3xf32>
  %y = te.compute [%n = 1, %f = 64, %oh = 56, %ow = 56] add [%c = 64, %kh = 3, %kw = 3] (%a = %x[%n, %c, %oh + %kh - 1, %ow + %kw - 1] else 0.0 : f32, %b = %w[%f, %c, %kh, %kw]) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<1x64x56x56xf32>
}

// Zero times infinity is no number.
// CHECK-LABEL: @infinite.y(
// CHECK-NOT:     max(0
// CHECK:       func.func @infinite(
func.func @infinite(%x: tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32> {
  %w = arith.constant dense<0x7F800000> : tensor<64x64x3x3xf32>
  %y = te.compute [%n = 1, %f = 64, %oh = 56, %ow = 56] add [%c = 64, %kh = 3, %kw = 3] (%a = %x[%n, %c, %oh + %kh - 1, %ow + %kw - 1] else 0.0 : f32, %b = %w[%f, %c, %kh, %kw]) : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<1x64x56x56xf32>
}

// A loop over few channels is written out in whole tiles alone: at the edges places of the window stand one after the other, and
// share pixels, which LLVM would keep in registers that there are not.
// ZEN3-LABEL: @few_channels.y(
// ZEN3:         loop.for reduction "c.front" {{.*}} to 3 {
// ZEN3:         loop.for reduction "c.front.u6" {{.*}} to 3 {
// ZEN3:         loop.for reduction unroll "c" {{.*}} to 3 {
// ZEN3:         loop.for reduction "c.back" {{.*}} to 3 {
// ZEN3:         loop.for reduction "c.back.u6" {{.*}} to 3 {
func.func @few_channels(%x: tensor<1x3x112x112xf32>) -> tensor<2x56x56x16xf32> {
  %w = arith.constant dense<0.5> : tensor<2x16x3x7x7xf32>
  %y = te.compute [%f = 2, %oh = 56, %ow = 56, %g = 16] add [%c = 3, %kh = 7, %kw = 7] (%a = %x[0, %c, %oh * 2 + %kh - 3, %ow * 2 + %kw - 3] else 0.0 : f32, %v = %w[%f, %g, %c, %kh, %kw]) : (tensor<1x3x112x112xf32>, tensor<2x16x3x7x7xf32>) -> tensor<2x56x56x16xf32> {
    %p = arith.mulf %a, %v : f32
    te.yield %p : f32
  }
  func.return %y : tensor<2x56x56x16xf32>
}

// RUN: stepwell-opt %s -p "te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=zen4}" --remarks 2>&1 | filecheck %s
// RUN: stepwell-opt %s -p "te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=zen4}" | filecheck %s --check-prefix LOOP

// Channels in blocks of a vector, and a filter of known numbers that are finite: nothing is added for pixels outside of the image. Rows
// of the filter by the bounds of a loop, columns by shorter tiles; the image is read where it is.
// CHECK: scheduled as windows: tile 14x16 of the result, leaves out terms outside of it along axes 4, 5;
// LOOP-LABEL: @finite.
// LOOP-NOT:   loop.if
// LOOP-NOT:   loop.alloc stack
// LOOP:       loop.for reduction "kh" %{{.*}} = max(0, -%oh + 1) to min(3, -%oh + 15)
// LOOP-NEXT:    loop.for parallel unroll "ow.each" %{{.*}} = 0 to 13
// LOOP:         loop.for parallel unroll "ow.each.u1" %{{.*}} = 0 to 14
// LOOP:         loop.for parallel unroll "ow.each.u2" %{{.*}} = 0 to 13
func.func @finite(%x: tensor<4x14x14x16xf32>, %w: tensor<4x3x3x16xf32> {stepwell.finite}) -> tensor<4x14x14x16xf32> {
  %y = te.compute [%c = 4, %oh = 14, %ow = 14, %d = 16] add [%kh = 3, %kw = 3] (%a = %x[%c, %oh + %kh - 1, %ow + %kw - 1, %d] else 0.0 : f32, %b = %w[%c, %kh, %kw, %d]) : (tensor<4x14x14x16xf32>, tensor<4x3x3x16xf32>) -> tensor<4x14x14x16xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<4x14x14x16xf32>
}

// Zero times what may be infinite is no zero: all terms are added, from a copy of the image with its border.
// CHECK: scheduled as windows: tile 14x16 of the result, axes 5 of the window written out, copies the image with its border;
// LOOP-LABEL: @unknown.
// LOOP:       %image = loop.alloc stack
// LOOP-NOT:   max(0
func.func @unknown(%x: tensor<4x14x14x16xf32>, %w: tensor<4x3x3x16xf32>) -> tensor<4x14x14x16xf32> {
  %y = te.compute [%c = 4, %oh = 14, %ow = 14, %d = 16] add [%kh = 3, %kw = 3] (%a = %x[%c, %oh + %kh - 1, %ow + %kw - 1, %d] else 0.0 : f32, %b = %w[%c, %kh, %kw, %d]) : (tensor<4x14x14x16xf32>, tensor<4x3x3x16xf32>) -> tensor<4x14x14x16xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<4x14x14x16xf32>
}

// A maximum leaves out what is less than all numbers outside of the image, and not a zero there.
// CHECK: scheduled as windows: tile {{[0-9]+}}x16 of the result, leaves out terms outside of it along axes 4, 5;
// LOOP-LABEL: @greatest.
// LOOP-NOT:   loop.if
// LOOP:       loop.for reduction "kh" %{{.*}} = max(0, %oh * -2 + 1) to 3
func.func @greatest(%x: tensor<4x14x14x16xf32>) -> tensor<4x7x7x16xf32> {
  %y = te.compute [%c = 4, %oh = 7, %ow = 7, %d = 16] max [%kh = 3, %kw = 3] (%a = %x[%c, %oh * 2 + %kh - 1, %ow * 2 + %kw - 1, %d] else 0xFF800000 : f32) : (tensor<4x14x14x16xf32>) -> tensor<4x7x7x16xf32> {
    te.yield %a : f32
  }
  func.return %y : tensor<4x7x7x16xf32>
}

// CHECK: scheduled as windows:
// CHECK-NOT: leaves out
// LOOP-LABEL: @greatest_with_zeros.
// LOOP-NOT:   max(0, %oh * -2 + 1) to 3 {
// LOOP:       func.func @greatest_with_zeros
func.func @greatest_with_zeros(%x: tensor<4x14x14x16xf32>) -> tensor<4x7x7x16xf32> {
  %y = te.compute [%c = 4, %oh = 7, %ow = 7, %d = 16] max [%kh = 3, %kw = 3] (%a = %x[%c, %oh * 2 + %kh - 1, %ow * 2 + %kw - 1, %d] else 0.0 : f32) : (tensor<4x14x14x16xf32>) -> tensor<4x7x7x16xf32> {
    te.yield %a : f32
  }
  func.return %y : tensor<4x7x7x16xf32>
}

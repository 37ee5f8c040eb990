// RUN: stepwell-opt %s -p 'loop-skip-padding{loop=f/kh}' | filecheck %s --check-prefix ROWS
// RUN: stepwell-opt %s -p 'loop-skip-padding{loop=f/ow}' | filecheck %s --check-prefix COLUMNS
// RUN: not stepwell-opt %s -p 'loop-skip-padding{loop=g/k}' 2>&1 | filecheck %s --check-prefix UNKNOWN

// The loop over the window is shorter in rows at the border, or, for each place in the window, that over columns; the
// conditions stay, for `simplify`. A tile of several rows leaves out what all of them do not need.
// ROWS:         loop.for reduction "kh" %kh = max(0, -%oh + 1) to min(3, -%oh + 8) {
// ROWS:           loop.for parallel "ow" %ow = 0 to 7 {
// ROWS:             loop.if (%oh + %kh - 1 >= 0,
// COLUMNS:      loop.for reduction "kh" %kh = 0 to 3 {
// COLUMNS:        loop.for parallel "ow" %ow = max(0, -%kw + 1) to min(7, -%kw + 8) {
func.func @f(%x: memref<7x7xf32>, %w: memref<3x3xf32> {stepwell.constant, stepwell.finite}, %y: memref<7x7xf32>) {
  loop.for parallel "oh" %oh = 0 to 7 {
    loop.for reduction "kh" %kh = 0 to 3 {
      loop.for reduction "kw" %kw = 0 to 3 {
        loop.for parallel "ow" %ow = 0 to 7 {
          %a = loop.if (%oh + %kh - 1 >= 0, -%oh - %kh + 7 >= 0, %ow + %kw - 1 >= 0, -%ow - %kw + 7 >= 0) -> (f32) {
            %0 = loop.load %x[%oh + %kh - 1, %ow + %kw - 1] : memref<7x7xf32>
            loop.yield %0 : f32
          } else {
            %1 = arith.constant 0.0 : f32
            loop.yield %1 : f32
          }
          %b = loop.load %w[%kh, %kw] : memref<3x3xf32>
          %p = arith.mulf %a, %b fastmath<contract> : f32
          %c = loop.load %y[%oh, %ow] : memref<7x7xf32>
          %s = arith.addf %c, %p fastmath<reassoc,contract> : f32
          loop.store %s, %y[%oh, %ow] : memref<7x7xf32>
        }
      }
    }
  }
  func.return
}

// Zero times infinity is no number, and weights that a caller gives may have one.
// UNKNOWN: error: {{.*}}skip_padding("g/k") is refused: what loop 'k' joins is not known to leave a result as it is where a read is outside of its buffer; mark constants that are finite, or skip nothing
func.func @g(%x: memref<7xf32>, %w: memref<3xf32>, %y: memref<7xf32>) {
  loop.for parallel "i" %i = 0 to 7 {
    loop.for reduction "k" %k = 0 to 3 {
      %a = loop.if (%i + %k - 1 >= 0) -> (f32) {
        %0 = loop.load %x[%i + %k - 1] : memref<7xf32>
        loop.yield %0 : f32
      } else {
        %1 = arith.constant 0.0 : f32
        loop.yield %1 : f32
      }
      %b = loop.load %w[%k] : memref<3xf32>
      %p = arith.mulf %a, %b : f32
      %c = loop.load %y[%i] : memref<7xf32>
      %s = arith.addf %c, %p fastmath<reassoc> : f32
      loop.store %s, %y[%i] : memref<7xf32>
    }
  }
  func.return
}

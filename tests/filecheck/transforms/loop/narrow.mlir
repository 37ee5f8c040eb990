// RUN: stepwell-opt %s -p loop-narrow | filecheck %s

// Of each row two elements fewer are needed from step to step; the lanes of a vector are stored together or not at all.

// CHECK-LABEL: func.func private @lanes(
// CHECK:         loop.for parallel "i" %i = 0 to 5 {
// CHECK-NEXT:      loop.for parallel "j.block" %jb = 0 to min(4, (%step * -2 + 33) floordiv 8 + 1) {
// CHECK-NEXT:        loop.for parallel vector "j.lane" %j = 0 to 8 {
// CHECK:           loop.if (%step * -2 + 1 >= 0) {
// CHECK-NEXT:        loop.for parallel vector "j.back" %j_1 = 0 to 8 {
func.func private @lanes(%x: memref<5x35xf32>, %step: index {stepwell.step}, %y: memref<5x35xf32> {stepwell.result, stepwell.needed = affine_map<(d0) -> (0, 4, 0, d0 * -2 + 33)>}) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.for parallel "j.block" %jb = 0 to 4 {
      loop.for parallel vector "j.lane" %j = 0 to 8 {
        %a = loop.load %x[%i, %j + %jb * 8] : memref<5x35xf32>
        loop.store %a, %y[%i, %j + %jb * 8] : memref<5x35xf32>
      }
    }
    loop.for parallel vector "j.back" %j = 0 to 8 {
      loop.if (-%j + 2 >= 0) {
        %a = loop.load %x[%i, %j + 32] : memref<5x35xf32>
        loop.store %a, %y[%i, %j + 32] : memref<5x35xf32>
      }
    }
  }
  func.return
}

// The first elements are the superfluous ones: the loop begins later, but not one of greater steps.

// CHECK-LABEL: func.func private @later(
// CHECK:         loop.for parallel "i" %i = max(0, %step - 2) to 9 {
// CHECK:         loop.for parallel "j" %j = 0 to 9 step 3 {
func.func private @later(%x: memref<9xf32>, %step: index {stepwell.step}, %y: memref<9xf32> {stepwell.result, stepwell.needed = affine_map<(d0) -> (d0 - 2, 8)>}) {
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %x[%i] : memref<9xf32>
    loop.store %a, %y[%i] : memref<9xf32>
  }
  loop.for parallel "j" %j = 0 to 9 step 3 {
    %a = loop.load %x[%j] : memref<9xf32>
    loop.store %a, %y[%j] : memref<9xf32>
  }
  func.return
}

// A loop that also stores what another one reads keeps all of its iterations.

// CHECK-LABEL: func.func private @both(
// CHECK:         loop.for parallel "i" %i = 0 to 9 {
// CHECK:         loop.for parallel "j" %j = 0 to min(9, -%step + 9) {
func.func private @both(%x: memref<9xf32>, %step: index {stepwell.step}, %y: memref<9xf32> {stepwell.result, stepwell.needed = affine_map<(d0) -> (0, d0 * -1 + 8)>}) {
  %own = loop.alloc stack : memref<9xf32>
  loop.for parallel "i" %i = 0 to 9 {
    %a = loop.load %x[%i] : memref<9xf32>
    loop.store %a, %own[-%i + 8] : memref<9xf32>
    loop.store %a, %y[%i] : memref<9xf32>
  }
  loop.for parallel "j" %j = 0 to 9 {
    %a = loop.load %own[%j] : memref<9xf32>
    loop.store %a, %y[%j] : memref<9xf32>
  }
  func.return
}

// Of two stores a step apart from each other, an iteration is needed as long as either is.

// CHECK-LABEL: func.func private @apart(
// CHECK:         loop.for parallel "i" %i = max(0, %step - 6) to min(5, -%step + 9) {
func.func private @apart(%x: memref<9xf32>, %step: index {stepwell.step}, %y: memref<9xf32> {stepwell.result, stepwell.needed = affine_map<(d0) -> (d0 - 2, d0 * -1 + 8)>}) {
  loop.for parallel "i" %i = 0 to 5 {
    %a = loop.load %x[%i] : memref<9xf32>
    loop.store %a, %y[%i] : memref<9xf32>
    loop.store %a, %y[%i + 4] : memref<9xf32>
  }
  func.return
}

// A function of several blocks stays as it is.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%more: i1, %x: memref<50x200xf32> {stepwell.needed = affine_map<(d0) -> (0, 49, 0, 198 - d0)>}, %step: index {stepwell.step}) {
  cf.cond_br %more, ^again, ^end
^again:
  cf.br ^end
^end:
  func.return
}

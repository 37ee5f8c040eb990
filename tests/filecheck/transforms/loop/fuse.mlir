// RUN: stepwell-opt %s -p 'loop-fuse{loop=f/i inner=j}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-fuse{loop=steps/i inner=j into=ij}' | filecheck %s --check-prefix STEPS
// RUN: stepwell-opt %s -p 'loop-fuse{loop=moving/i inner=j}' | filecheck %s --check-prefix MOVING
// RUN: stepwell-opt %s -p 'loop-fuse{loop=symbols/i inner=j}' | filecheck %s --check-prefix SYMBOLS
// RUN: not stepwell-opt %s -p 'loop-fuse{loop=triangle/i inner=j}' 2>&1 | filecheck %s --check-prefix TRIANGLE
// RUN: not stepwell-opt %s -p 'loop-fuse{loop=imperfect/i inner=j}' 2>&1 | filecheck %s --check-prefix IMPERFECT
// RUN: not stepwell-opt %s -p 'loop-fuse{loop=steps/i inner=k}' 2>&1 | filecheck %s --check-prefix APART

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:    loop.for parallel "i.j" %i_j = 0 to 35 {
// CHECK-NEXT:      %a = loop.load %A[%i_j floordiv 7, %i_j mod 7]
// CHECK-NEXT:      loop.store %a, %A[%i_j floordiv 7, %i_j mod 7]
func.func private @f(%A: memref<5x7xf32>) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.for parallel "j" %j = 0 to 7 {
      %a = loop.load %A[%i, %j] : memref<5x7xf32>
      loop.store %a, %A[%i, %j] : memref<5x7xf32>
    }
  }
  func.return
}

// Four iterations of i (2, 5, 8, 11), three of j (-1, 1, 3); what stands between the loops moves inside.
// STEPS-LABEL: func.func private @steps
// STEPS-NEXT:    loop.for serial "ij" %ij = 0 to 12 {
// STEPS-NEXT:      %c = arith.constant
// STEPS-NEXT:      %x = affine.apply affine_map<(d0) -> (({{.*}}d0 floordiv 3{{.*}}> (%ij)
// STEPS-NEXT:      memref.store %c, %A[%x, %x]
// STEPS-NEXT:      loop.store %c, %A[%ij floordiv 3 * 3 + 2, %ij mod 3 * 2]
// APART: error: {{.*}}fuse("steps/i", inner="k") is refused: loop 'k' does not stand directly in 'i'; name a loop and the only loop in its body, outer one first
func.func private @steps(%A: memref<20x20xf32>) {
  loop.for serial "i" %i = 2 to 12 step 3 {
    %c = arith.constant 1.0 : f32
    %x = affine.apply affine_map<(d0) -> (d0 + 1)> (%i)
    loop.for parallel "j" %j = -1 to 4 step 2 {
      memref.store %c, %A[%x, %x] : memref<20x20xf32>
      loop.store %c, %A[%i, %j + 1] : memref<20x20xf32>
    }
  }
  loop.for serial "k" %k = 0 to 4 {
  }
  func.return
}

// The extent counts, not the bounds: a skewed loop has the same one everywhere.
// MOVING-LABEL: func.func private @moving
// MOVING:         loop.for serial "i.j" %i_j = 0 to 40 {
// MOVING-NEXT:      loop.store %v, %A[%i_j floordiv 8, %i_j mod 8]
func.func private @moving(%A: memref<5x8xf32>, %v: f32) {
  loop.for serial "i" %i = 0 to 5 {
    loop.for serial "j" %j = %i to %i + 8 {
      loop.store %v, %A[%i, %j - %i] : memref<5x8xf32>
    }
  }
  func.return
}

// The outer bounds may be anything: here a maximum and a minimum of symbols.
// SYMBOLS-LABEL: func.func private @symbols
// SYMBOLS-NEXT:    loop.for parallel "i.j" %i_j = max(%m * 4, %n * 4) to min(%n * 4 + 32, 64) {
// SYMBOLS-NEXT:      loop.store %v, %A[%i_j floordiv 4, %i_j mod 4]
func.func private @symbols(%A: memref<?x4xf32>, %m: index, %n: index, %v: f32) {
  loop.for parallel "i" %i = max(%m, %n) to min(%n + 8, 16) {
    loop.for parallel "j" %j = 0 to 4 {
      loop.store %v, %A[%i, %j] : memref<?x4xf32>
    }
  }
  func.return
}

// TRIANGLE: error: {{.*}}fuse("triangle/i", inner="j") is refused: the trip count of 'j' is not a constant, so 'i' is no affine function of the fused variable
func.func private @triangle(%A: memref<5x5xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.for parallel "j" %j = 0 to %i + 1 {
      loop.store %v, %A[%i, %j] : memref<5x5xf32>
    }
  }
  func.return
}

// IMPERFECT: error: {{.*}}fuse("imperfect/i", inner="j") is refused: 'loop.store' stands in 'i' beside 'j', so the nest is not perfect; make the nest perfect with fission first
func.func private @imperfect(%A: memref<5x5xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.store %v, %A[%i, 0] : memref<5x5xf32>
    loop.for parallel "j" %j = 1 to 5 {
      loop.store %v, %A[%i, %j] : memref<5x5xf32>
    }
  }
  func.return
}

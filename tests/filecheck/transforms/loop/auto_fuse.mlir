// RUN: stepwell-opt %s -p loop-auto-fuse | filecheck %s
// RUN: stepwell-opt %s -p "loop-auto-fuse{keep-parallel=false}" | filecheck %s --check-prefix ANY

// Both loops of both nests, from the outside in.
// CHECK:      stepwell.chosen = ["fuse_loops(two/i, other=k): both use %T", "fuse_loops(two/j, other=l): both use %T"]
// CHECK:        loop.for parallel "i"
// CHECK-NEXT:     loop.for parallel "j"
// CHECK-NOT:    loop.for
// CHECK:        func.return
func.func @two(%A: memref<8x4xf32>, %B: memref<8x4xf32> {stepwell.result}) {
  %T = loop.alloc stack : memref<8x4xf32>
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to 4 {
      %a = loop.load %A[%i, %j] : memref<8x4xf32>
      loop.store %a, %T[%i, %j] : memref<8x4xf32>
    }
  }
  loop.for parallel "k" %i = 0 to 8 {
    loop.for parallel "l" %j = 0 to 4 {
      %a = loop.load %T[%i, %j] : memref<8x4xf32>
      loop.store %a, %B[%i, %j] : memref<8x4xf32>
    }
  }
  func.return
}

// Legal, but the loop would no longer be parallel.
// CHECK:      func.func @previous
// CHECK:        loop.for parallel "i"
// CHECK:        loop.for parallel "j"
// ANY:        func.func @previous
// ANY:          loop.for serial "i"
// ANY-NOT:      loop.for
// ANY:        func.func @next
func.func @previous(%A: memref<9xf32>, %B: memref<9xf32> {stepwell.result}) {
  %T = loop.alloc stack : memref<9xf32>
  loop.for parallel "i" %i = 1 to 9 {
    %a = loop.load %A[%i] : memref<9xf32>
    loop.store %a, %T[%i] : memref<9xf32>
  }
  loop.for parallel "j" %i = 1 to 9 {
    %a = loop.load %T[%i - 1] : memref<9xf32>
    loop.store %a, %B[%i] : memref<9xf32>
  }
  func.return
}

// Not legal: the second loop reads elements that would not be there yet.
// CHECK:      func.func @next(%A: memref<9xf32>, %B: memref<9xf32> {stepwell.result}) {
// CHECK:        loop.for parallel "i"
// CHECK:        loop.for parallel "j"
func.func @next(%A: memref<9xf32>, %B: memref<9xf32> {stepwell.result}) {
  %T = loop.alloc stack : memref<9xf32>
  loop.for parallel "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<9xf32>
    loop.store %a, %T[%i] : memref<9xf32>
  }
  loop.for parallel "j" %i = 0 to 8 {
    %a = loop.load %T[7 - %i] : memref<9xf32>
    loop.store %a, %B[%i] : memref<9xf32>
  }
  func.return
}

// Nothing in common.
// CHECK:      func.func @apart
// CHECK:        loop.for parallel "i"
// CHECK:        loop.for parallel "j"
func.func @apart(%A: memref<8xf32> {stepwell.result}, %B: memref<8xf32> {stepwell.result}) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "i" %i = 0 to 8 { loop.store %zero, %A[%i] : memref<8xf32> }
  loop.for parallel "j" %i = 0 to 8 { loop.store %zero, %B[%i] : memref<8xf32> }
  func.return
}

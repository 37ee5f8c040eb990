// RUN: not stepwell-opt %s -p convert-loop-to-core 2>&1 | filecheck %s

// The sum was marked while it could be reordered. Now it is to be added up in order, which lanes cannot.
// CHECK: recurrence.mlir:10:{{.*}}: found a vector loop 'i' whose lanes load the element of 'so_far' that the lane before stores
func.func @no_longer_a_reduction(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}, %so_far: memref<f32> {stepwell.result}) {
  loop.for serial vector "i" %i = 0 to 4 {
    %before = loop.load %so_far[] : memref<f32>
    %v = loop.load %x[%i] : memref<4xf32>
    %after = arith.addf %before, %v : f32
    loop.store %after, %so_far[] : memref<f32>
    loop.store %after, %y[%i] : memref<4xf32>
  }
  func.return
}

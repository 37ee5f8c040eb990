// RUN: stepwell-opt %s -p "loop-vectorize{loop=f/i width=4 tail=guard},convert-loop-to-core" | filecheck %s

// Neighbours in a matrix of one column are neighbours in memory: each vector is one store, and the last one has a mask.
// CHECK-LABEL: func.func @f
// CHECK:         %[[FLAT:.*]] = memref.collapse_shape %y
// CHECK:         vector.maskedstore %[[FLAT]]
// CHECK-NOT:     memref.store
// CHECK:         func.return
func.func @f(%x: memref<10xf32>, %y: memref<10x1xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 10 {
    %a = loop.load %x[%i] : memref<10xf32>
    loop.store %a, %y[%i, 0] : memref<10x1xf32>
  }
  func.return
}

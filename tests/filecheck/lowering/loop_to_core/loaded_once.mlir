// RUN: stepwell-opt %s -p convert-loop-to-core --split-input-file | filecheck %s

// What the first row has loaded the second does not load again, though rows are stored between: no other argument of a kernel
// shares the memory of one.
// CHECK-LABEL: func.func private @rows
// CHECK:         %[[A:.*]] = memref.load %a
// CHECK-NEXT:    %[[B:.*]] = vector.load %b
// CHECK-NOT:     memref.load
// CHECK-NOT:     vector.load %b
// CHECK:         vector.store
// CHECK-NOT:     memref.load
// CHECK-NOT:     vector.load %b
// CHECK:         vector.store
func.func private @rows(%a: memref<4xf32>, %b: memref<8xf32>, %c: memref<2x8xf32>) {
  loop.for parallel unroll "i" %i = 0 to 2 {
    loop.for parallel vector "j" %j = 0 to 8 {
      %x = loop.load %a[1] : memref<4xf32>
      %y = loop.load %b[%j] : memref<8xf32>
      %z = arith.mulf %x, %y : f32
      loop.store %z, %c[%i, %j] : memref<2x8xf32>
    }
  }
  func.return
}

// -----

// Arguments of other functions may be the same array.
// CHECK-LABEL: func.func @overlapping
// CHECK:         vector.load %b
// CHECK:         vector.store
// CHECK:         vector.load %b
// CHECK:         vector.store
func.func @overlapping(%b: memref<8xf32>, %c: memref<2x8xf32>) {
  loop.for parallel unroll "i" %i = 0 to 2 {
    loop.for parallel vector "j" %j = 0 to 8 {
      %y = loop.load %b[%j] : memref<8xf32>
      loop.store %y, %c[%i, %j] : memref<2x8xf32>
    }
  }
  func.return
}

// -----

// What a branch, a loop or a function that is called may have stored is loaded again.
// CHECK-LABEL: func.func private @stored
// CHECK:         memref.load %b
// CHECK:         scf.for
// CHECK:         memref.load %b
// CHECK:         scf.if
// CHECK:         memref.load %b
// CHECK:         func.call
// CHECK:         memref.load %b
// CHECK-NOT:     memref.load %b
// CHECK:         return
func.func private @stored(%n: index, %b: memref<8xf32>, %c: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  %0 = loop.load %b[0] : memref<8xf32>
  loop.store %0, %c[0] : memref<4xf32>
  loop.for serial "i" %i = 0 to 8 {
    loop.store %zero, %b[%i] : memref<8xf32>
  }
  %1 = loop.load %b[0] : memref<8xf32>
  loop.store %1, %c[1] : memref<4xf32>
  loop.if (%n >= 4) {
    loop.store %zero, %b[0] : memref<8xf32>
  }
  %2 = loop.load %b[0] : memref<8xf32>
  loop.store %2, %c[2] : memref<4xf32>
  func.call @elsewhere(%b) : (memref<8xf32>) -> ()
  %3 = loop.load %b[0] : memref<8xf32>
  loop.store %3, %c[3] : memref<4xf32>
  %4 = loop.load %b[0] : memref<8xf32>
  loop.store %4, %c[0] : memref<4xf32>
  func.return
}

func.func private @elsewhere(memref<8xf32>) -> ()

// -----

// A load inside of a loop may be of what an iteration before has stored.
// CHECK-LABEL: func.func private @again
// CHECK:         scf.for
// CHECK-NEXT:      memref.load %b
// CHECK-NEXT:      memref.store
func.func private @again(%b: memref<8xf32>, %c: memref<8xf32>) {
  %0 = loop.load %b[0] : memref<8xf32>
  loop.store %0, %c[0] : memref<8xf32>
  loop.for serial "i" %i = 0 to 8 {
    %1 = loop.load %b[0] : memref<8xf32>
    loop.store %1, %b[%i] : memref<8xf32>
  }
  func.return
}

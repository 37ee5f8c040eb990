// RUN: stepwell-opt %s -p core-mem2reg | filecheck %s

// A loop carries the element that it stores to.
// CHECK-LABEL: @sum
func.func @sum(%x: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  // CHECK-NOT:  alloca
  %s = memref.alloca() : memref<2xf32>
  memref.store %zero, %s[%c1] : memref<2xf32>
  // CHECK:      %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%s_1 = %zero) -> (f32) {
  scf.for %i = %c0 to %c8 step %c1 {
    %v = memref.load %x[%i] : memref<8xf32>
    %o = memref.load %s[%c1] : memref<2xf32>
    // CHECK:      %n = arith.addf %s_1, %v : f32
    // CHECK-NEXT: scf.yield %n : f32
    %n = arith.addf %o, %v : f32
    memref.store %n, %s[%c1] : memref<2xf32>
  }
  %r = memref.load %s[%c1] : memref<2xf32>
  // CHECK:      func.return %s : f32
  func.return %r : f32
}

// What each iteration stores before it loads is not carried; nor is what nothing loads afterwards.
// CHECK-LABEL: @inside
func.func @inside(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = memref.alloca() : memref<f32>
  // CHECK:      scf.for %i = %c0 to %c8 step %c1 {
  scf.for %i = %c0 to %c8 step %c1 {
    // CHECK-NEXT: %v = memref.load %x[%i]
    // CHECK-NEXT: memref.store %v, %x[%i]
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %s[] : memref<f32>
    %o = memref.load %s[] : memref<f32>
    memref.store %o, %x[%i] : memref<8xf32>
  }
  func.return
}

// A branch gives the element that it may store to; without the branch it is as before, and 0 before the first store.
// CHECK-LABEL: @branch
// CHECK-SAME:  (%p: i1, %a: vector<4xf32>)
func.func @branch(%p: i1, %a: vector<4xf32>) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %s = memref.alloca() : memref<1x4xf32>
  // CHECK:      %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<4xf32>
  // CHECK:      %s = scf.if %p -> (vector<4xf32>) {
  // CHECK-NEXT:   scf.yield %a : vector<4xf32>
  // CHECK-NEXT: } else {
  // CHECK-NEXT:   scf.yield %[[ZERO]] : vector<4xf32>
  scf.if %p {
    vector.store %a, %s[%c0, %c0] : memref<1x4xf32>, vector<4xf32>
  }
  %r = vector.load %s[%c0, %c0] : memref<1x4xf32>, vector<4xf32>
  // CHECK:      func.return %s
  func.return %r : vector<4xf32>
}

// Nothing sees the lanes that the mask leaves out, so that no selection is needed.
// CHECK-LABEL: @masked
func.func @masked(%x: memref<8x3xf32>, %y: memref<3xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %s = memref.alloca() : memref<3xf32>
  %m = vector.create_mask %c3 : vector<4xi1>
  vector.maskedstore %s[%c0], %m, %zero : memref<3xf32>, vector<4xi1>, vector<4xf32>
  // CHECK-NOT:  arith.select
  // CHECK:      iter_args(%s_1 = %zero) -> (vector<4xf32>)
  scf.for %i = %c0 to %c8 step %c1 {
    %v = vector.maskedload %x[%i, %c0], %m, %zero : memref<8x3xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    %o = vector.maskedload %s[%c0], %m, %zero : memref<3xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
    %n = arith.addf %o, %v : vector<4xf32>
    vector.maskedstore %s[%c0], %m, %n : memref<3xf32>, vector<4xi1>, vector<4xf32>
  }
  %r = vector.maskedload %s[%c0], %m, %zero : memref<3xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %y[%c0], %m, %r : memref<3xf32>, vector<4xi1>, vector<4xf32>
  func.return
}

// Here something does.
// CHECK-LABEL: @seen
func.func @seen(%m: vector<4xi1>, %a: vector<4xf32>, %b: vector<4xf32>) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %s = memref.alloca() : memref<4xf32>
  vector.store %b, %s[%c0] : memref<4xf32>, vector<4xf32>
  // CHECK:      %[[NEW:.*]] = arith.select %m, %a, %b
  // CHECK-NEXT: %[[R:.*]] = arith.select %m, %[[NEW]], %a
  // CHECK-NEXT: func.return %[[R]]
  vector.maskedstore %s[%c0], %m, %a : memref<4xf32>, vector<4xi1>, vector<4xf32>
  %r = vector.maskedload %s[%c0], %m, %a : memref<4xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  func.return %r : vector<4xf32>
}

// In memory stay buffers whose subscripts are not known, whose accesses overlap, or that others than loads and
// stores use.
// CHECK-LABEL: @stay
// CHECK-COUNT-3: memref.alloca
func.func @stay(%i: index, %a: vector<4xf32>, %x: memref<4xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %unknown = memref.alloca() : memref<8xf32>
  %overlap = memref.alloca() : memref<8xf32>
  %copied = memref.alloca() : memref<4xf32>
  vector.store %a, %unknown[%c0] : memref<8xf32>, vector<4xf32>
  %u = memref.load %unknown[%i] : memref<8xf32>
  vector.store %a, %overlap[%c0] : memref<8xf32>, vector<4xf32>
  %o = memref.load %overlap[%c1] : memref<8xf32>
  vector.store %a, %copied[%c0] : memref<4xf32>, vector<4xf32>
  "memref.copy"(%copied, %x) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return %u, %o : f32, f32
}

// Loads of a few lanes of a vector that is stored as one are lanes of the value: a row of seven elements in pieces.
// CHECK-LABEL: @pieces
func.func @pieces(%v: vector<8xf32>, %y: memref<7xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  // CHECK-NOT:  alloca
  %s = memref.alloca() : memref<8xf32>
  vector.store %v, %s[%c0] : memref<8xf32>, vector<8xf32>
  // CHECK:      %a = vector.shuffle %v, %v [0, 1, 2, 3] : vector<8xf32>, vector<8xf32>
  // CHECK-NEXT: vector.store %a, %y[%c0] : memref<7xf32>, vector<4xf32>
  %a = vector.load %s[%c0] : memref<8xf32>, vector<4xf32>
  vector.store %a, %y[%c0] : memref<7xf32>, vector<4xf32>
  // CHECK-NEXT: %b = vector.shuffle %v, %v [4, 5] : vector<8xf32>, vector<8xf32>
  %b = vector.load %s[%c4] : memref<8xf32>, vector<2xf32>
  vector.store %b, %y[%c4] : memref<7xf32>, vector<2xf32>
  // CHECK:      %c = vector.shuffle %v, %v [6] : vector<8xf32>, vector<8xf32>
  %c = vector.load %s[%c6] : memref<8xf32>, vector<1xf32>
  vector.store %c, %y[%c6] : memref<7xf32>, vector<1xf32>
  func.return
}

// What reaches over two vectors stays in memory.
// CHECK-LABEL: @across
func.func @across(%v: vector<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  // CHECK:      memref.alloca
  %s = memref.alloca() : memref<8xf32>
  vector.store %v, %s[%c0] : memref<8xf32>, vector<4xf32>
  vector.store %v, %s[%c4] : memref<8xf32>, vector<4xf32>
  %a = vector.load %s[%c2] : memref<8xf32>, vector<4xf32>
  vector.store %a, %y[%c0] : memref<4xf32>, vector<4xf32>
  func.return
}

// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt - | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt - | filecheck %s

// CHECK-LABEL: func.func @loops(
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 8 {
// CHECK-NEXT:      loop.for reduction unroll "k.outer" %k_outer = max(0, %i - 2) to min(%i + 3, %n, 64) step 2 attributes {note = 1 : i32} {
// CHECK-NEXT:        %a = loop.load %A[%i, %k_outer + 1] : memref<8x65xf32>
// CHECK-NEXT:        loop.store %a, %B[%i] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.for serial threads "empty" %j = -%i + 3 to -2 {
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.for serial vector "v" %v = 0 to %n floordiv 4 * 4 {
// CHECK-NEXT:      }
// CHECK-NEXT:    }
func.func @loops(%A: memref<8x65xf32>, %B: memref<8xf32>, %n: index) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for reduction unroll "k.outer" %k_outer = max(0, %i - 2) to min(%i + 3, %n, 64) step 2 attributes {note = 1 : i32} {
      %a = loop.load %A[%i, 1 + %k_outer] : memref<8x65xf32>
      loop.store %a, %B[%i] : memref<8xf32>
    }
    loop.for serial threads "empty" %j = 3 - %i to -2 {
      loop.yield
    }
    loop.for serial vector "v" %v = 0 to (%n floordiv 4) * 4 {
    }
  }
  func.return
}

// A value named twice is one operand; numbers alone need none.
// CHECK-LABEL: func.func @accesses(
// CHECK-NEXT:    %a = loop.load %A[%i + %i * 2, 3] : memref<?x4xf32>
// CHECK-NEXT:    %b = loop.load %r[] {nontemporal} : memref<f32>
// CHECK-NEXT:    loop.store %a, %r[] : memref<f32>
// CHECK-NEXT:    loop.store %b, %A[%j mod 3 + %i floordiv 2, %j] {nontemporal} : memref<?x4xf32>
func.func @accesses(%A: memref<?x4xf32>, %r: memref<f32>, %i: index, %j: index) {
  %a = loop.load %A[%i + 2 * %i, 3] : memref<?x4xf32>
  %b = loop.load %r[] {nontemporal} : memref<f32>
  loop.store %a, %r[] : memref<f32>
  loop.store %b, %A[%j mod 3 + %i floordiv 2, %j] {nontemporal} : memref<?x4xf32>
  func.return
}

// CHECK-LABEL: func.func @conditions(
// CHECK-NEXT:    %v = loop.if (%i - 1 >= 0, %i - %n <= 0, %i mod 2 == 0) -> (f32) attributes {likely} {
// CHECK-NEXT:      %a = loop.load %A[%i] : memref<?xf32>
// CHECK-NEXT:      loop.yield %a : f32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %z = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      loop.yield %z : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.if (3 >= 0) {
// CHECK-NEXT:      loop.store %v, %A[%i] : memref<?xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.if (-%i + 2 >= 0) {
// CHECK-NEXT:    } else {
// CHECK-NEXT:      loop.store %v, %A[0] : memref<?xf32>
// CHECK-NEXT:    }
func.func @conditions(%A: memref<?xf32>, %i: index, %n: index) {
  %v = loop.if (%i >= 1, %i <= %n, %i mod 2 == 0) -> (f32) attributes {likely} {
    %a = loop.load %A[%i] : memref<?xf32>
    loop.yield %a : f32
  } else {
    %z = arith.constant 0.0 : f32
    loop.yield %z : f32
  }
  loop.if (3 >= 0) {
    loop.store %v, %A[%i] : memref<?xf32>
  }
  loop.if (2 >= %i) {
  } else {
    loop.store %v, %A[0] : memref<?xf32>
  }
  func.return
}

// CHECK-LABEL: func.func @buffers(
// CHECK-NEXT:    %a = loop.alloc register : memref<f32>
// CHECK-NEXT:    %b = loop.alloc stack {note} : memref<4x4xf64>
// CHECK-NEXT:    %c = loop.alloc thread(%n) : memref<?x2xi8>
// CHECK-NEXT:    %d = loop.alloc arena(%n, %m) : memref<?x?xi1>
func.func @buffers(%n: index, %m: index) {
  %a = loop.alloc register : memref<f32>
  %b = loop.alloc stack {note} : memref<4x4xf64>
  %c = loop.alloc thread(%n) : memref<?x2xi8>
  %d = loop.alloc arena(%n, %m) : memref<?x?xi1>
  func.return
}

// Subscripts may be outside where they are not surely reached: unrolling leaves such code.
// CHECK-LABEL: func.func @unreached(
// CHECK:           loop.load %A[-1] : memref<4xf32>
// CHECK:           loop.load %A[7] : memref<4xf32>
// CHECK:           loop.load %A[4] : memref<4xf32>
func.func @unreached(%A: memref<4xf32>, %n: index) {
  loop.if (-1 >= 0) {
    %a = loop.load %A[-1] : memref<4xf32>
  }
  loop.for serial "i" %i = 0 to 0 {
    %a = loop.load %A[7] : memref<4xf32>
  }
  loop.for serial "j" %j = 0 to %n {
    %a = loop.load %A[4] : memref<4xf32>
  }
  func.return
}

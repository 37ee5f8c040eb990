// RUN: stepwell-opt %s -p loop-polyhedral --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: refused.mlir:4:1: found no schedule of 'both_ways' that keeps all dependences: a value is loaded before and used after another statement that overwrites it; load it where it is used
func.func @both_ways(%A: memref<5xi32>) {
  loop.for serial "i" %i = 0 to 5 {
    %x = loop.load %A[%i] : memref<5xi32>
    %one = arith.constant 1 : i32
    loop.store %one, %A[%i] : memref<5xi32>
    loop.store %x, %A[%i] : memref<5xi32>
  }
  func.return
}

// -----

// CHECK: refused.mlir:20:10: 'memref.load' is not an affine access, so 'looks_up' cannot be scheduled as a whole; use single steps on the loops around it
func.func @looks_up(%A: memref<5xi32>, %n: memref<5xindex>) {
  loop.for serial "i" %i = 0 to 5 {
    %at = loop.load %n[%i] : memref<5xindex>
    %x = memref.load %A[%at] : memref<5xi32>
    loop.store %x, %A[%i] : memref<5xi32>
  }
  func.return
}

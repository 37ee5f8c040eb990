// RUN: stepwell-opt %s -p convert-affine-to-loop --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: reject.mlir:4:1: function 'branches' has 2 blocks, expected structured control flow; raise its branches to scf first
func.func @branches(%A: memref<4xf32>) {
  cf.br ^end
^end:
  func.return
}

// -----

// CHECK: reject.mlir:16:11: found a step or divisor of -1, expected a positive constant; make it one
func.func @backwards(%A: memref<4xf32>, %z: f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %step = arith.constant -1 : index
  scf.for %i = %c4 to %c0 step %step {
    memref.store %z, %A[%i] : memref<4xf32>
  }
  func.return
}

// RUN: stepwell-opt %s -p convert-te-to-linalg --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @open(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %r = te.compute [%i = %n] (%a = %x[%i]) : (tensor<?xf32>) -> tensor<?xf32> {
    te.yield %a : f32
  }
  func.return %r : tensor<?xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found te.compute on tensor<?xf32>, expected static extents; give the numbers

// -----

func.func @loops(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = te.loops "copy" (%i = %x) -> (%o) : (tensor<4xf32>) -> tensor<4xf32> {
    loop.for serial "i" %k = 0 to 4 {
      %v = loop.load %i[%k] : memref<4xf32>
      loop.store %v, %o[%k] : memref<4xf32>
    }
  }
  func.return %y : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found te.loops, expected computes and kernels over tensors: linalg has no counterpart

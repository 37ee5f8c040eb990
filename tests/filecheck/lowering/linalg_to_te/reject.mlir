// RUN: stepwell-opt %s -p convert-linalg-to-te --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %x, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:1: found tensor<?xf32>, expected static extents: te has no tensors of '?'; give the extents

// -----

func.func @unknown(%x: tensor<4xf32>, %i: tensor<2x1xi64>) -> tensor<4xf32> {
  %c = arith.constant 0 : index
  %v = arith.constant 0.0 : f32
  %r = tensor.insert %v into %x[%c] : tensor<4xf32>
  return %r : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found tensor.insert, which convert-linalg-to-te has no definition for, expected another operation; express it with linalg.generic

// -----

func.func @branch(%c: i1, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = scf.if %c -> (tensor<4xf32>) {
    %y = math.exp %x : tensor<4xf32>
    scf.yield %y : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found operations on tensors inside scf.if, expected straight-line code; unroll it, or write the branch with arith.select

// -----

func.func @buffers(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}
// CHECK: reject.mlir:{{[0-9]+}}:3: found linalg.exp on buffers, expected tensors: at te values are tensors; convert it before it is bufferized

// -----

func.func @race(%x: tensor<4x8xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found linalg.generic with a parallel loop that is no axis of result 0, expected it in the result's map or of type 'reduction'

// RUN: stepwell-opt %s -p convert-tosa-to-graph --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @unknown(%x: tensor<1x4x8xf32>) -> tensor<1x4x5xf32> {
  %real, %imag = tosa.rfft2d %x : (tensor<1x4x8xf32>) -> (tensor<1x4x5xf32>, tensor<1x4x5xf32>)
  return %real : tensor<1x4x5xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:18: found tosa.rfft2d, expected operations that Stepwell has (docs/upstream.md); express them with others

// -----

func.func @computed(%x: tensor<4xi8>, %zp: tensor<1xi8>) -> tensor<4xi8> {
  %0 = tosa.negate %x, %zp, %zp : (tensor<4xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<4xi8>
  return %0 : tensor<4xi8>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found tosa.negate with a zero point that is computed, expected a constant; make it one

// -----

func.func @nan(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %0 = tosa.reduce_max %x {axis = 1 : i32, nan_mode = IGNORE} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found tosa.reduce_max with nan_mode = IGNORE, expected PROPAGATE; replace NaN before

// -----

func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = tosa.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:1: found tensor<?xf32>, expected static extents

// -----

func.func @mixed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.negf %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found arith.negf, expected operations of TOSA; bring other dialects in by themselves

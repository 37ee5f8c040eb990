// RUN: stepwell-opt %s -p convert-stablehlo-to-graph --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// As JAX prints the Cholesky decomposition.
// CHECK: reject.mlir:6:10: found stablehlo.custom_call, expected operations that Stepwell has (docs/upstream.md); express them with others
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  return %0#0 : tensor<4x4xf32>
}

// -----

// CHECK: reject.mlir:13:1: found tensor<?xf32>, expected static extents
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.exponential %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// CHECK: reject.mlir:23:8: found arith.negf, expected operations of StableHLO; bring other dialects in by themselves
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  %1 = arith.negf %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

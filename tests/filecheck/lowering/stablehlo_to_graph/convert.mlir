// RUN: stepwell-opt %s -p convert-stablehlo-to-graph,canonicalize,graph-canonicalize | filecheck %s

// As jax.jit(f).lower(x).as_text() prints it: a product is a matmul with the axes that are summed inside, a broadcast along
// dims is a reshape and a broadcast, and private functions are inlined.
module @jit_f {
  func.func public @main(%x: tensor<4x16xf32>, %w: tensor<16x10xf32>, %b: tensor<10xf32>) -> tensor<4x10xf32> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x10xf32>) -> tensor<4x10xf32>
    %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<10xf32>) -> tensor<4x10xf32>
    %2 = stablehlo.add %0, %1 : tensor<4x10xf32>
    %3 = call @relu(%2) : (tensor<4x10xf32>) -> tensor<4x10xf32>
    return %3 : tensor<4x10xf32>
  }
  func.func private @relu(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
    %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x10xf32>
    %1 = stablehlo.maximum %x, %0 : tensor<4x10xf32>
    return %1 : tensor<4x10xf32>
  }
}
// CHECK-LABEL: func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x10xf32>, %b: tensor<10xf32>)
// CHECK-NEXT:    [[PRODUCT:%.*]] = graph.matmul %x, %w
// CHECK-NEXT:    [[ROW:%.*]] = graph.reshape %b : tensor<10xf32> -> tensor<1x10xf32>
// CHECK-NEXT:    [[ROWS:%.*]] = graph.broadcast_to [[ROW]]
// CHECK-NEXT:    [[SUM:%.*]] = graph.add [[PRODUCT]], [[ROWS]]
// CHECK-NEXT:    [[ZERO:%.*]] = graph.constant dense<0.000000e+00>
// CHECK-NEXT:    [[RELU:%.*]] = graph.maximum [[SUM]], [[ZERO]]
// CHECK-NEXT:    func.return [[RELU]] : tensor<4x10xf32>
// CHECK-NOT:   @relu

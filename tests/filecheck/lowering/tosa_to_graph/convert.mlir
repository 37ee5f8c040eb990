// RUN: stepwell-opt %s -p convert-tosa-to-graph | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt -p convert-tosa-to-graph | filecheck %s

// As mlir-opt 22 prints it. Zero points of zero leave nothing behind, and private functions are inlined.
func.func @main(%x: tensor<1x4x4x2xf32>, %w: tensor<3x1x1x2xf32>, %b: tensor<3xf32>) -> tensor<1x48xf32> {
  %0 = "tosa.const"() <{values = dense<0.000000e+00> : tensor<1xf32>}> : () -> tensor<1xf32>
  %1 = tosa.conv2d %x, %w, %b, %0, %0 {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<3x1x1x2xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x4x4x3xf32>
  %2 = call @activation(%1) : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  %3 = tosa.const_shape  {values = dense<[1, 48]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %4 = tosa.reshape %2, %3 : (tensor<1x4x4x3xf32>, !tosa.shape<2>) -> tensor<1x48xf32>
  return %4 : tensor<1x48xf32>
}
func.func private @activation(%x: tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32> {
  %0 = tosa.clamp %x {max_val = 6.000000e+00 : f32, min_val = 0.000000e+00 : f32, nan_mode = PROPAGATE} : (tensor<1x4x4x3xf32>) -> tensor<1x4x4x3xf32>
  return %0 : tensor<1x4x4x3xf32>
}

// CHECK:      func.func @main(%x: tensor<1x4x4x2xf32>, %w: tensor<3x1x1x2xf32>, %b: tensor<3xf32>) -> tensor<1x48xf32>
// CHECK-NEXT:   [[IMAGE:%.*]] = graph.transpose %x perm = [0, 3, 1, 2]
// CHECK-NEXT:   [[KERNEL:%.*]] = graph.transpose %w perm = [0, 3, 1, 2]
// CHECK-NEXT:   [[CONV:%.*]] = graph.conv [[IMAGE]], [[KERNEL]] strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1
// CHECK-NEXT:   [[BACK:%.*]] = graph.transpose [[CONV]] perm = [0, 2, 3, 1]
// CHECK-NEXT:   [[SUM:%.*]] = graph.add [[BACK]], %b
// CHECK:        graph.maximum [[SUM]],
// CHECK:        [[CLAMPED:%.*]] = graph.minimum
// CHECK-NEXT:   [[RESULT:%.*]] = graph.reshape [[CLAMPED]]
// CHECK-NEXT:   func.return [[RESULT]] : tensor<1x48xf32>
// CHECK-NOT:  @activation

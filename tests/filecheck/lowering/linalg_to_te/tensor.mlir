// RUN: stepwell-opt %s -p convert-linalg-to-te | filecheck %s

func.func @slices(%x: tensor<4x6xf32>, %y: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<4x6xf32>) {
  %part = tensor.extract_slice %x[1, 0] [2, 2] [1, 3] : tensor<4x6xf32> to tensor<2x2xf32>
  %all = tensor.insert_slice %y into %x[0, 1] [2, 3] [1, 2] : tensor<2x3xf32> into tensor<4x6xf32>
  return %part, %all : tensor<2x2xf32>, tensor<4x6xf32>
}
// CHECK-LABEL: func.func @slices
// CHECK: te.compute [%i = 2, %j = 2] (%{{.*}} = %x[%i + 1, %j * 3])
// CHECK: te.compute [%[[I:.*]] = 4, %[[J:.*]] = 6] (%{{.*}} = %x[%[[I]], %[[J]]], %{{.*}} = %y[%[[I]], (%[[J]] - 1) floordiv 2] else 0.000000e+00 : f32)
// CHECK: arith.select

// Casts to open extents and back leave nothing: the extents are those of the operand.
func.func @shapes(%x: tensor<4x6xf32>) -> tensor<2x2x6xf32> {
  %open = tensor.cast %x : tensor<4x6xf32> to tensor<?x6xf32>
  %sum = arith.addf %open, %open : tensor<?x6xf32>
  %closed = tensor.cast %sum : tensor<?x6xf32> to tensor<4x6xf32>
  %r = tensor.expand_shape %closed [[0, 1], [2]] output_shape [2, 2, 6] : tensor<4x6xf32> into tensor<2x2x6xf32>
  return %r : tensor<2x2x6xf32>
}
// CHECK-LABEL: func.func @shapes
// CHECK: te.compute [%{{.*}} = 4, %{{.*}} = 6]
// CHECK-NEXT: arith.addf
// CHECK: te.compute [%[[I:.*]] = 2, %[[J:.*]] = 2, %[[K:.*]] = 6] (%{{.*}} = %{{.*}}[%[[I]] * 2 + %[[J]], %[[K]]])

func.func @pad(%x: tensor<4xf32>) -> tensor<7xf32> {
  %one = arith.constant 1.0 : f32
  %r = tensor.pad %x low[1] high[2] {
  ^bb0(%i: index):
    tensor.yield %one : f32
  } : tensor<4xf32> to tensor<7xf32>
  return %r : tensor<7xf32>
}
// CHECK-LABEL: func.func @pad
// CHECK: te.compute [%[[I:.*]] = 7] (%{{.*}} = %x[%[[I]] - 1] else 1.000000e+00 : f32)

func.func @generate(%x: tensor<4xf32>, %at: tensor<3xi64>) -> tensor<3xf32> {
  %r = tensor.generate {
  ^bb0(%i: index):
    %n = tensor.extract %at[%i] : tensor<3xi64>
    %k = arith.index_cast %n : i64 to index
    %v = tensor.extract %x[%k] : tensor<4xf32>
    tensor.yield %v : f32
  } : tensor<3xf32>
  return %r : tensor<3xf32>
}
// CHECK-LABEL: func.func @generate
// CHECK: te.compute [%[[I:.*]] = 3] (%[[A:.*]] = %at, %[[X:.*]] = %x)
// CHECK-NEXT: tensor.extract %[[A]][%[[I]]]

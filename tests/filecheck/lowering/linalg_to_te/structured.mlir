// RUN: stepwell-opt %s -p convert-linalg-to-te | filecheck %s

// The result starts with the identity of the sum: one compute is left.
func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) -> tensor<4x5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x5xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x5xf32>) -> tensor<4x5xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x5xf32>) outs(%start : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}
// CHECK-LABEL: func.func @matmul
// CHECK-NEXT: te.compute [%i = 4, %j = 5] add [%k = 8] (%{{.*}} = %a[%i, %k], %{{.*}} = %b[%k, %j])
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: te.yield
// CHECK-NEXT: }
// CHECK-NEXT: func.return

// It starts with something else: that is combined with the sum.
func.func @accumulated(%a: tensor<4x8xf32>, %c: tensor<4xf32>) -> tensor<4xf32> {
  %r = linalg.reduce { arith.addf } ins(%a : tensor<4x8xf32>) outs(%c : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}
// CHECK-LABEL: func.func @accumulated
// CHECK: %[[SUM:.*]] = te.compute [%{{.*}} = 4] add [%{{.*}} = 8]
// CHECK: te.compute [%[[I:.*]] = 4] (%{{.*}} = %c[%[[I]]], %{{.*}} = %[[SUM]][%[[I]]])
// CHECK-NEXT: arith.addf

// The greatest number: of none it is what it starts with, which is -inf for the combiner, and may be NaN otherwise.
func.func @numbers(%a: tensor<4x8xf32>, %c: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %low = arith.constant 0xff800000 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%low : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.reduce { arith.maxnumf } ins(%a : tensor<4x8xf32>) outs(%start : tensor<4xf32>) dimensions = [1]
  %s = linalg.reduce { arith.maxnumf } ins(%a : tensor<4x8xf32>) outs(%c : tensor<4xf32>) dimensions = [1]
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @numbers
// CHECK: te.compute [%{{.*}} = 4] maxnum [%{{.*}} = 8]
// CHECK-NOT: maxnum [
// CHECK: loop.for
// CHECK: arith.maxnumf

// Strides and dilations are in the access.
func.func @windows(%x: tensor<1x17x17x3xf32>, %w: tensor<3x3x3x4xf32>, %o: tensor<1x7x7x4xf32>) -> tensor<1x7x7x4xf32> {
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>}
    ins(%x, %w : tensor<1x17x17x3xf32>, tensor<3x3x3x4xf32>) outs(%o : tensor<1x7x7x4xf32>) -> tensor<1x7x7x4xf32>
  return %r : tensor<1x7x7x4xf32>
}
// CHECK-LABEL: func.func @windows
// CHECK: %x[%[[N:[a-z0-9_]+]], %[[H:[a-z0-9_]+]] * 2 + %{{[a-z0-9_]+}} * 2, %{{[a-z0-9_]+}} * 2 + %{{[a-z0-9_]+}} * 2, %{{.*}}]

// A permuted result: the loops are taken in the order of its axes.
#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d1, d0)>
func.func @generic(%a: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %empty = tensor.empty() : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "parallel"]}
    ins(%a : tensor<4x8xf32>) outs(%empty : tensor<8x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %s = arith.addf %in, %f : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
// CHECK-LABEL: func.func @generic
// CHECK-NEXT: te.compute [%[[I:.*]] = 8, %[[J:.*]] = 4] (%{{.*}} = %a[%[[J]], %[[I]]])
// CHECK-NEXT: arith.index_cast %[[I]]

// Two results that depend on each other: loops over buffers.
#row = affine_map<(d0, d1) -> (d0)>
func.func @arg_max(%a: tensor<4x8xf32>, %v: tensor<4xf32>, %n: tensor<4xi32>) -> tensor<4xi32> {
  %r:2 = linalg.generic {indexing_maps = [#in, #row, #row], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<4x8xf32>) outs(%v, %n : tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%in: f32, %best: f32, %at: i32):
    %i = linalg.index 1 : index
    %k = arith.index_cast %i : index to i32
    %more = arith.cmpf ogt, %in, %best : f32
    %value = arith.select %more, %in, %best : f32
    %index = arith.select %more, %k, %at : i32
    linalg.yield %value, %index : f32, i32
  } -> (tensor<4xf32>, tensor<4xi32>)
  return %r#1 : tensor<4xi32>
}
// CHECK-LABEL: func.func @arg_max
// CHECK: te.loops "generic" (%{{.*}} = %a) -> (%{{.*}} = %v, %{{.*}} = %n)
// CHECK: loop.for serial "i"
// CHECK: loop.for serial "j"
// CHECK: arith.cmpf ogt

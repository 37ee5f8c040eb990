// RUN: stepwell-opt %s -p convert-graph-to-te | filecheck %s

// CHECK-LABEL: func.func @matmul
// CHECK-NEXT:    %r = te.compute [%i = 8, %j = 10] add [%k = 64] (%a = %x[%i, %k], %b = %w[%k, %j]) : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32> {
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %a, %b : f32
// CHECK-NEXT:      te.yield %[[P]] : f32
func.func @matmul(%x: tensor<8x64xf32>, %w: tensor<64x10xf32>) -> tensor<8x10xf32> {
  %r = graph.matmul %x, %w : tensor<8x64xf32>, tensor<64x10xf32> -> tensor<8x10xf32>
  func.return %r : tensor<8x10xf32>
}

// CHECK-LABEL: func.func @batches
// CHECK-NEXT:    te.compute [%b0 = 6, %b1 = 5, %i = 2, %j = 4] add [%k = 3] (%a = %x[%b0, 0, %i, %k], %b = %y[%b1, %k, %j])
func.func @batches(%x: tensor<6x1x2x3xf32>, %y: tensor<5x3x4xf32>) -> tensor<6x5x2x4xf32> {
  %r = graph.matmul %x, %y : tensor<6x1x2x3xf32>, tensor<5x3x4xf32> -> tensor<6x5x2x4xf32>
  func.return %r : tensor<6x5x2x4xf32>
}

// CHECK-LABEL: func.func @vectors
// CHECK-NEXT:    te.compute [] add [%k = 3] (%a = %x[%k], %b = %y[%k])
func.func @vectors(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<f32> {
  %r = graph.matmul %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// CHECK-LABEL: func.func @booleans
// CHECK-NEXT:    te.compute [%i = 2] or [%k = 3]
// CHECK-NEXT:      arith.andi
func.func @booleans(%x: tensor<2x3xi1>, %y: tensor<3xi1>) -> tensor<2xi1> {
  %r = graph.matmul %x, %y : tensor<2x3xi1>, tensor<3xi1> -> tensor<2xi1>
  func.return %r : tensor<2xi1>
}

// An axis keeps its letter; a kept axis of extent 1 is u.
// CHECK-LABEL: func.func @sums
// CHECK-NEXT:    %m = te.compute [%i = 2, %u = 1, %k = 4] add [%j = 3] (%a = %x[%i, %j, %k])
// CHECK:         %n = te.compute [%{{.*}} = 3] add [%{{.*}} = 2, %{{.*}} = 4]
func.func @sums(%x: tensor<2x3x4xf32>) -> (tensor<2x1x4xf32>, tensor<3xf32>) {
  %m = graph.sum %x axes = [1] keepdims : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
  %n = graph.sum %x axes = [0, 2] : tensor<2x3x4xf32> -> tensor<3xf32>
  func.return %m, %n : tensor<2x1x4xf32>, tensor<3xf32>
}

// Unsigned bytes have a combiner of their own.
// CHECK-LABEL: func.func @unsigned_max
// CHECK-NEXT:    te.compute [] umax [%i = 9] (%a = %x[%i]) : (tensor<9xi8>) -> tensor<i8> {
// CHECK-NEXT:      te.yield %a : i8
func.func @unsigned_max(%x: tensor<9xui8>) -> tensor<ui8> {
  %r = graph.max %x axes = [0] : tensor<9xui8> -> tensor<ui8>
  func.return %r : tensor<ui8>
}

// The greatest element, and then the least index where it is, or where NaN is.
// CHECK-LABEL: func.func @argmax
// CHECK-NEXT:    %max = te.compute [%i = 2] max [%j = 3] (%a = %x[%i, %j])
// CHECK:         %first = te.compute [%i_1 = 2] min [%j_1 = 3] (%a_1 = %x[%i_1, %j_1], %b = %max[%i_1]) : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xi32> {
// CHECK-NEXT:      %[[GREATEST:.*]] = arith.cmpf oeq, %a_1, %b
// CHECK-NEXT:      %[[NAN:.*]] = arith.cmpf une, %a_1, %a_1
// CHECK-NEXT:      %[[HERE:.*]] = arith.ori %[[GREATEST]], %[[NAN]]
// CHECK-NEXT:      %[[INDEX:.*]] = arith.index_cast %j_1 : index to i32
// CHECK-NEXT:      %[[COUNT:.*]] = arith.constant 3 : i32
// CHECK-NEXT:      arith.select %[[HERE]], %[[INDEX]], %[[COUNT]]
// CHECK:         arith.extsi
func.func @argmax(%x: tensor<2x3xf32>) -> tensor<2xi64> {
  %r = graph.argmax %x axis = 1 : tensor<2x3xf32> -> tensor<2xi64>
  func.return %r : tensor<2xi64>
}

// Compound operations are decomposed on the way.
// CHECK-LABEL: func.func @softmax
// CHECK:         %max = te.compute [%i = 2, %u = 1] maxnum [%j = 3]
// CHECK:         %exp = te.compute
// CHECK:         %sum = te.compute
// CHECK:         %r = te.compute
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = graph.softmax %x axis = 1 : tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

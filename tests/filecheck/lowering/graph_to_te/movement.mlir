// RUN: stepwell-opt %s -p convert-graph-to-te | filecheck %s

// CHECK-LABEL: func.func @reshape
// CHECK:         %a = te.compute [%i = 2, %j = 3, %k = 4] (%{{.*}} = %x[%i, %j * 4 + %k])
// CHECK:         %b = te.compute [%{{.*}} = 24] (%{{.*}} = %x[%[[I:.*]] floordiv 12, %[[I]] mod 12])
// CHECK:         %c = te.compute [%{{.*}} = 1, %{{.*}} = 2, %{{.*}} = 12] (%{{.*}} = %x[%{{j.*}}, %{{k.*}}])
// CHECK:         %d = te.compute [%[[I:.*]] = 8, %[[J:.*]] = 3] (%{{.*}} = %x[%[[I]] floordiv 4, %[[I]] mod 4 * 3 + %[[J]]])
func.func @reshape(%x: tensor<2x12xf32>) -> (tensor<2x3x4xf32>, tensor<24xf32>, tensor<1x2x12xf32>, tensor<8x3xf32>) {
  %a = graph.reshape %x : tensor<2x12xf32> -> tensor<2x3x4xf32>
  %b = graph.reshape %x : tensor<2x12xf32> -> tensor<24xf32>
  %c = graph.expand_dims %x axes = [0] : tensor<2x12xf32> -> tensor<1x2x12xf32>
  %d = graph.reshape %x : tensor<2x12xf32> -> tensor<8x3xf32>
  func.return %a, %b, %c, %d : tensor<2x3x4xf32>, tensor<24xf32>, tensor<1x2x12xf32>, tensor<8x3xf32>
}

// CHECK-LABEL: func.func @transpose
// CHECK-NEXT:    te.compute [%i = 3, %j = 4, %k = 2] (%a = %x[%k, %i, %j])
func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<3x4x2xf32> {
  %r = graph.transpose %x perm = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  func.return %r : tensor<3x4x2xf32>
}

// CHECK-LABEL: func.func @slice
// CHECK-NEXT:    te.compute [%i = 2, %j = 2] (%a = %x[%i + 1, %j * -2 + 3])
func.func @slice(%x: tensor<4x5xf32>) -> tensor<2x2xf32> {
  %r = graph.slice %x starts = [1, 3] stops = [3, -1] steps = [1, -2] : tensor<4x5xf32> -> tensor<2x2xf32>
  func.return %r : tensor<2x2xf32>
}

// CHECK-LABEL: func.func @pad
// CHECK-NEXT:    te.compute [%i = 2, %j = 6] (%a = %x[%i, %j - 1] else 1.500000e+00 : f32)
func.func @pad(%x: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %r = graph.pad %x low = [0, 1] high = [0, 2] value = 1.5 : f32 : tensor<2x3xf32> -> tensor<2x6xf32>
  func.return %r : tensor<2x6xf32>
}

// CHECK-LABEL: func.func @concat
// CHECK-NEXT:    te.compute [%i = 5] (%a = %x[%i] else 0 : i32, %b = %y[%i - 2] else 0 : i32)
// CHECK-NEXT:      %[[END:.*]] = arith.constant 2 : index
// CHECK-NEXT:      %[[FIRST:.*]] = arith.cmpi slt, %i, %[[END]] : index
// CHECK-NEXT:      arith.select %[[FIRST]], %a, %b : i32
func.func @concat(%x: tensor<2xi32>, %y: tensor<3xi32>) -> tensor<5xi32> {
  %r = graph.concat %x, %y axis = 0 : tensor<2xi32>, tensor<3xi32> -> tensor<5xi32>
  func.return %r : tensor<5xi32>
}

// CHECK-LABEL: func.func @split
// CHECK-NEXT:    %a = te.compute [%i = 2, %j = 1] (%{{.*}} = %x[%i, %j])
// CHECK:         %b = te.compute [%[[I:.*]] = 2, %[[J:.*]] = 2] (%{{.*}} = %x[%[[I]], %[[J]] + 1])
func.func @split(%x: tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x2xf32>) {
  %a, %b = graph.split %x axis = 1 sizes = [1, 2] : tensor<2x3xf32> -> tensor<2x1xf32>, tensor<2x2xf32>
  func.return %a, %b : tensor<2x1xf32>, tensor<2x2xf32>
}

// CHECK-LABEL: func.func @gather
// CHECK-NEXT:    te.compute [%i = 5, %j = 3] (%a = %x, %b = %n[%i])
// CHECK-NEXT:      %[[INDEX:.*]] = arith.index_cast %b : i32 to index
// CHECK:           arith.maxsi
// CHECK:           %[[INSIDE:.*]] = arith.minsi
// CHECK:           tensor.extract %a[%[[INSIDE]], %j] : tensor<4x3xf32>
func.func @gather(%x: tensor<4x3xf32>, %n: tensor<5xi32>) -> tensor<5x3xf32> {
  %r = graph.gather %x, %n axis = 0 : tensor<4x3xf32>, tensor<5xi32> -> tensor<5x3xf32>
  func.return %r : tensor<5x3xf32>
}

// CHECK-LABEL: func.func @gather_nd
// CHECK-NEXT:    te.compute [%i = 5, %j = 2] (%a = %x, %b = %n[%i, 0], %c = %n[%i, 1])
// CHECK:           tensor.extract %a[%{{.*}}, %{{.*}}, %j] : tensor<4x3x2xf32>
func.func @gather_nd(%x: tensor<4x3x2xf32>, %n: tensor<5x2xi64>) -> tensor<5x2xf32> {
  %r = graph.gather_nd %x, %n batch_dims = 0 : tensor<4x3x2xf32>, tensor<5x2xi64> -> tensor<5x2xf32>
  func.return %r : tensor<5x2xf32>
}

// CHECK-LABEL: func.func @iota
// CHECK-NEXT:    te.compute [%i = 2, %j = 3] ()
// CHECK-NEXT:      arith.index_cast %j : index to i64
func.func @iota() -> tensor<2x3xi64> {
  %r = graph.iota axis = 1 : tensor<2x3xi64>
  func.return %r : tensor<2x3xi64>
}

// RUN: stepwell-opt %s -p graph-extend-narrow-floats | filecheck %s

// A sum is rounded once, at its end.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT:    %[[X:.*]] = graph.cast %x : tensor<3x4xbf16> -> tensor<3x4xf32>
// CHECK-NEXT:    %[[SUM:.*]] = graph.sum %[[X]] axes = [1] : tensor<3x4xf32> -> tensor<3xf32>
// CHECK-NEXT:    %[[R:.*]] = graph.cast %[[SUM]] : tensor<3xf32> -> tensor<3xbf16>
// CHECK-NEXT:    func.return %[[R]] : tensor<3xbf16>
func.func @sum(%x: tensor<3x4xbf16>) -> tensor<3xbf16> {
  %r = graph.sum %x axes = [1] : tensor<3x4xbf16> -> tensor<3xbf16>
  func.return %r : tensor<3xbf16>
}

// Numbers of the operation change their type too; a comparison's result stays.
// CHECK-LABEL: func.func @clip
// CHECK:         graph.clip {{.*}} 5.000000e-01 : f32{{.*}} : tensor<4xf32>
// CHECK:         graph.lt {{.*}} : tensor<4xf32>, tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT:    func.return
func.func @clip(%x: tensor<4xf16>) -> (tensor<4xf16>, tensor<4xi1>) {
  %c = graph.clip %x max = 0.5 : f16 : tensor<4xf16>
  %l = graph.lt %x, %c : tensor<4xf16>, tensor<4xf16> -> tensor<4xi1>
  func.return %c, %l : tensor<4xf16>, tensor<4xi1>
}

// What moves elements, and what is in another type, is left as it is.
// CHECK-LABEL: func.func @moved
// CHECK-NEXT:    graph.transpose %x perm = [1, 0] : tensor<2x3xbf16> -> tensor<3x2xbf16>
// CHECK-NEXT:    graph.add %y, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
// CHECK-NEXT:    func.return
func.func @moved(%x: tensor<2x3xbf16>, %y: tensor<3xf64>) -> (tensor<3x2xbf16>, tensor<3xf64>) {
  %t = graph.transpose %x perm = [1, 0] : tensor<2x3xbf16> -> tensor<3x2xbf16>
  %s = graph.add %y, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  func.return %t, %s : tensor<3x2xbf16>, tensor<3xf64>
}

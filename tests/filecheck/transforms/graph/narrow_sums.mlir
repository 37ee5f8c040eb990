// RUN: stepwell-opt %s -p graph-narrow-sums,canonicalize | filecheck %s

// The sums of nine bytes have room in 16 bits, those of 900 in 32; a mean is divided afterwards.
// CHECK-LABEL: func.func @sums
// CHECK:         %[[NARROW:.*]] = graph.cast %x : tensor<9x900xui8> -> tensor<9x900xui16>
// CHECK-NEXT:    %[[SUM:.*]] = graph.sum %[[NARROW]] axes = [0] : tensor<9x900xui16> -> tensor<900xui16>
// CHECK-NEXT:    graph.cast %[[SUM]] : tensor<900xui16> -> tensor<900xui64>
// CHECK:         %[[MOVED:.*]] = graph.transpose %{{.*}} perm = [1, 0] : tensor<9x900xui32> -> tensor<900x9xui32>
// CHECK-NEXT:    %[[TOTAL:.*]] = graph.sum %[[MOVED]] axes = [0] keepdims : tensor<900x9xui32> -> tensor<1x9xui32>
// CHECK-NEXT:    %[[FLOAT:.*]] = graph.cast %[[TOTAL]] : tensor<1x9xui32> -> tensor<1x9xf32>
// CHECK:         graph.div %[[FLOAT]]
func.func @sums(%x: tensor<9x900xui8>) -> (tensor<900xui64>, tensor<1x9xf32>) {
  %0 = graph.cast %x : tensor<9x900xui8> -> tensor<9x900xui64>
  %1 = graph.sum %0 axes = [0] : tensor<9x900xui64> -> tensor<900xui64>
  %2 = graph.cast %x : tensor<9x900xui8> -> tensor<9x900xf32>
  %3 = graph.transpose %2 perm = [1, 0] : tensor<9x900xf32> -> tensor<900x9xf32>
  %4 = graph.mean %3 axes = [0] keepdims : tensor<900x9xf32> -> tensor<1x9xf32>
  func.return %1, %4 : tensor<900xui64>, tensor<1x9xf32>
}

// What is computed and needed in the wide type by others too is added up as it is at hand there.
// CHECK-LABEL: func.func @at_hand
// CHECK:         graph.sum %{{.*}} axes = [0] : tensor<9xf32> -> tensor<f32>
func.func @at_hand(%x: tensor<9xf32>, %y: tensor<9xf32>) -> (tensor<9xf32>, tensor<f32>) {
  %0 = graph.lt %x, %y : tensor<9xf32>, tensor<9xf32> -> tensor<9xi1>
  %1 = graph.cast %0 : tensor<9xi1> -> tensor<9xf32>
  %2 = graph.sum %1 axes = [0] : tensor<9xf32> -> tensor<f32>
  func.return %1, %2 : tensor<9xf32>, tensor<f32>
}

// A float that would round such sums keeps its own, as do integers of no fewer bits than the sum.
// CHECK-LABEL: func.func @kept
// CHECK:         graph.sum %{{.*}} axes = [0] : tensor<70000xf32> -> tensor<f32>
// CHECK:         graph.sum %{{.*}} axes = [0] : tensor<70000xi32> -> tensor<i32>
// CHECK:         graph.sum %{{.*}} axes = [0] : tensor<9xf16> -> tensor<f16>
func.func @kept(%x: tensor<70000xui8>, %y: tensor<70000xi8>, %z: tensor<9xi16>) -> (tensor<f32>, tensor<i32>, tensor<f16>) {
  %0 = graph.cast %x : tensor<70000xui8> -> tensor<70000xf32>
  %1 = graph.sum %0 axes = [0] : tensor<70000xf32> -> tensor<f32>
  %2 = graph.cast %y : tensor<70000xi8> -> tensor<70000xi32>
  %3 = graph.sum %2 axes = [0] : tensor<70000xi32> -> tensor<i32>
  %4 = graph.cast %z : tensor<9xi16> -> tensor<9xf16>
  %5 = graph.sum %4 axes = [0] : tensor<9xf16> -> tensor<f16>
  func.return %1, %3, %5 : tensor<f32>, tensor<i32>, tensor<f16>
}

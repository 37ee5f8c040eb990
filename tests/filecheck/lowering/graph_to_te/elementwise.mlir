// RUN: stepwell-opt %s -p convert-graph-to-te | filecheck %s

// Broadcasting drops iterators from the map, and reads axes of extent 1 at 0.
// CHECK-LABEL: func.func @broadcast
// CHECK-NEXT:    %r = te.compute [%i = 2, %j = 3] (%a = %x[%i, 0], %b = %y[%j]) : (tensor<2x1xf32>, tensor<3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:      %[[SUM:.*]] = arith.addf %a, %b : f32
// CHECK-NEXT:      te.yield %[[SUM]] : f32
func.func @broadcast(%x: tensor<2x1xf32>, %y: tensor<3xf32>) -> tensor<2x3xf32> {
  %r = graph.add %x, %y : tensor<2x1xf32>, tensor<3xf32> -> tensor<2x3xf32>
  func.return %r : tensor<2x3xf32>
}

// A tensor used twice is read once; a constant of equal elements becomes a number.
// CHECK-LABEL: func.func @reads
// CHECK-NEXT:    %square = te.compute [%i = 4] (%a = %x[%i])
// CHECK-NEXT:      arith.mulf %a, %a : f32
// CHECK:         %r = te.compute [%{{.*}} = 4] (%{{.*}} = %square[%{{.*}}])
// CHECK-NEXT:      %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:      arith.mulf %[[HALF]], %{{.*}} : f32
// CHECK-NOT:     dense
func.func @reads(%x: tensor<4xf32>) -> tensor<4xf32> {
  %square = graph.mul %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %r = graph.mul %half, %square : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// Unsigned bytes lose their sign, but not their meaning: the operation and the marks carry it.
// CHECK-LABEL: func.func @unsigned
// CHECK-SAME:    (%x: tensor<2xi8> {stepwell.unsigned}, %y: tensor<2xi32>) -> (tensor<2xi8> {stepwell.unsigned})
// CHECK:           arith.maxui %a, %b : i8
func.func @unsigned(%x: tensor<2xui8>, %y: tensor<2xi32>) -> tensor<2xui8> {
  %w = graph.constant dense<[200, 100]> : tensor<2xui8>
  %r = graph.maximum %x, %w : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  func.return %r : tensor<2xui8>
}

// Division never traps.
// CHECK-LABEL: func.func @division
// CHECK-DAG:       %[[ZERO:.*]] = arith.cmpi eq, %b, %{{.*}} : i32
// CHECK:           %[[TRAPS:.*]] = arith.ori %[[ZERO]], %{{.*}} : i1
// CHECK:           %[[DIVISOR:.*]] = arith.select %[[TRAPS]], %{{.*}}, %b : i32
// CHECK:           arith.divsi %a, %[[DIVISOR]] : i32
func.func @division(%x: tensor<2xi32>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %r = graph.floor_div %x, %y : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  func.return %r : tensor<2xi32>
}

// CHECK-LABEL: func.func @casts
// CHECK:           arith.fptoui %{{.*}} : f32 to i8
// CHECK:           arith.extui %{{.*}} : i8 to i32
// CHECK:           arith.cmpi ne, %{{.*}} : i32
func.func @casts(%x: tensor<2xf32>) -> tensor<2xi1> {
  %a = graph.cast %x : tensor<2xf32> -> tensor<2xui8>
  %b = graph.cast %a : tensor<2xui8> -> tensor<2xi32>
  %c = graph.cast %b : tensor<2xi32> -> tensor<2xi1>
  func.return %c : tensor<2xi1>
}

// CHECK-LABEL: func.func private @declared(tensor<2xi8>) -> tensor<2xi8>
func.func private @declared(tensor<2xui8>) -> tensor<2xui8>

// CHECK-LABEL: func.func @calls
// CHECK-NEXT:    %r = func.call @declared(%x) : (tensor<2xi8>) -> tensor<2xi8>
func.func @calls(%x: tensor<2xui8>) -> tensor<2xui8> {
  %r = func.call @declared(%x) : (tensor<2xui8>) -> tensor<2xui8>
  func.return %r : tensor<2xui8>
}

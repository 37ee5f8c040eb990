// RUN: stepwell-opt %s -p canonicalize | filecheck %s
// RUN: stepwell-opt %s -p graph-canonicalize | filecheck %s

// Identities that are exact.
// CHECK-LABEL: func.func @identities
// CHECK-NEXT:    func.return %x, %x, %x, %x, %x, %i, %i, %b
func.func @identities(%x: tensor<2x3xf32>, %i: tensor<4xi32>, %b: tensor<2xi1>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2xi1>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %negative_zero = graph.constant dense<-0.0> : tensor<3xf32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %i_zero = graph.constant dense<0> : tensor<4xi32>
  %i_one = graph.constant dense<1> : tensor<i32>
  %0 = graph.mul %one, %x : tensor<f32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.add %x, %negative_zero : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %2 = graph.sub %x, %zero : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %3 = graph.div %x, %one : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %4 = graph.neg %x : tensor<2x3xf32>
  %5 = graph.neg %4 : tensor<2x3xf32>
  %6 = graph.add %i_zero, %i : tensor<4xi32>, tensor<4xi32> -> tensor<4xi32>
  %7 = graph.floor_div %i, %i_one : tensor<4xi32>, tensor<i32> -> tensor<4xi32>
  %8 = graph.not %b : tensor<2xi1>
  %9 = graph.not %8 : tensor<2xi1>
  func.return %0, %1, %2, %3, %5, %6, %7, %9
    : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<4xi32>, tensor<4xi32>, tensor<2xi1>
}

// -0.0 + 0.0 is 0.0, -0.0 - -0.0 is 0.0, and a broadcast is more than an identity.
// CHECK-LABEL: func.func @not_identities
// CHECK:         graph.add %x, %zero
// CHECK-NEXT:    graph.sub %x, %negative_zero
// CHECK-NEXT:    graph.mul %x, %ones
func.func @not_identities(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) {
  %zero = graph.constant dense<0.0> : tensor<3xf32>
  %negative_zero = graph.constant dense<-0.0> : tensor<3xf32>
  %ones = graph.constant dense<1.0> : tensor<2x3xf32>
  %0 = graph.add %x, %zero : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %1 = graph.sub %x, %negative_zero : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %2 = graph.mul %x, %ones : tensor<3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %0, %1, %2 : tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: func.func @movement
// CHECK-NEXT:    %0 = graph.transpose %x perm = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT:    %1 = graph.reshape %x : tensor<2x3x4xf32> -> tensor<24xf32>
// CHECK-NEXT:    func.return %0, %1, %x, %x
func.func @movement(%x: tensor<2x3x4xf32>) -> (tensor<3x4x2xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) {
  %0 = graph.transpose %x perm = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %1 = graph.transpose %0 perm = [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
  %2 = graph.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %3 = graph.expand_dims %2 axes = [0] : tensor<6x4xf32> -> tensor<1x6x4xf32>
  %4 = graph.reshape %3 : tensor<1x6x4xf32> -> tensor<24xf32>
  %5 = graph.transpose %1 perm = [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  %6 = graph.slice %x starts = [0, 0, 0] stops = [2, 3, 4] steps = [1, 1, 1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %7 = graph.broadcast_to %6 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  func.return %1, %4, %5, %7 : tensor<3x4x2xf32>, tensor<24xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>
}

// Through a wider type and back; not through a narrower one.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT:    %[[NARROW:.*]] = graph.cast %x : tensor<2xi32> -> tensor<2xi8>
// CHECK-NEXT:    %[[WIDE:.*]] = graph.cast %[[NARROW]] : tensor<2xi8> -> tensor<2xi32>
// CHECK-NEXT:    func.return %x, %[[WIDE]]
func.func @casts(%x: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>) {
  %0 = graph.cast %x : tensor<2xi32> -> tensor<2xf64>
  %1 = graph.cast %0 : tensor<2xf64> -> tensor<2xi32>
  %2 = graph.cast %x : tensor<2xi32> -> tensor<2xi8>
  %3 = graph.cast %2 : tensor<2xi8> -> tensor<2xi32>
  func.return %1, %3 : tensor<2xi32>, tensor<2xi32>
}

// CHECK-LABEL: func.func @constants
// CHECK-NEXT:    %{{.*}} = graph.constant dense<[-2, -1]> : tensor<2xi8>
// CHECK-NEXT:    %{{.*}} = graph.constant dense<[0, 3]> : tensor<2xi64>
// CHECK-NEXT:    %{{.*}} = graph.constant dense<6.000000e+00> : tensor<f32>
// CHECK-NEXT:    func.return
func.func @constants() -> (tensor<2xi8>, tensor<2xi64>, tensor<f32>) {
  %a = graph.constant dense<[127, 64]> : tensor<2xi8>
  %b = graph.add %a, %a : tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>
  %one = graph.constant dense<[0, 127]> : tensor<2xi8>
  %c = graph.add %b, %one : tensor<2xi8>, tensor<2xi8> -> tensor<2xi8>
  %d = graph.constant dense<[[0.5, 0.25], [1.0, 3.75]]> : tensor<2x2xf64>
  %e = graph.max %d axes = [1] : tensor<2x2xf64> -> tensor<2xf64>
  %f = graph.cast %e : tensor<2xf64> -> tensor<2xi64>
  %x = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %ones = graph.constant dense<1.0> : tensor<3xf32>
  %y = graph.matmul %x, %ones : tensor<3xf32>, tensor<3xf32> -> tensor<f32>
  func.return %c, %f, %y : tensor<2xi8>, tensor<2xi64>, tensor<f32>
}

// Too large to be worth it: an iota of 2000 elements stays a formula.
// CHECK-LABEL: func.func @large
// CHECK:         graph.broadcast_to
func.func @large() -> tensor<2000xf32> {
  %a = graph.constant dense<1.0> : tensor<f32>
  %b = graph.broadcast_to %a : tensor<f32> -> tensor<2000xf32>
  func.return %b : tensor<2000xf32>
}

// CHECK-LABEL: func.func @choice
// CHECK-NEXT:    func.return %x, %y, %x
func.func @choice(%x: tensor<2xf32>, %y: tensor<2xf32>, %c: tensor<2xi1>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %true = graph.constant dense<true> : tensor<i1>
  %false = graph.constant dense<false> : tensor<2xi1>
  %0 = graph.where %true, %x, %y : tensor<i1>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %1 = graph.where %false, %x, %y : tensor<2xi1>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %2 = graph.where %c, %x, %x : tensor<2xi1>, tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// CHECK-LABEL: func.func @dead
// CHECK-NEXT:    func.return
func.func @dead(%x: tensor<2xf32>) {
  %0 = graph.exp %x : tensor<2xf32>
  %1, %2 = graph.split %0 axis = 0 sizes = [1, 1] : tensor<2xf32> -> tensor<1xf32>, tensor<1xf32>
  func.return
}

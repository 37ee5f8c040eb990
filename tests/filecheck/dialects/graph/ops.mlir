// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt - | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt - | filecheck %s

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %u: tensor<?x3xui8>) {
  // CHECK-NEXT: %a = graph.exp %x : tensor<2x3xf32>
  %a = graph.exp %x : tensor<2x3xf32>
  // CHECK-NEXT: %b = graph.add %x, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %b = graph.add %x, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: %c = graph.lt %x, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xi1>
  %c = graph.lt %x, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xi1>
  // CHECK-NEXT: %d = graph.where %c, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %d = graph.where %c, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: %e = graph.cast %u : tensor<?x3xui8> -> tensor<?x3xf64>
  %e = graph.cast %u : tensor<?x3xui8> -> tensor<?x3xf64>
  // CHECK-NEXT: %f = graph.leaky_relu %x alpha = 2.500000e-01 : tensor<2x3xf32>
  %f = graph.leaky_relu %x alpha = 0.25 : tensor<2x3xf32>
  // CHECK-NEXT: %g = graph.gelu %x approximate = "tanh" : tensor<2x3xf32>
  %g = graph.gelu %x approximate = "tanh" : tensor<2x3xf32>
  // CHECK-NEXT: %h = graph.clip %u max = 6 : ui8 : tensor<?x3xui8>
  %h = graph.clip %u max = 6 : ui8 : tensor<?x3xui8>
  // CHECK-NEXT: %i = graph.clip %x min = 0.000000e+00 : f32 max = 0x7f800000 : f32 : tensor<2x3xf32>
  %i = graph.clip %x min = 0.0 : f32 max = 0x7F800000 : f32 : tensor<2x3xf32>
  // CHECK-NEXT: %j = graph.hard_sigmoid %x alpha = 2.000000e-01 beta = 5.000000e-01 {note = "kept"} : tensor<2x3xf32>
  %j = graph.hard_sigmoid %x alpha = 0.2 beta = 0.5 {note = "kept"} : tensor<2x3xf32>
  // CHECK-NEXT: %t = graph.atan %x : tensor<2x3xf32>
  %t = graph.atan %x : tensor<2x3xf32>
  // CHECK-NEXT: %v = graph.trunc %u : tensor<?x3xui8>
  %v = graph.trunc %u : tensor<?x3xui8>
  func.return
}

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK-NEXT: %a = graph.constant dense<[255, 1]> : tensor<2xui8>
  %a = graph.constant dense<[255, 1]> : tensor<2xui8>
  // CHECK-NEXT: %b = graph.constant dense<1.500000e+00> : tensor<100x100xf32>
  %b = graph.constant dense<1.5> : tensor<100x100xf32>
  // CHECK-NEXT: %c = graph.iota axis = 1 : tensor<2x3xi64>
  %c = graph.iota axis = 1 : tensor<2x3xi64>
  func.return
}

// CHECK-LABEL: func.func @axes
func.func @axes(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // CHECK-NEXT: %a = graph.sum %x axes = [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %a = graph.sum %x axes = [0, 1] : tensor<2x3xf32> -> tensor<f32>
  // CHECK-NEXT: %b = graph.mean %x axes = [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
  %b = graph.mean %x axes = [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
  // CHECK-NEXT: %c = graph.argmax %x axis = 1 keepdims : tensor<2x3xf32> -> tensor<2x1xi64>
  %c = graph.argmax %x axis = 1 keepdims : tensor<2x3xf32> -> tensor<2x1xi64>
  // CHECK-NEXT: %d = graph.softmax %x axis = 1 : tensor<2x3xf32>
  %d = graph.softmax %x axis = 1 : tensor<2x3xf32>
  // CHECK-NEXT: %e = graph.layer_norm %x axis = 1 epsilon = 1.000000e-05 : tensor<2x3xf32> -> tensor<2x3xf32>
  %e = graph.layer_norm %x axis = 1 epsilon = 1.0e-5 : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: %f = graph.layer_norm %x, %s, %s axis = 1 epsilon = 1.000000e-05 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %f = graph.layer_norm %x, %s, %s axis = 1 epsilon = 1.0e-5 : tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: %g = graph.matmul %x, %s : tensor<2x3xf32>, tensor<3xf32> -> tensor<2xf32>
  %g = graph.matmul %x, %s : tensor<2x3xf32>, tensor<3xf32> -> tensor<2xf32>
  func.return
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3xf32>, %d: tensor<?x?xf32>, %i: tensor<4xi64>, %ie: tensor<1x4xi64>, %nd: tensor<5x2xi64>) {
  // CHECK-NEXT: %a = graph.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %a = graph.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  // CHECK-NEXT: %v = graph.affine_view %x map = affine_map<(d0, d1) -> (0, (d0 + (d1 * 2)))> : tensor<2x3xf32> -> tensor<1x2xf32>
  %v = graph.affine_view %x map = affine_map<(d0, d1) -> (0, d0 + d1 * 2)> : tensor<2x3xf32> -> tensor<1x2xf32>
  // CHECK-NEXT: %b = graph.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %b = graph.transpose %x perm = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  // CHECK-NEXT: %c = graph.expand_dims %x axes = [0, 3] : tensor<2x3xf32> -> tensor<1x2x3x1xf32>
  %c = graph.expand_dims %x axes = [0, 3] : tensor<2x3xf32> -> tensor<1x2x3x1xf32>
  // CHECK-NEXT: %e = graph.squeeze %c axes = [0, 3] : tensor<1x2x3x1xf32> -> tensor<2x3xf32>
  %e = graph.squeeze %c axes = [0, 3] : tensor<1x2x3x1xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: %f = graph.broadcast_to %x : tensor<2x3xf32> -> tensor<4x2x3xf32>
  %f = graph.broadcast_to %x : tensor<2x3xf32> -> tensor<4x2x3xf32>
  // CHECK-NEXT: %g = graph.concat %x, %x axis = 0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %g = graph.concat %x, %x axis = 0 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: %h, %j = graph.split %x axis = 1 sizes = [2, 1] : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x1xf32>
  %h, %j = graph.split %x axis = 1 sizes = [2, 1] : tensor<2x3xf32> -> tensor<2x2xf32>, tensor<2x1xf32>
  // CHECK-NEXT: %k = graph.slice %x starts = [0, 2] stops = [2, -1] steps = [1, -2] : tensor<2x3xf32> -> tensor<2x2xf32>
  %k = graph.slice %x starts = [0, 2] stops = [2, -1] steps = [1, -2] : tensor<2x3xf32> -> tensor<2x2xf32>
  // CHECK-NEXT: %l = graph.pad %x low = [0, 1] high = [0, 2] value = 0.000000e+00 : f32 : tensor<2x3xf32> -> tensor<2x6xf32>
  %l = graph.pad %x low = [0, 1] high = [0, 2] value = 0.0 : f32 : tensor<2x3xf32> -> tensor<2x6xf32>
  // CHECK-NEXT: %m = graph.gather %x, %i axis = 1 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  %m = graph.gather %x, %i axis = 1 : tensor<2x3xf32>, tensor<4xi64> -> tensor<2x4xf32>
  // CHECK-NEXT: %me = graph.gather_elements %x, %ie axis = 1 : tensor<2x3xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
  %me = graph.gather_elements %x, %ie axis = 1 : tensor<2x3xf32>, tensor<1x4xi64> -> tensor<1x4xf32>
  // CHECK-NEXT: %mn = graph.gather_nd %x, %nd batch_dims = 0 : tensor<2x3xf32>, tensor<5x2xi64> -> tensor<5xf32>
  %mn = graph.gather_nd %x, %nd batch_dims = 0 : tensor<2x3xf32>, tensor<5x2xi64> -> tensor<5xf32>
  // CHECK-NEXT: %n = graph.matmul %d, %x : tensor<?x?xf32>, tensor<2x3xf32> -> tensor<?x3xf32>
  %n = graph.matmul %d, %x : tensor<?x?xf32>, tensor<2x3xf32> -> tensor<?x3xf32>
  // CHECK-NEXT: %o = graph.add %d, %x : tensor<?x?xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %o = graph.add %d, %x : tensor<?x?xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return
}

// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<2xf32>) {
  // CHECK-NEXT: %a = graph.bitcast %x : tensor<2xf32> -> tensor<2xui32>
  %a = graph.bitcast %x : tensor<2xf32> -> tensor<2xui32>
  func.return
}

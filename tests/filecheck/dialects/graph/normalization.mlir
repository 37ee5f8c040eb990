// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s
// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics -p graph-decompose | filecheck %s --check-prefix DECOMPOSED

// CHECK-LABEL: func.func @text
func.func @text(%x: tensor<2x6x5xf32>, %c: tensor<6xf32>, %l: tensor<5xf32>) -> (tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) {
  // CHECK-NEXT: %a = graph.rms_norm %x, %l axis = 2 epsilon = 1.000000e-05 : tensor<2x6x5xf32>, tensor<5xf32> -> tensor<2x6x5xf32>
  %a = graph.rms_norm %x, %l axis = 2 epsilon = 1.0e-5 : tensor<2x6x5xf32>, tensor<5xf32> -> tensor<2x6x5xf32>
  // CHECK-NEXT: %b = graph.batch_norm %x, %c, %c, %c, %c axis = 1 epsilon = 1.000000e-05 : tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  %b = graph.batch_norm %x, %c, %c, %c, %c axis = 1 epsilon = 1.0e-5 : tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  // CHECK-NEXT: %d = graph.group_norm %x, %c, %c groups = 2 epsilon = 1.000000e-05 : tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>
  %d = graph.group_norm %x, %c, %c groups = 2 epsilon = 1.0e-5 : tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>
  // CHECK-NEXT: %e = graph.group_norm %x, %c, %c groups = 6 epsilon = 1.000000e-05 : tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>
  %e = graph.group_norm %x, %c, %c groups = 6 epsilon = 1.0e-5 : tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>
  func.return %a, %b, %d, %e : tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>
}

// Of a batch norm, what depends on the channel alone is computed for each channel; a group norm regroups the channels
// once, and with a group for each of them not at all.
// DECOMPOSED-LABEL: func.func @text
// DECOMPOSED: graph.rsqrt {{.*}} : tensor<2x6x1xf32>
// DECOMPOSED: graph.rsqrt {{.*}} : tensor<6xf32>
// DECOMPOSED: %inverse = graph.mul {{.*}} : tensor<6xf32>, tensor<6xf32> -> tensor<6xf32>
// DECOMPOSED: graph.reshape %x : tensor<2x6x5xf32> -> tensor<2x2x3x5xf32>
// DECOMPOSED: graph.sum {{.*}} axes = [2, 3] keepdims
// DECOMPOSED: %d = graph.reshape {{.*}} : tensor<2x2x3x5xf32> -> tensor<2x6x5xf32>
// DECOMPOSED-NOT: graph.reshape %x
// DECOMPOSED: graph.sum %x axes = [2] keepdims

// -----
// CHECK: normalization.mlir:{{[0-9]+:[0-9]+}}: found scale of shape 2, expected one that broadcasts to the normalized shape 5; reshape it
func.func @scale(%x: tensor<2x5xf32>, %s: tensor<2xf32>) {
  %r = graph.rms_norm %x, %s axis = 1 epsilon = 1.0e-5 : tensor<2x5xf32>, tensor<2xf32> -> tensor<2x5xf32>
  func.return
}

// -----
// CHECK: normalization.mlir:{{[0-9]+:[0-9]+}}: found 2 parameters, expected scale; drop the others
func.func @parameters(%x: tensor<2x5xf32>, %s: tensor<5xf32>) {
  %r = graph.rms_norm %x, %s, %s axis = 1 epsilon = 1.0e-5 : tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32> -> tensor<2x5xf32>
  func.return
}

// -----
// CHECK: normalization.mlir:{{[0-9]+:[0-9]+}}: found a parameter of shape 5, expected one number for each of the 6 channels; reshape it
func.func @channels(%x: tensor<2x6x5xf32>, %c: tensor<5xf32>) {
  %r = graph.batch_norm %x, %c, %c, %c, %c axis = 1 epsilon = 1.0e-5 : tensor<2x6x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----
// CHECK: normalization.mlir:{{[0-9]+:[0-9]+}}: found 4 groups of 6 channels, expected a number that divides them; mend it
func.func @groups(%x: tensor<2x6x5xf32>, %c: tensor<6xf32>) {
  %r = graph.group_norm %x, %c, %c groups = 4 epsilon = 1.0e-5 : tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----
// CHECK: normalization.mlir:{{[0-9]+:[0-9]+}}: found shape 6, expected a batch and channels at least; reshape it
func.func @no_channels(%x: tensor<6xf32>, %c: tensor<6xf32>) {
  %r = graph.group_norm %x, %c, %c groups = 2 epsilon = 1.0e-5 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----
// CHECK: normalization.mlir:{{[0-9]+:[0-9]+}}: found 1 parameters, expected scale, bias; give each
func.func @few(%x: tensor<2x6xf32>, %c: tensor<6xf32>) {
  %r = graph.group_norm %x, %c groups = 2 epsilon = 1.0e-5 : tensor<2x6xf32>, tensor<6xf32>
  func.return
}

// RUN: stepwell-opt %s -p "graph-fold-constants,graph-recognize-fourier{target=x86-64-v3},canonicalize,cse" | filecheck %s
// RUN: stepwell-opt %s -p "graph-fold-constants,graph-recognize-fourier{fp=strict}" | filecheck %s --check-prefix STRICT
// RUN: stepwell-opt %s -p "graph-fold-constants,graph-recognize-fourier{target=x86-64-v3}" --remarks 2>&1 >/dev/null | filecheck %s --check-prefix REMARK

// Cosines and sines of one operand share a transform.
// CHECK-LABEL: func.func @spectrum
// CHECK:         %[[RE:.*]], %[[IM:.*]] = graph.real_fft %{{.*}} length = 256 : tensor<64x256xf32> -> tensor<64x129xf32>, tensor<64x129xf32>
// CHECK:         %[[NEG:.*]] = graph.neg %{{.*}}
// CHECK-NOT:     graph.matmul
// CHECK:         func.return
// STRICT-LABEL: func.func @spectrum
// STRICT-NOT:    graph.real_fft
// STRICT:        graph.matmul
// STRICT:        func.return
func.func @spectrum(%x: tensor<64x256xf32>) -> (tensor<64x129xf32>, tensor<64x129xf32>) {
  %j = graph.iota axis = 0 : tensor<256x129xf64>
  %k = graph.iota axis = 1 : tensor<256x129xf64>
  %jk = graph.mul %j, %k : tensor<256x129xf64>, tensor<256x129xf64> -> tensor<256x129xf64>
  %turn = graph.constant dense<0.024543692606170259> : tensor<f64>
  %angle = graph.mul %jk, %turn : tensor<256x129xf64>, tensor<f64> -> tensor<256x129xf64>
  %cos = graph.cos %angle : tensor<256x129xf64>
  %sin = graph.sin %angle : tensor<256x129xf64>
  %c = graph.cast %cos : tensor<256x129xf64> -> tensor<256x129xf32>
  %s = graph.cast %sin : tensor<256x129xf64> -> tensor<256x129xf32>
  // REMARK: recognize_fourier.mlir:[[# @LINE + 1]]:{{.*}}a discrete Fourier transform of 256 numbers
  %re = graph.matmul %x, %c : tensor<64x256xf32>, tensor<256x129xf32> -> tensor<64x129xf32>
  %im = graph.matmul %x, %s : tensor<64x256xf32>, tensor<256x129xf32> -> tensor<64x129xf32>
  func.return %re, %im : tensor<64x129xf32>, tensor<64x129xf32>
}

// A short sum is a quick product; other matrices are no waves.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.real_fft
// CHECK:         func.return
func.func @others(%x: tensor<64x8xf32>) -> (tensor<64x2xf32>, tensor<64x2xf32>) {
  %c = graph.constant dense<[[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0]]> : tensor<8x2xf32>
  %d = graph.constant dense<[[1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.0], [1.0, 1.0], [1.0, -1.00001]]> : tensor<8x2xf32>
  // REMARK: recognize_fourier.mlir:[[# @LINE + 1]]:{{.*}}no Fourier transform: predicted to take {{.*}}, the products
  %re = graph.matmul %x, %c : tensor<64x8xf32>, tensor<8x2xf32> -> tensor<64x2xf32>
  %im = graph.matmul %x, %d : tensor<64x8xf32>, tensor<8x2xf32> -> tensor<64x2xf32>
  func.return %re, %im : tensor<64x2xf32>, tensor<64x2xf32>
}

// Of equal columns one is enough, which a product has sooner.
// CHECK-LABEL: func.func @ones
// CHECK-NOT:     graph.real_fft
// CHECK:         func.return
func.func @ones(%x: tensor<64x256xf32>) -> tensor<64x129xf32> {
  %c = graph.constant dense<1.0> : tensor<256x129xf32>
  %r = graph.matmul %x, %c : tensor<64x256xf32>, tensor<256x129xf32> -> tensor<64x129xf32>
  func.return %r : tensor<64x129xf32>
}

// A product of a product that becomes a transform becomes one too.
// CHECK-LABEL: func.func @both_axes
// CHECK-COUNT-2: graph.real_fft
// CHECK-NOT:     graph.matmul
// CHECK:         func.return
func.func @both_axes(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %j = graph.iota axis = 0 : tensor<256x256xf64>
  %k = graph.iota axis = 1 : tensor<256x256xf64>
  %jk = graph.mul %j, %k : tensor<256x256xf64>, tensor<256x256xf64> -> tensor<256x256xf64>
  %turn = graph.constant dense<0.024543692606170259> : tensor<f64>
  %angle = graph.mul %jk, %turn : tensor<256x256xf64>, tensor<f64> -> tensor<256x256xf64>
  %cos = graph.cos %angle : tensor<256x256xf64>
  %c = graph.cast %cos : tensor<256x256xf64> -> tensor<256x256xf32>
  %along = graph.matmul %x, %c : tensor<256x256xf32>, tensor<256x256xf32> -> tensor<256x256xf32>
  %both = graph.matmul %c, %along : tensor<256x256xf32>, tensor<256x256xf32> -> tensor<256x256xf32>
  func.return %both : tensor<256x256xf32>
}

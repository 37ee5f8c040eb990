// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s -p convert-graph-to-te | filecheck %s --check-prefix=TE

// CHECK-LABEL: func.func @scans
// TE-LABEL: func.func @scans
func.func @scans(%x: tensor<2x9xf32>) {
  // CHECK-NEXT: %a = graph.cumsum %x axis = 1 : tensor<2x9xf32>
  // TE: te.loops "cumsum" (%a_1 = %x) -> (%a_2) : (tensor<2x9xf32>) -> tensor<2x9xf32> {
  // TE-NEXT: loop.for serial "i" %i = 0 to 1 {
  // TE: loop.for serial "s" %s = 0 to 9 {
  // TE: loop.load %a_1[%i * 2, %s]
  // TE: loop.load %a_1[%i * 2 + 1, %s]
  %a = graph.cumsum %x axis = 1 : tensor<2x9xf32>
  // CHECK-NEXT: %b = graph.cumprod %x axis = 0 exclusive reverse : tensor<2x9xf32>
  %b = graph.cumprod %x axis = 0 exclusive reverse : tensor<2x9xf32>
  // CHECK-NEXT: %c = graph.cummax %x axis = 0 : tensor<2x9xf32>
  // TE: te.loops "cummax"
  // TE: loop.for serial "s" %s = 0 to 1 {
  // TE: loop.for serial "j"
  // TE: arith.maximumf
  %c = graph.cummax %x axis = 0 : tensor<2x9xf32>
  // CHECK-NEXT: %d = graph.cummin %x axis = 1 reverse : tensor<2x9xf32>
  // TE: te.loops "cummin"
  // TE: loop.for serial "s" %[[s:.*]] = 0 to 9 {
  // TE: loop.load %{{.*}}[%{{.*}}, -%[[s]] + 8]
  // TE: loop.store %{{.*}}, %{{.*}}[%{{.*}}, -%[[s]] + 8]
  %d = graph.cummin %x axis = 1 reverse : tensor<2x9xf32>
  func.return
}

// CHECK-LABEL: func.func @scatters
// TE-LABEL: func.func @scatters
func.func @scatters(%x: tensor<5x3xf32>, %i: tensor<2x3xi64>, %u: tensor<2x3xf32>, %t: tensor<2x1xi32>) {
  // CHECK-NEXT: %a = graph.scatter_elements %x, %i, %u axis = 0 reduction = "none" : tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32> -> tensor<5x3xf32>
  // TE: te.loops "scatter_elements" (%{{.*}} = %i, %{{.*}} = %u) -> (%{{.*}} = %x) :
  %a = graph.scatter_elements %x, %i, %u axis = 0 reduction = "none" : tensor<5x3xf32>, tensor<2x3xi64>, tensor<2x3xf32> -> tensor<5x3xf32>
  // CHECK-NEXT: %b = graph.scatter_nd %x, %t, %u reduction = "add" : tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32> -> tensor<5x3xf32>
  %b = graph.scatter_nd %x, %t, %u reduction = "add" : tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32> -> tensor<5x3xf32>
  func.return
}

// CHECK-LABEL: func.func @updates
// TE-LABEL: func.func @updates
func.func @updates(%x: tensor<5x3xf32>, %u: tensor<2x3xf32>, %i: tensor<i64>) {
  // CHECK-NEXT: %a = graph.dynamic_update_slice %x, %u at %i, %i : tensor<5x3xf32>, tensor<2x3xf32> at tensor<i64>, tensor<i64> -> tensor<5x3xf32>
  // TE: te.loops "dynamic_update_slice" (%[[u:.*]] = %u, %[[i:.*]] = %i) -> (%{{.*}} = %x) :
  // TE-NEXT: loop.load %[[i]][]
  // TE: arith.constant 3 : index
  // TE: loop.for serial "i" %i_1 = 0 to 2 {
  // TE: memref.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : memref<5x3xf32>
  %a = graph.dynamic_update_slice %x, %u at %i, %i : tensor<5x3xf32>, tensor<2x3xf32> at tensor<i64>, tensor<i64> -> tensor<5x3xf32>
  func.return
}

// CHECK-LABEL: func.func @multiples
// TE-LABEL: func.func @multiples
func.func @multiples(%x: tensor<9xf32>, %v: tensor<f32>, %i: tensor<i64>) {
  // CHECK-NEXT: %a = graph.fill_multiples %x, %v of %i from %i : tensor<9xf32>, tensor<f32> of tensor<i64> from tensor<i64> -> tensor<9xf32>
  // TE: te.loops "fill_multiples" (%{{.*}} = %v, %{{.*}} = %i, %{{.*}} = %i) -> (%{{.*}} = %x) :
  // TE: loop.for serial "k" %{{.*}} = %{{.*}} to %{{.*}} {
  // TE: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<9xf32>
  %a = graph.fill_multiples %x, %v of %i from %i : tensor<9xf32>, tensor<f32> of tensor<i64> from tensor<i64> -> tensor<9xf32>
  func.return
}

// CHECK-LABEL: func.func @orders
func.func @orders(%x: tensor<2x9xui8>, %b: tensor<1x4x4xf32>, %s: tensor<1x2x4xf32>, %o: tensor<1x2x4xi64>, %t: tensor<f32>) {
  // CHECK-NEXT: %v, %i = graph.sort %x axis = 1 descending : tensor<2x9xui8> -> tensor<2x9xui8>, tensor<2x9xi64>
  %v, %i = graph.sort %x axis = 1 descending : tensor<2x9xui8> -> tensor<2x9xui8>, tensor<2x9xi64>
  // CHECK-NEXT: %u = graph.sort %x axis = 1 values_only : tensor<2x9xui8> -> tensor<2x9xui8>
  %u = graph.sort %x axis = 1 values_only : tensor<2x9xui8> -> tensor<2x9xui8>
  // CHECK-NEXT: %w, %j = graph.sort %x axis = 1 places = [0, 2] : tensor<2x9xui8> -> tensor<2x2xui8>, tensor<2x2xi64>
  %w, %j = graph.sort %x axis = 1 places = [0, 2] : tensor<2x9xui8> -> tensor<2x2xui8>, tensor<2x2xi64>
  // CHECK-NEXT: %r, %c = graph.non_max_suppression %b, %s, %o, %t, %t limit = 3 : tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xi64>, tensor<f32>, tensor<f32> -> tensor<6x3xi64>, tensor<i64>
  %r, %c = graph.non_max_suppression %b, %s, %o, %t, %t limit = 3 : tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xi64>, tensor<f32>, tensor<f32> -> tensor<6x3xi64>, tensor<i64>
  func.return
}

// CHECK-LABEL: func.func @factorizations
// TE-LABEL: func.func @factorizations
func.func @factorizations(%x: tensor<2x3x3xf32>, %y: tensor<2x3x5xf32>) {
  // CHECK-NEXT: %p, %o, %s = graph.lu %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xi64>, tensor<2xf32>
  // TE: te.loops "lu" (%{{.*}} = %x) -> (%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xi64>, tensor<2xf32>) {
  // TE: loop.for serial "k" %k = 0 to 3 {
  %p, %o, %s = graph.lu %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xi64>, tensor<2xf32>
  // CHECK-NEXT: %l = graph.cholesky %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>
  // TE: te.loops "cholesky"
  %l = graph.cholesky %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>
  // CHECK-NEXT: %t = graph.triangular_solve %l, %y lower unit : tensor<2x3x3xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  // TE: te.loops "triangular_solve"
  %t = graph.triangular_solve %l, %y lower unit : tensor<2x3x3xf32>, tensor<2x3x5xf32> -> tensor<2x3x5xf32>
  // CHECK-NEXT: %q, %r = graph.qr %y complete : tensor<2x3x5xf32> -> tensor<2x3x3xf32>, tensor<2x3x5xf32>
  // TE: te.loops "qr"
  %q, %r = graph.qr %y complete : tensor<2x3x5xf32> -> tensor<2x3x3xf32>, tensor<2x3x5xf32>
  // CHECK-NEXT: %values, %vectors = graph.eigh %x : tensor<2x3x3xf32> -> tensor<2x3xf32>, tensor<2x3x3xf32>
  // TE: te.loops "eigh"
  // TE: arith.addf %{{.*}}, %{{.*}} {stepwell.any_order} : f32
  %values, %vectors = graph.eigh %x : tensor<2x3x3xf32> -> tensor<2x3xf32>, tensor<2x3x3xf32>
  // CHECK-NEXT: %only = graph.eigh %x values_only : tensor<2x3x3xf32> -> tensor<2x3xf32>
  %only = graph.eigh %x values_only : tensor<2x3x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: %u, %lengths, %rows = graph.orthogonal_rows %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  // TE: te.loops "orthogonal_rows"
  %u, %lengths, %rows = graph.orthogonal_rows %x : tensor<2x3x3xf32> -> tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>
  func.return
}

// CHECK-LABEL: func.func @fft
// TE-LABEL: func.func @fft
func.func @fft(%a: tensor<4x12xf32>, %b: tensor<4x12xf32>) {
  // CHECK-NEXT: %re, %im = graph.fft %a, %b length = 6 : tensor<4x12xf32>, tensor<4x12xf32> -> tensor<4x12xf32>, tensor<4x12xf32>
  // TE: te.loops "fft" (%{{.*}} = %a, %{{.*}} = %b, %{{.*}} = %{{.*}}) ->
  // TE: loop.for serial "group" %group = 0 to 2 {
  %re, %im = graph.fft %a, %b length = 6 : tensor<4x12xf32>, tensor<4x12xf32> -> tensor<4x12xf32>, tensor<4x12xf32>
  // CHECK-NEXT: %{{.*}}, %{{.*}} = graph.real_fft %a length = 6 : tensor<4x12xf32> -> tensor<4x8xf32>, tensor<4x8xf32>
  // TE: te.loops "real_fft"
  %half, %half_1 = graph.real_fft %a length = 6 : tensor<4x12xf32> -> tensor<4x8xf32>, tensor<4x8xf32>
  func.return
}

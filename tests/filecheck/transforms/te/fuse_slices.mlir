// RUN: stepwell-opt %s -p "te-fuse{target=zen4}" | filecheck %s
// RUN: stepwell-opt %s -p "te-fuse{target=zen4},te-bufferize" | filecheck %s --check-prefix BUFFERS
// RUN: stepwell-opt %s -p "te-fuse{target=zen4}" --remarks 2>&1 | filecheck %s --check-prefix REMARK

// Two products of equal slices read them as views: they are the same kernel. One of another shape is read through.
// REMARK: not one kernel, 'slice' and 'p': the operand is a view of what is stored
// CHECK-LABEL: func.func @slices
// CHECK-COUNT-2: te.kernel "slice"
// CHECK-NOT:     te.kernel "slice"
// BUFFERS-LABEL: func.func @slices
// BUFFERS-NOT:   te.kernel "slice"
func.func @slices(%x: tensor<100x33xf32>, %w: tensor<33x17xf32>) -> (tensor<31x17xf32>, tensor<31x17xf32>, tensor<7x17xf32>) {
  %slice = te.compute [%i = 31, %j = 33] (%a = %x[%i, %j]) : (tensor<100x33xf32>) -> tensor<31x33xf32> {
    te.yield %a : f32
  }
  %slice_1 = te.compute [%i = 31, %j = 33] (%a = %x[%i + 31, %j]) : (tensor<100x33xf32>) -> tensor<31x33xf32> {
    te.yield %a : f32
  }
  %slice_2 = te.compute [%i = 7, %j = 33] (%a = %x[%i + 93, %j]) : (tensor<100x33xf32>) -> tensor<7x33xf32> {
    te.yield %a : f32
  }
  %p = te.compute [%i = 31, %j = 17] add [%k = 33] (%a = %slice[%i, %k], %b = %w[%k, %j]) : (tensor<31x33xf32>, tensor<33x17xf32>) -> tensor<31x17xf32> {
    %m = arith.mulf %a, %b : f32
    te.yield %m : f32
  }
  %q = te.compute [%i = 31, %j = 17] add [%k = 33] (%a = %slice_1[%i, %k], %b = %w[%k, %j]) : (tensor<31x33xf32>, tensor<33x17xf32>) -> tensor<31x17xf32> {
    %m = arith.mulf %a, %b : f32
    te.yield %m : f32
  }
  %r = te.compute [%i = 7, %j = 17] add [%k = 33] (%a = %slice_2[%i, %k], %b = %w[%k, %j]) : (tensor<7x33xf32>, tensor<33x17xf32>) -> tensor<7x17xf32> {
    %m = arith.mulf %a, %b : f32
    te.yield %m : f32
  }
  func.return %p, %q, %r : tensor<31x17xf32>, tensor<31x17xf32>, tensor<7x17xf32>
}

// A number has no axes to be cut along: what passes it on is no slice.
// CHECK-LABEL: @number
// CHECK: te.compute [%{{.*}} = 2] (%{{.*}} = %{{.*}}[]) : (tensor<f32>) -> tensor<2xf32>
func.func @number(%x: tensor<f32>) -> tensor<2xf32> {
  %n = te.compute [] (%a = %x[]) : (tensor<f32>) -> tensor<f32> {
    te.yield %a : f32
  }
  %m = te.compute [] (%a = %x[]) : (tensor<f32>) -> tensor<f32> {
    te.yield %a : f32
  }
  %r = te.compute [%i = 2] (%a = %n[], %b = %m[]) : (tensor<f32>, tensor<f32>) -> tensor<2xf32> {
    %s = arith.addf %a, %b : f32
    te.yield %s : f32
  }
  func.return %r : tensor<2xf32>
}

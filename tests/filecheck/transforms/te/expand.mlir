// RUN: stepwell-opt %s -p "te-bufferize,te-expand" | filecheck %s

// Heads that lie side by side in rows are a dimension of their own, for every read of the kernel.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT:    %[[x:.*]] = memref.reinterpret_cast %x to offset: [0], sizes: [5, 6, 4], strides: [24, 4, 1] : memref<5x24xf32> to memref<5x6x4xf32>
// CHECK:         te.kernel "k" ({{.*}} = %[[x]])
// CHECK-NEXT:      add [%k = 4] (%a = %{{.*}}[%i, %h, %k], %b = %{{.*}}[%j, %h + 2, %k]) : (tensor<5x6x4xf32>, tensor<5x6x4xf32>)
func.func @heads(%x: tensor<5x24xf32>) -> tensor<2x5x5xf32> {
  %y = te.kernel "k" (%x_1 = %x) : (tensor<5x24xf32>) -> tensor<2x5x5xf32> {
    %s = te.compute [%h = 2, %i = 5, %j = 5] add [%k = 4] (%a = %x_1[%i, %h * 4 + %k], %b = %x_1[%j, %h * 4 + %k + 8]) : (tensor<5x24xf32>, tensor<5x24xf32>) -> tensor<2x5x5xf32> {
      %p = arith.mulf %a, %b : f32
      te.yield %p : f32
    }
    te.yield %s : tensor<2x5x5xf32>
  }
  func.return %y : tensor<2x5x5xf32>
}

// Rows of a batch too.
// CHECK-LABEL: func.func @batch
// CHECK-NEXT:    memref.reinterpret_cast %x to offset: [0], sizes: [2, 3, 4], strides: [12, 4, 1]
// CHECK:         (%a = %{{.*}}[%n, %i, %k], %b = %w{{.*}}[%n, %k, %j])
func.func @batch(%x: tensor<6x4xf32>, %w: tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
  %s = te.compute [%n = 2, %i = 3, %j = 5] add [%k = 4] (%a = %x[%n * 3 + %i, %k], %b = %w[%n, %k, %j]) : (tensor<6x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %s : tensor<2x3x5xf32>
}

// The windows of a convolution stay as they are.
// CHECK-LABEL: func.func @window
// CHECK-NOT:     reinterpret_cast
// CHECK:         [%oh * 2 + %kh]
func.func @window(%x: tensor<8xf32>, %w: tensor<3x2xf32>) -> tensor<3x4xf32> {
  %y = te.compute [%f = 3, %oh = 4] add [%kh = 2] (%a = %x[%oh * 2 + %kh], %b = %w[%f, %kh]) : (tensor<8xf32>, tensor<3x2xf32>) -> tensor<3x4xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<3x4xf32>
}

// So does a dimension whose elements another compute reads in a row, and one that is no multiple of the inner extent.
// CHECK-LABEL: func.func @whole_rows
// CHECK-NOT:     reinterpret_cast
func.func @whole_rows(%x: tensor<5x8xf32>) -> (tensor<2x5x5xf32>, tensor<5x8xf32>) {
  %y, %z = te.kernel "k" (%x_1 = %x) : (tensor<5x8xf32>) -> (tensor<2x5x5xf32>, tensor<5x8xf32>) {
    %s = te.compute [%h = 2, %i = 5, %j = 5] add [%k = 4] (%a = %x_1[%i, %h * 4 + %k], %b = %x_1[%j, %h * 4 + %k]) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<2x5x5xf32> {
      %p = arith.mulf %a, %b : f32
      te.yield %p : f32
    }
    %t = te.compute [%i = 5, %c = 8] (%a = %x_1[%i, %c]) : (tensor<5x8xf32>) -> tensor<5x8xf32> {
      %p = arith.addf %a, %a : f32
      te.yield %p : f32
    }
    te.yield %s, %t : tensor<2x5x5xf32>, tensor<5x8xf32>
  }
  func.return %y, %z : tensor<2x5x5xf32>, tensor<5x8xf32>
}

// CHECK-LABEL: func.func @ragged
// CHECK-NOT:     reinterpret_cast
func.func @ragged(%x: tensor<5x9xf32>) -> tensor<2x5x5xf32> {
  %s = te.compute [%h = 2, %i = 5, %j = 5] add [%k = 4] (%a = %x[%i, %h * 4 + %k], %b = %x[%j, %h * 4 + %k + 1]) : (tensor<5x9xf32>, tensor<5x9xf32>) -> tensor<2x5x5xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %s : tensor<2x5x5xf32>
}

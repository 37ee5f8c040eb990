// RUN: stepwell-opt %s -p "te-bufferize,te-flatten-operands" | filecheck %s

// The pixels of a picture as a list: quotient and remainder are of one subscript.
// CHECK-LABEL: func.func @pixels
// CHECK-NEXT:    %[[x:.*]] = memref.reinterpret_cast %x to offset: [0], sizes: [40, 3], strides: [3, 1] : memref<5x8x3xf32> to memref<40x3xf32>
// CHECK:         te.kernel inline "pixels" ({{.*}} = %[[x]])
// CHECK:           (%a = %{{.*}}[%i, 0], %b = %{{.*}}[%i, 2]) : (tensor<40x3xf32>, tensor<40x3xf32>)
func.func @pixels(%x: tensor<5x8x3xf32>) -> tensor<40xf32> {
  %y = te.compute [%i = 40] (%a = %x[%i floordiv 8, %i mod 8, 0], %b = %x[%i floordiv 8, %i mod 8, 2]) : (tensor<5x8x3xf32>, tensor<5x8x3xf32>) -> tensor<40xf32> {
    %s = arith.addf %a, %b : f32
    te.yield %s : f32
  }
  func.return %y : tensor<40xf32>
}

// Three dimensions, the two inner ones first; a read of other elements says where these are in the view.
// CHECK-LABEL: func.func @three
// CHECK:         memref.reinterpret_cast %x to offset: [0], sizes: [24], strides: [1]
// CHECK:         (%a = %{{.*}}[%i], %b = %{{.*}}[3])
func.func @three(%x: tensor<2x3x4xf32>) -> tensor<24xf32> {
  %y = te.compute [%i = 24] (%a = %x[%i floordiv 12, %i floordiv 4 mod 3, %i mod 4], %b = %x[0, 0, 3]) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<24xf32> {
    %s = arith.addf %a, %b : f32
    te.yield %s : f32
  }
  func.return %y : tensor<24xf32>
}

// A remainder that is not that of the quotient stays, and so does what may be read outside of the operand.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     reinterpret_cast
func.func @kept(%x: tensor<5x8xf32>, %z: tensor<5x8xf32>) -> tensor<40xf32> {
  %y = te.compute [%i = 40] (%a = %x[%i floordiv 8, %i mod 4], %b = %z[%i floordiv 8, %i mod 8] else 0.0 : f32) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<40xf32> {
    %s = arith.addf %a, %b : f32
    te.yield %s : f32
  }
  func.return %y : tensor<40xf32>
}

// RUN: stepwell-opt %s | stepwell-opt | filecheck %s

// CHECK:      %r = te.loops "fill" (%a = %x) -> (%out) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:   loop.for serial "i" %i = 0 to 4 {
// CHECK:        loop.store %v, %out[%i] : memref<4xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK-NEXT: func.return %r : tensor<4xf32>
func.func @fresh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = te.loops "fill" (%a = %x) -> (%out) : (tensor<4xf32>) -> tensor<4xf32> {
    loop.for serial "i" %i = 0 to 4 {
      %v = loop.load %a[%i] : memref<4xf32>
      loop.store %v, %out[%i] : memref<4xf32>
    }
  }
  func.return %r : tensor<4xf32>
}

// CHECK: %r, %r_1 = te.loops "update" () -> (%one = %x, %other) : () -> (tensor<4xf32>, tensor<1xi64>) {
func.func @update(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<1xi64>) {
  %r:2 = te.loops "update" () -> (%one = %x, %other) : () -> (tensor<4xf32>, tensor<1xi64>) {
    %c = arith.constant 3 : i64
    loop.store %c, %other[0] : memref<1xi64>
  }
  func.return %r#0, %r#1 : tensor<4xf32>, tensor<1xi64>
}

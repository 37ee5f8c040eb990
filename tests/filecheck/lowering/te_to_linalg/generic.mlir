// RUN: stepwell-opt %s -p convert-te-to-linalg | filecheck %s

func.func @product(%a: tensor<4x8xf32> {stepwell.constant}, %b: tensor<8x5xf32>) -> tensor<4x5xf32> {
  %r = te.kernel "product" (%p = %a, %q = %b) : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32> {
    %s = te.compute [%i = 4, %j = 5] add [%k = 8] (%x = %p[%i, %k], %y = %q[%k, %j]) : (tensor<4x8xf32>, tensor<8x5xf32>) -> tensor<4x5xf32> {
      %m = arith.mulf %x, %y : f32
      te.yield %m : f32
    }
    te.yield %s : tensor<4x5xf32>
  }
  func.return %r : tensor<4x5xf32>
}
// CHECK: func.func @product(%a: tensor<4x8xf32>, %b: tensor<8x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<4x5xf32>
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x5xf32>) outs(%[[ZERO]] : tensor<4x5xf32>)
// CHECK: %[[M:.*]] = arith.mulf
// CHECK-NEXT: %[[S:.*]] = arith.addf %{{.*}}, %[[M]]
// CHECK-NEXT: linalg.yield %[[S]]

// What is read outside is padded; a window that nothing is indexed by alone has an operand for its extent.
func.func @window(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = te.compute [%i = 8] max [%k = 3] (%a = %x[%i + %k - 1] else 0.0 : f32) : (tensor<8xf32>) -> tensor<8xf32> {
    te.yield %a : f32
  }
  func.return %r : tensor<8xf32>
}
// CHECK-LABEL: func.func @window
// CHECK-NEXT: %[[P:.*]] = tensor.pad %x low[1] high[1]
// CHECK: %[[W:.*]] = tensor.empty() : tensor<3xf32>
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[W]] : tensor<10xf32>, tensor<3xf32>)
// CHECK: arith.maximumf

// RUN: stepwell-opt %s -p te-inline-functions | filecheck %s

// A function that is called otherwise than as a part of its caller stays.
// CHECK-NOT:   func.func private @part
// CHECK:       func.func private @other
func.func private @part(%x: tensor<4xf32>, %c: tensor<4xf32> {stepwell.constant}, %y: tensor<4xf32>) -> tensor<4xf32> attributes {stepwell.repeated} {
  %r = te.kernel "sum" (%a = %x, %b = %c, %d = %y) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %s = te.compute [%i = 4] (%p = %a[%i], %q = %b[%i], %t = %d[%i]) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      %u = arith.addf %p, %q : f32
      %v = arith.addf %u, %t : f32
      te.yield %v : f32
    }
    te.yield %s : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32>

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[ONE:.*]] = te.kernel "sum" (%a = %x, %d = %x)
// CHECK-NEXT:      %c = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK-NEXT:      te.compute [%i = 4] (%p = %a[%i], %q = %c[%i], %t = %d[%i])
// CHECK:         %[[TWO:.*]] = te.kernel "sum" (%{{.*}} = %[[ONE]], %{{.*}} = %[[ONE]], %{{.*}} = %x)
// CHECK:         %[[THREE:.*]] = func.call @other(%[[TWO]])
// CHECK-NEXT:    func.return %[[THREE]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = func.call @part(%x, %c, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @part(%1, %1, %x) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @other(%2) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// RUN: stepwell-opt %s -p graph-share-constants | filecheck %s
// RUN: stepwell-opt %s -p graph-share-constants --remarks 2>&1 | filecheck %s --check-prefix REMARK

// REMARK: shares the elements of w

// Resources with the same bytes under two names.
// CHECK-LABEL: func.func @same
// CHECK-NEXT:    %w = graph.constant dense_resource<first>
// CHECK-NEXT:    %y = graph.add %x, %w
// CHECK-NEXT:    graph.mul %y, %w
// CHECK-NEXT:    func.return
func.func @same(%x: tensor<34xf32>) -> tensor<34xf32> {
  %w = graph.constant dense_resource<first> : tensor<34xf32>
  %v = graph.constant dense_resource<again> : tensor<34xf32>
  %y = graph.add %x, %w : tensor<34xf32>, tensor<34xf32> -> tensor<34xf32>
  %z = graph.mul %y, %v : tensor<34xf32>, tensor<34xf32> -> tensor<34xf32>
  func.return %z : tensor<34xf32>
}

// Elements that differ between equal ends, equal bytes of another shape, and a constant of another function.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    graph.constant dense_resource<first> : tensor<34xf32>
// CHECK-NEXT:    graph.constant dense_resource<middle> : tensor<34xf32>
// CHECK-NEXT:    graph.constant dense_resource<first> : tensor<2x17xf32>
// CHECK-NEXT:    func.return
func.func @others() -> (tensor<34xf32>, tensor<34xf32>, tensor<2x17xf32>) {
  %w = graph.constant dense_resource<first> : tensor<34xf32>
  %v = graph.constant dense_resource<middle> : tensor<34xf32>
  %u = graph.constant dense_resource<first> : tensor<2x17xf32>
  func.return %w, %v, %u : tensor<34xf32>, tensor<34xf32>, tensor<2x17xf32>
}

{-#
  dialect_resources: {
    builtin: {
      first: "0x4000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
      again: "0x4000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000004000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
      middle: "0x4000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000803F00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    }
  }
#-}

// RUN: stepwell compile %s --emit loop -o - | filecheck %s
// RUN: stepwell run %s --random 0 --check | filecheck %s --check-prefix=RESULT

// A chain of movements is one copy with all of the index arithmetic in its subscripts.
// CHECK-LABEL: func.func private @movement.
// CHECK:         %[[ELEMENT:.*]] = loop.load %x[{{.*}}]
// CHECK-NEXT:    loop.store %[[ELEMENT]], %{{.*}}[%{{.*}}, %{{.*}}] : memref<3x2xi32>
// CHECK-NOT:     loop.load
// CHECK-LABEL: func.func @movement(
// CHECK-NEXT:    func.call @movement.

// RESULT: result: 3x2xint32
// RESULT: check: agrees with the interpreter, largest difference 0
func.func @movement(%x: tensor<4x6xi32>) -> tensor<3x2xi32> {
  %transposed = graph.transpose %x perm = [1, 0] : tensor<4x6xi32> -> tensor<6x4xi32>
  %reversed = graph.slice %transposed starts = [5, 1] stops = [-1, 4] steps = [-2, 2] : tensor<6x4xi32> -> tensor<3x2xi32>
  func.return %reversed : tensor<3x2xi32>
}

// RUN: stepwell-opt %s -p graph-order-products | filecheck %s
// RUN: stepwell-opt %s -p graph-order-products --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'graph-order-products{fp=strict}' | filecheck %s --check-prefix STRICT

// REMARK: remark: graph-order-products: ordered 3 matrix products: 20000 multiplications for 1010000

// A low-rank layer that is applied to a vector: the vector goes first.
// STRICT-LABEL: func.func @low_rank
// STRICT-NEXT:    graph.matmul %a, %b
// CHECK-LABEL: func.func @low_rank
// CHECK-NEXT:    %[[BX:.*]] = graph.matmul %b, %x : tensor<100x100xf32>, tensor<100x1xf32>
// CHECK-NEXT:    %y = graph.matmul %a, %[[BX]]
// CHECK-NEXT:    func.return %y
func.func @low_rank(%a: tensor<100x100xf32>, %b: tensor<100x100xf32>, %x: tensor<100x1xf32>) -> tensor<100x1xf32> {
  %ab = graph.matmul %a, %b : tensor<100x100xf32>, tensor<100x100xf32> -> tensor<100x100xf32>
  %y = graph.matmul %ab, %x : tensor<100x100xf32>, tensor<100x1xf32> -> tensor<100x1xf32>
  func.return %y : tensor<100x1xf32>
}

// The example of Cormen et al.: 15125 multiplications, as ((a (b c)) ((d e) f)).
// CHECK-LABEL: func.func @six
// CHECK-NEXT:    %[[BC:.*]] = graph.matmul %b, %c
// CHECK-NEXT:    %[[ABC:.*]] = graph.matmul %a, %[[BC]]
// CHECK-NEXT:    %[[DE:.*]] = graph.matmul %d, %e
// CHECK-NEXT:    %[[DEF:.*]] = graph.matmul %[[DE]], %f
// CHECK-NEXT:    graph.matmul %[[ABC]], %[[DEF]]
func.func @six(%a: tensor<30x35xf32>, %b: tensor<35x15xf32>, %c: tensor<15x5xf32>, %d: tensor<5x10xf32>, %e: tensor<10x20xf32>, %f: tensor<20x25xf32>) -> tensor<30x25xf32> {
  %0 = graph.matmul %a, %b : tensor<30x35xf32>, tensor<35x15xf32> -> tensor<30x15xf32>
  %1 = graph.matmul %0, %c : tensor<30x15xf32>, tensor<15x5xf32> -> tensor<30x5xf32>
  %2 = graph.matmul %1, %d : tensor<30x5xf32>, tensor<5x10xf32> -> tensor<30x10xf32>
  %3 = graph.matmul %2, %e : tensor<30x10xf32>, tensor<10x20xf32> -> tensor<30x20xf32>
  %4 = graph.matmul %3, %f : tensor<30x20xf32>, tensor<20x25xf32> -> tensor<30x25xf32>
  func.return %4 : tensor<30x25xf32>
}

// The first product is needed itself, and integers stay as they are written.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    %[[AB:.*]] = graph.matmul %a, %b
// CHECK-NEXT:    graph.matmul %[[AB]], %x
// CHECK-NEXT:    %[[II:.*]] = graph.matmul %i, %i
// CHECK-NEXT:    graph.matmul %[[II]], %j
func.func @others(%a: tensor<9x9xf32>, %b: tensor<9x9xf32>, %x: tensor<9x1xf32>, %i: tensor<9x9xi32>, %j: tensor<9x1xi32>) -> (tensor<9x9xf32>, tensor<9x1xf32>, tensor<9x1xi32>) {
  %0 = graph.matmul %a, %b : tensor<9x9xf32>, tensor<9x9xf32> -> tensor<9x9xf32>
  %1 = graph.matmul %0, %x : tensor<9x9xf32>, tensor<9x1xf32> -> tensor<9x1xf32>
  %2 = graph.matmul %i, %i : tensor<9x9xi32>, tensor<9x9xi32> -> tensor<9x9xi32>
  %3 = graph.matmul %2, %j : tensor<9x9xi32>, tensor<9x1xi32> -> tensor<9x1xi32>
  func.return %0, %1, %3 : tensor<9x9xf32>, tensor<9x1xf32>, tensor<9x1xi32>
}

// The product of a and b is 0, and that of 0 and a NaN of x a NaN.
// CHECK-LABEL: func.func @of_no_terms
// CHECK-NEXT:    %[[AB:.*]] = graph.matmul %a, %b
// CHECK-NEXT:    graph.matmul %[[AB]], %x
func.func @of_no_terms(%a: tensor<3x0xf32>, %b: tensor<0x33xf32>, %x: tensor<33x3xf32>) -> tensor<3x3xf32> {
  %0 = graph.matmul %a, %b : tensor<3x0xf32>, tensor<0x33xf32> -> tensor<3x33xf32>
  %1 = graph.matmul %0, %x : tensor<3x33xf32>, tensor<33x3xf32> -> tensor<3x3xf32>
  func.return %1 : tensor<3x3xf32>
}

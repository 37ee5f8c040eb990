// RUN: stepwell-opt %s -p 'graph-compute-by-rows{threads=1 target=sapphire-rapids}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-compute-by-rows{threads=1 target=sapphire-rapids}' --remarks 2>&1 >/dev/null | filecheck %s --check-prefix WHY
// RUN: stepwell-opt %s -p 'graph-compute-by-rows{threads=2 target=sapphire-rapids}' | filecheck %s --check-prefix NONE
// RUN: stepwell-opt %s -p 'graph-compute-by-rows{threads=1 target=sapphire-rapids opt=quick}' | filecheck %s --check-prefix NONE
// NONE-NOT: graph.scan

// What is made of running sums goes with them, row by row, what comes before too; a sum over the rows does not.

// CHECK-LABEL: func.func @range
// CHECK:         %[[X:.*]] = graph.reshape %x : tensor<1000x500xf64> -> tensor<[[B:[0-9]+]]x[[R:[0-9]+]]x500xf64>
// CHECK-NEXT:    %[[Y:.*]] = graph.scan [[B]] over (%x_1 = %[[X]]) : (tensor<[[B]]x[[R]]x500xf64>) -> tensor<[[B]]x[[R]]xf64> {
// CHECK-NEXT:      %e = graph.exp %x_1 : tensor<[[R]]x500xf64>
// CHECK-NEXT:      %c = graph.cumsum %e axis = 1 : tensor<[[R]]x500xf64>
// CHECK-NEXT:      %m = graph.max %c axes = [1] : tensor<[[R]]x500xf64> -> tensor<[[R]]xf64>
// CHECK-NEXT:      %l = graph.slice %c starts = [0, 499] stops = [[[R]], 500] steps = [1, 1] : tensor<[[R]]x500xf64> -> tensor<[[R]]x1xf64>
// CHECK-NEXT:      %q = graph.squeeze %l axes = [1]
// CHECK-NEXT:      %d = graph.sub %m, %q
// CHECK-NEXT:      graph.yield %d
// CHECK:         graph.reshape %[[Y]] : tensor<[[B]]x[[R]]xf64> -> tensor<1000xf64>
// CHECK-NEXT:    graph.sum
// WHY:           6 operations in {{.*}} blocks of {{.*}} rows
func.func @range(%x: tensor<1000x500xf64>) -> tensor<f64> {
  %e = graph.exp %x : tensor<1000x500xf64>
  %c = graph.cumsum %e axis = 1 : tensor<1000x500xf64>
  %m = graph.max %c axes = [1] : tensor<1000x500xf64> -> tensor<1000xf64>
  %l = graph.slice %c starts = [0, 499] stops = [1000, 500] steps = [1, 1] : tensor<1000x500xf64> -> tensor<1000x1xf64>
  %q = graph.squeeze %l axes = [1] : tensor<1000x1xf64> -> tensor<1000xf64>
  %d = graph.sub %m, %q : tensor<1000xf64>, tensor<1000xf64> -> tensor<1000xf64>
  %s = graph.sum %d axes = [0] : tensor<1000xf64> -> tensor<f64>
  func.return %s : tensor<f64>
}

// CHECK-LABEL: func.func @summed
// CHECK-NOT:     graph.scan
// WHY:           the rows are not computed in blocks: what is made of them is made where they are, and they are not stored
func.func @summed(%x: tensor<1000x500xf64>) -> tensor<500xf64> {
  %c = graph.cumsum %x axis = 1 : tensor<1000x500xf64>
  %q = graph.mul %c, %c : tensor<1000x500xf64>, tensor<1000x500xf64> -> tensor<1000x500xf64>
  %s = graph.sum %q axes = [0] : tensor<1000x500xf64> -> tensor<500xf64>
  func.return %s : tensor<500xf64>
}

// CHECK-LABEL: func.func @columns
// CHECK-NOT:     graph.scan
// WHY:           the rows are not computed in blocks: they are along the first axis
func.func @columns(%x: tensor<1000x500xf64>) -> tensor<500xf64> {
  %c = graph.cumsum %x axis = 0 : tensor<1000x500xf64>
  %m = graph.max %c axes = [0] : tensor<1000x500xf64> -> tensor<500xf64>
  func.return %m : tensor<500xf64>
}

// CHECK-LABEL: func.func @prime
// CHECK-NOT:     graph.scan
// WHY:           the rows are not computed in blocks: no block of up to {{.*}} rows divides 997
func.func @prime(%x: tensor<997x500xf64>) -> tensor<997xf64> {
  %c = graph.cumsum %x axis = 1 : tensor<997x500xf64>
  %m = graph.max %c axes = [1] : tensor<997x500xf64> -> tensor<997xf64>
  func.return %m : tensor<997xf64>
}

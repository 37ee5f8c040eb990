// RUN: stepwell-opt %s -p graph-recognize-counts,canonicalize,cse | filecheck %s
// RUN: stepwell-opt %s -p graph-recognize-counts --remarks 2>&1 >/dev/null | filecheck %s --check-prefix REMARK

// Each key becomes the number of the first name that it equals, or that of the last row or column where there is none.
// CHECK-LABEL: func.func @names
// CHECK:         graph.eq %y, %{{.*}} : tensor<400xi32>, tensor<1xi32> -> tensor<400xi1>
// CHECK:         %[[TABLE:.*]] = graph.scatter_elements %{{.*}}, %[[PAIR:.*]], %{{.*}} axis = 0 reduction = "add" : tensor<12xi64>, tensor<400xi64>, tensor<1xi64> -> tensor<12xi64>
// CHECK-NEXT:    %[[WHOLE:.*]] = graph.reshape %[[TABLE]] : tensor<12xi64> -> tensor<4x3xi64>
// CHECK-NEXT:    %[[INNER:.*]] = graph.slice %[[WHOLE]] starts = [0, 0] stops = [3, 2]
// CHECK:         %[[ROWS:.*]] = graph.gather %[[INNER]], %{{.*}} axis = 0
// CHECK:         %[[BOTH:.*]] = graph.gather %[[ROWS]], %{{.*}} axis = 1
// CHECK-NEXT:    %[[COUNTS:.*]] = graph.cast %[[BOTH]] : tensor<3x2xi64> -> tensor<3x2xf32>
// CHECK-NEXT:    func.return %[[COUNTS]]
func.func @names(%x: tensor<400xi32>, %y: tensor<400xi32>, %names: tensor<3xi32>, %others: tensor<2xi32>) -> tensor<3x2xf32> {
  %key = graph.expand_dims %x axes = [1] : tensor<400xi32> -> tensor<400x1xi32>
  %eq = graph.eq %key, %names : tensor<400x1xi32>, tensor<3xi32> -> tensor<400x3xi1>
  %turned = graph.transpose %eq perm = [1, 0] : tensor<400x3xi1> -> tensor<3x400xi1>
  %first = graph.cast %turned : tensor<3x400xi1> -> tensor<3x400xf32>
  %key_1 = graph.expand_dims %y axes = [1] : tensor<400xi32> -> tensor<400x1xi32>
  %eq_1 = graph.eq %others, %key_1 : tensor<2xi32>, tensor<400x1xi32> -> tensor<400x2xi1>
  %second = graph.cast %eq_1 : tensor<400x2xi1> -> tensor<400x2xf32>
  %r = graph.matmul %first, %second : tensor<3x400xf32>, tensor<400x2xf32> -> tensor<3x2xf32>
  func.return %r : tensor<3x2xf32>
}

// Of names that follow one another, a key is its own label: it is compared with none.
// CHECK-LABEL: func.func @consecutive
// CHECK-NOT:     graph.eq
// CHECK:         graph.scatter_elements
// CHECK-NOT:     graph.gather
// CHECK:         func.return
func.func @consecutive(%x: tensor<1x400xi64>, %y: tensor<400x1xi64>) -> tensor<3x2xi64> {
  %names = graph.constant dense<[[5], [6], [7]]> : tensor<3x1xi64>
  %eq = graph.eq %names, %x : tensor<3x1xi64>, tensor<1x400xi64> -> tensor<3x400xi1>
  %first = graph.cast %eq : tensor<3x400xi1> -> tensor<3x400xi64>
  %others = graph.iota axis = 0 : tensor<2xi64>
  %eq_1 = graph.eq %y, %others : tensor<400x1xi64>, tensor<2xi64> -> tensor<400x2xi1>
  %second = graph.cast %eq_1 : tensor<400x2xi1> -> tensor<400x2xi64>
  %r = graph.matmul %first, %second : tensor<3x400xi64>, tensor<400x2xi64> -> tensor<3x2xi64>
  func.return %r : tensor<3x2xi64>
}

// NaN equals no name, itself included; sums over the names are no counts of pairs.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.scatter_elements
// CHECK:         func.return
func.func @others(%x: tensor<400x1xf32>, %names: tensor<3xf32>, %y: tensor<3x1xi32>, %keys: tensor<3xi32>) -> (tensor<3x3xf32>, tensor<3x3xf32>) {
  %eq = graph.eq %x, %names : tensor<400x1xf32>, tensor<3xf32> -> tensor<400x3xi1>
  %one = graph.cast %eq : tensor<400x3xi1> -> tensor<400x3xf32>
  %turned = graph.transpose %one perm = [1, 0] : tensor<400x3xf32> -> tensor<3x400xf32>
  %r = graph.matmul %turned, %one : tensor<3x400xf32>, tensor<400x3xf32> -> tensor<3x3xf32>
  %eq_1 = graph.eq %y, %keys : tensor<3x1xi32>, tensor<3xi32> -> tensor<3x3xi1>
  %few = graph.cast %eq_1 : tensor<3x3xi1> -> tensor<3x3xf32>
  // REMARK: recognize_counts.mlir:[[# @LINE + 1]]:{{.*}}no counting: it has few terms for each element
  %s = graph.matmul %few, %few : tensor<3x3xf32>, tensor<3x3xf32> -> tensor<3x3xf32>
  func.return %r, %s : tensor<3x3xf32>, tensor<3x3xf32>
}

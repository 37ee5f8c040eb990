// RUN: stepwell-opt %s -p graph-recognize-multiples | filecheck %s

// CHECK-LABEL: func.func @crossed_out(
// CHECK-NEXT:    %[[c:.*]] = graph.constant dense<false> : tensor<i1>
// CHECK-NEXT:    %r = graph.fill_multiples %x, %[[c]] of %step from %start : tensor<9xi1>, tensor<i1> of tensor<i64> from tensor<i64> -> tensor<9xi1>
func.func @crossed_out(%x: tensor<9xi1>, %step: tensor<i64>, %start: tensor<i64>) -> tensor<9xi1> {
  %i = graph.iota axis = 0 : tensor<9xi64>
  %zero = graph.constant dense<0> : tensor<i64>
  %m = graph.mod %i, %step : tensor<9xi64>, tensor<i64> -> tensor<9xi64>
  %e = graph.eq %m, %zero : tensor<9xi64>, tensor<i64> -> tensor<9xi1>
  %g = graph.ge %i, %start : tensor<9xi64>, tensor<i64> -> tensor<9xi1>
  %a = graph.and %e, %g : tensor<9xi1>, tensor<9xi1> -> tensor<9xi1>
  %n = graph.not %a : tensor<9xi1>
  %r = graph.and %x, %n : tensor<9xi1>, tensor<9xi1> -> tensor<9xi1>
  func.return %r : tensor<9xi1>
}

// CHECK-LABEL: func.func @replaced(
// CHECK-NEXT:    %[[c:.*]] = graph.constant dense<0> : tensor<i64>
// CHECK-NEXT:    %r = graph.fill_multiples %x, %v of %step from %[[c]] :
func.func @replaced(%x: tensor<9xf32>, %v: tensor<f32>, %step: tensor<i64>) -> tensor<9xf32> {
  %i = graph.iota axis = 0 : tensor<9xi64>
  %zero = graph.constant dense<0> : tensor<i64>
  %m = graph.mod %i, %step : tensor<9xi64>, tensor<i64> -> tensor<9xi64>
  %e = graph.eq %m, %zero : tensor<9xi64>, tensor<i64> -> tensor<9xi1>
  %r = graph.where %e, %v, %x : tensor<9xi1>, tensor<f32>, tensor<9xf32> -> tensor<9xf32>
  func.return %r : tensor<9xf32>
}

// Of a known step, vectors compute remainders as products.
// CHECK-LABEL: func.func @known_step(
// CHECK:         graph.where
func.func @known_step(%x: tensor<9xf32>, %v: tensor<f32>) -> tensor<9xf32> {
  %i = graph.iota axis = 0 : tensor<9xi64>
  %zero = graph.constant dense<0> : tensor<i64>
  %two = graph.constant dense<2> : tensor<i64>
  %m = graph.mod %i, %two : tensor<9xi64>, tensor<i64> -> tensor<9xi64>
  %e = graph.eq %m, %zero : tensor<9xi64>, tensor<i64> -> tensor<9xi1>
  %r = graph.where %e, %v, %x : tensor<9xi1>, tensor<f32>, tensor<9xf32> -> tensor<9xf32>
  func.return %r : tensor<9xf32>
}

// Elements that are no indices may be multiples anywhere.
// CHECK-LABEL: func.func @of_elements(
// CHECK:         graph.where
func.func @of_elements(%x: tensor<9xf32>, %i: tensor<9xi64>, %v: tensor<f32>, %step: tensor<i64>) -> tensor<9xf32> {
  %zero = graph.constant dense<0> : tensor<i64>
  %m = graph.mod %i, %step : tensor<9xi64>, tensor<i64> -> tensor<9xi64>
  %e = graph.eq %m, %zero : tensor<9xi64>, tensor<i64> -> tensor<9xi1>
  %r = graph.where %e, %v, %x : tensor<9xi1>, tensor<f32>, tensor<9xf32> -> tensor<9xf32>
  func.return %r : tensor<9xf32>
}

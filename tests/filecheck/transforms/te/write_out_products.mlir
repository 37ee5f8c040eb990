// RUN: stepwell-opt %s -p te-write-out-products | filecheck %s
// RUN: stepwell-opt %s -p 'te-write-out-products{fp=strict}' | filecheck %s --check-prefix STRICT

// A colour matrix: each of three sums is written out.
// STRICT-NOT: arith.addf
// CHECK-LABEL: func.func @colours
// CHECK:         te.compute [%i = 500, %j = 3] (%{{.*}} = %x[%i, 0], %{{.*}} = %m[%j, 0], %{{.*}} = %x[%i, 1], %{{.*}} = %m[%j, 1])
// CHECK:         %[[A:.*]] = arith.mulf
// CHECK:         %[[B:.*]] = arith.mulf
// CHECK:         %[[SUM:.*]] = arith.addf %[[B]], %[[A]]
// CHECK-NEXT:    te.yield %[[SUM]]
func.func @colours(%x: tensor<500x2xf32>, %m: tensor<3x2xf32>) -> tensor<500x3xf32> {
  %y = te.compute [%i = 500, %j = 3] add [%k = 2] (%a = %x[%i, %k], %b = %m[%j, %k]) : (tensor<500x2xf32>, tensor<3x2xf32>) -> tensor<500x3xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %y : tensor<500x3xf32>
}

// A wider one is, where only reductions of the rows need it; so is a product with one row of numbers.
// CHECK-LABEL: func.func @reduced
// CHECK:         %y = te.compute [%i = 500, %j = 12] (
// CHECK:         %v = te.compute [%i_{{.*}} = 500] (%a{{.*}} = %x[%i_{{.*}}, 0], %b{{.*}} = %n[0], %{{.*}} = %x[%i_{{.*}}, 1], %{{.*}} = %n[1]) :
func.func @reduced(%x: tensor<500x2xf32>, %m: tensor<12x2xf32>, %n: tensor<2xf32>) -> (tensor<500xf32>, tensor<500xf32>) {
  %y = te.compute [%i = 500, %j = 12] add [%k = 2] (%a = %x[%i, %k], %b = %m[%j, %k]) : (tensor<500x2xf32>, tensor<12x2xf32>) -> tensor<500x12xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %z = te.compute [%i = 500] max [%j = 12] (%a = %y[%i, %j]) : (tensor<500x12xf32>) -> tensor<500xf32> { te.yield %a : f32 }
  %v = te.compute [%i = 500] add [%k = 2] (%a = %x[%i, %k], %b = %n[%k]) : (tensor<500x2xf32>, tensor<2xf32>) -> tensor<500xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %z, %v : tensor<500xf32>, tensor<500xf32>
}

// Many pairs of small matrices, and many small matrices by a vector each.
// CHECK-LABEL: func.func @pairs
// CHECK:         te.compute [%b = 300, %i = 2, %j = 3] (%{{.*}} = %x[%b, %i, 0], %{{.*}} = %y[%b, 0, %j], %{{.*}} = %x[%b, %i, 1], %{{.*}} = %y[%b, 1, %j])
// CHECK:         te.compute [%b{{.*}} = 300, %i{{.*}} = 2] (
func.func @pairs(%x: tensor<300x2x2xf32>, %y: tensor<300x2x3xf32>, %v: tensor<300x2xf32>) -> (tensor<300x2x3xf32>, tensor<300x2xf32>) {
  %p = te.compute [%b = 300, %i = 2, %j = 3] add [%k = 2] (%l = %x[%b, %i, %k], %r = %y[%b, %k, %j]) : (tensor<300x2x2xf32>, tensor<300x2x3xf32>) -> tensor<300x2x3xf32> {
    %t = arith.mulf %l, %r : f32
    te.yield %t : f32
  }
  %q = te.compute [%b = 300, %i = 2] add [%k = 2] (%l = %x[%b, %i, %k], %r = %v[%b, %k]) : (tensor<300x2x2xf32>, tensor<300x2xf32>) -> tensor<300x2xf32> {
    %t = arith.mulf %l, %r : f32
    te.yield %t : f32
  }
  func.return %p, %q : tensor<300x2x3xf32>, tensor<300x2xf32>
}

// A sum stays whose terms are many, one of few rows, one of a wide result, and one of few pairs of matrices.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-4: add [%k
func.func @kept(%x: tensor<500x9xf32>, %m: tensor<3x9xf32>, %few: tensor<20x2xf32>, %n: tensor<20x2xf32>, %many: tensor<500x2xf32>, %pairs: tensor<20x2x2xf32>) -> (tensor<500x3xf32>, tensor<20x3xf32>, tensor<500x20xf32>, tensor<20x2x2xf32>) {
  %y = te.compute [%i = 500, %j = 3] add [%k = 9] (%a = %x[%i, %k], %b = %m[%j, %k]) : (tensor<500x9xf32>, tensor<3x9xf32>) -> tensor<500x3xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %z = te.compute [%i = 20, %j = 3] add [%k = 2] (%a = %few[%i, %k], %b = %n[%j, %k]) : (tensor<20x2xf32>, tensor<20x2xf32>) -> tensor<20x3xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %w = te.compute [%i = 500, %j = 20] add [%k = 2] (%a = %many[%i, %k], %b = %n[%j, %k]) : (tensor<500x2xf32>, tensor<20x2xf32>) -> tensor<500x20xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %v = te.compute [%b = 20, %i = 2, %j = 2] add [%k = 2] (%l = %pairs[%b, %i, %k], %r = %pairs[%b, %k, %j]) : (tensor<20x2x2xf32>, tensor<20x2x2xf32>) -> tensor<20x2x2xf32> {
    %t = arith.mulf %l, %r : f32
    te.yield %t : f32
  }
  func.return %y, %z, %w, %v : tensor<500x3xf32>, tensor<20x3xf32>, tensor<500x20xf32>, tensor<20x2x2xf32>
}

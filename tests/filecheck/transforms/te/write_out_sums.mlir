// RUN: stepwell-opt %s -p te-write-out-sums | filecheck %s
// RUN: stepwell-opt %s -p 'te-write-out-sums{fp=strict}' | filecheck %s --check-prefix STRICT

// A matrix by itself, behind a transposition that nothing else needs: of four results two are the same sum.
// STRICT-NOT: add, add
// CHECK-LABEL: func.func @gram
// CHECK-NOT:     te.compute [%i = 2, %j = 300]
// CHECK:         %g, %g_1, %g_2 = te.compute [] add, add, add [%k = 300] (%[[A:.*]] = %x[%k, 0], %[[B:.*]] = %x[%k, 1]) :
// CHECK:           %[[AA:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK:           %[[AB:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK:           %[[BB:.*]] = arith.mulf %[[B]], %[[B]]
// CHECK:           te.yield %[[AA]], %[[AB]], %[[BB]]
// CHECK:         te.compute [%i{{.*}} = 2, %j{{.*}} = 2] (%[[FIRST:.*]] = %g[], %[[SECOND:.*]] = %g_1[], %[[THIRD:.*]] = %g_2[])
// CHECK:           arith.select %{{.*}}, %[[SECOND]], %[[FIRST]]
// CHECK:           arith.select %{{.*}}, %[[SECOND]],
// CHECK:           arith.select %{{.*}}, %[[THIRD]],
func.func @gram(%x: tensor<300x2xf32>) -> tensor<2x2xf32> {
  %t = te.compute [%i = 2, %j = 300] (%a = %x[%j, %i]) : (tensor<300x2xf32>) -> tensor<2x300xf32> { te.yield %a : f32 }
  %g = te.compute [%i = 2, %j = 2] add [%k = 300] (%a = %t[%i, %k], %b = %x[%k, %j]) : (tensor<2x300xf32>, tensor<300x2xf32>) -> tensor<2x2xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %g : tensor<2x2xf32>
}

// Where the factors are not treated alike, none of the sums are equal.
// CHECK-LABEL: func.func @weighted
// CHECK:         te.compute [] add, add, add, add [%k = 300]
func.func @weighted(%x: tensor<300x2xf32>) -> tensor<2x2xf32> {
  %g = te.compute [%i = 2, %j = 2] add [%k = 300] (%a = %x[%k, %i], %b = %x[%k, %j]) : (tensor<300x2xf32>, tensor<300x2xf32>) -> tensor<2x2xf32> {
    %s = arith.addf %a, %a : f32
    %r = math.absf %b : f32
    %p = arith.mulf %s, %r : f32
    te.yield %p : f32
  }
  func.return %g : tensor<2x2xf32>
}

// Few terms, too many results, neighbours of a sum that lie far apart, and a border that is tested: as they are.
// CHECK-LABEL: func.func @left
// CHECK:         te.compute [%i = 2, %j = 2] add [%k = 200]
// CHECK:         te.compute [%i{{.*}} = 5, %j{{.*}} = 4] add [%k{{.*}} = 300]
// CHECK:         te.compute [%i{{.*}} = 2] add [%k{{.*}} = 300]
// CHECK:         te.compute [%i{{.*}} = 2] add [%k{{.*}} = 300]
func.func @left(%x: tensor<2x200xf32>, %y: tensor<200x2xf32>, %v: tensor<5x300xf32>, %w: tensor<300x4xf32>, %z: tensor<300x9xf32>, %n: tensor<300xf32>) -> (tensor<2x2xf32>, tensor<5x4xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = te.compute [%i = 2, %j = 2] add [%k = 200] (%l = %x[%i, %k], %r = %y[%k, %j]) : (tensor<2x200xf32>, tensor<200x2xf32>) -> tensor<2x2xf32> {
    %t = arith.mulf %l, %r : f32
    te.yield %t : f32
  }
  %b = te.compute [%i = 5, %j = 4] add [%k = 300] (%l = %v[%i, %k], %r = %w[%k, %j]) : (tensor<5x300xf32>, tensor<300x4xf32>) -> tensor<5x4xf32> {
    %t = arith.mulf %l, %r : f32
    te.yield %t : f32
  }
  %c = te.compute [%i = 2] add [%k = 300] (%l = %z[%k, %i], %r = %n[%k]) : (tensor<300x9xf32>, tensor<300xf32>) -> tensor<2xf32> {
    %t = arith.mulf %l, %r : f32
    te.yield %t : f32
  }
  %d = te.compute [%i = 2] add [%k = 300] (%l = %w[%k - 1, %i] else 0.000000e+00 : f32, %r = %n[%k]) : (tensor<300x4xf32>, tensor<300xf32>) -> tensor<2xf32> {
    %t = arith.mulf %l, %r : f32
    te.yield %t : f32
  }
  func.return %a, %b, %c, %d : tensor<2x2xf32>, tensor<5x4xf32>, tensor<2xf32>, tensor<2xf32>
}

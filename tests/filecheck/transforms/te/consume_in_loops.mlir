// RUN: stepwell-opt %s -p convert-graph-to-te,te-fuse,te-consume-in-loops | filecheck %s
// RUN: stepwell-opt %s --remarks -p convert-graph-to-te,te-fuse,te-consume-in-loops 2>&1 >/dev/null | filecheck %s --check-prefix=WHY
// RUN: stepwell-opt %s --remarks -p "convert-graph-to-te,te-fuse,te-consume-in-loops{fp=strict}" 2>&1 >/dev/null | filecheck %s --check-prefix=STRICT

// The squares of running sums are added up where the sums are, along the rows and across them.

// CHECK-LABEL: func.func @squares
// CHECK-NEXT:    te.kernel "cumsum_far" (%x_1 = %x) : (tensor<1x9x2xf32>) -> tensor<9xf32> {
// CHECK-NEXT:      te.loops "cumsum" (%a = %x_1) -> (%far_1) : (tensor<1x9x2xf32>) -> tensor<9xf32> {
// CHECK:             loop.store %{{.*}}, %far_1[%{{.*}}] : memref<9xf32>
// CHECK:             loop.for serial "s" %s = 0 to 9 {
// CHECK:               %[[S:.*]] = arith.addf
// CHECK-NEXT:          %[[Q:.*]] = arith.mulf %[[S]], %[[S]] : f32
// CHECK-NEXT:          %[[F:.*]] = loop.load %far_1[%s] : memref<9xf32>
// CHECK-NEXT:          %[[T:.*]] = arith.addf %[[F]], %[[Q]] : f32
// CHECK-NEXT:          loop.store %[[T]], %far_1[%s] : memref<9xf32>
// CHECK:         func.return
// STRICT:        'cumsum' stores: fp=strict keeps the order of what reads it
func.func @squares(%x: tensor<1x9x2xf32>) -> tensor<9xf32> {
  %y = graph.cumsum %x axis = 1 : tensor<1x9x2xf32>
  %q = graph.mul %y, %y : tensor<1x9x2xf32>, tensor<1x9x2xf32> -> tensor<1x9x2xf32>
  %s = graph.sum %q axes = [2] : tensor<1x9x2xf32> -> tensor<1x9xf32>
  %far = graph.sum %s axes = [0] : tensor<1x9xf32> -> tensor<9xf32>
  func.return %far : tensor<9xf32>
}

// What is read in two places, is a result too or is looked for its greatest element is stored.

// CHECK-LABEL: func.func @twice
// CHECK:         te.kernel "cumsum" (
// WHY:           'cumsum' stores: its elements are read in several places, or outside of it
func.func @twice(%x: tensor<9xf32>) -> tensor<7xf32> {
  %y = graph.cumsum %x axis = 0 : tensor<9xf32>
  %a = graph.slice %y starts = [2] stops = [9] steps = [1] : tensor<9xf32> -> tensor<7xf32>
  %b = graph.slice %y starts = [0] stops = [7] steps = [1] : tensor<9xf32> -> tensor<7xf32>
  %d = graph.sub %a, %b : tensor<7xf32>, tensor<7xf32> -> tensor<7xf32>
  func.return %d : tensor<7xf32>
}

// CHECK-LABEL: func.func @kept
// CHECK:         te.kernel "cumsum" (
// WHY:           'cumsum' stores: others than one kernel need it
func.func @kept(%x: tensor<9xf32>) -> (tensor<9xf32>, tensor<f32>) {
  %y = graph.cumsum %x axis = 0 : tensor<9xf32>
  %s = graph.sum %y axes = [0] : tensor<9xf32> -> tensor<f32>
  func.return %y, %s : tensor<9xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @greatest
// CHECK:         te.kernel "cumsum" (
// WHY:           'cumsum' stores: what reads it is an extreme
func.func @greatest(%x: tensor<9xf32>) -> tensor<f32> {
  %y = graph.cumsum %x axis = 0 : tensor<9xf32>
  %s = graph.max %y axes = [0] : tensor<9xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

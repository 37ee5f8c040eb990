// RUN: stepwell-opt %s -p 'graph-tile-loops{tile_bytes=64}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'graph-tile-loops{tile_bytes=64}' --split-input-file --remarks 2>&1 | filecheck %s --check-prefix REMARK

// Elements are doubled as long as any is below its limit: 24 of them, and a tile's state and limits are 12 bytes each.
// REMARK: runs in 6 tiles of 4 elements
// CHECK-LABEL: @doubled
// CHECK: graph.reshape %x : tensor<4x6xf32> -> tensor<6x4xf32>
// CHECK: graph.reshape %limit : tensor<4x6xf32> -> tensor<6x4xf32>
// CHECK: graph.scan 6 over
// CHECK-NEXT: graph.while %go carry {{.*}} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: graph.max {{.*}} axes = [0] : tensor<4xi1> -> tensor<i1>
// CHECK: graph.reshape {{.*}} : tensor<6x4xf32> -> tensor<4x6xf32>
func.func @doubled(%x: tensor<4x6xf32>, %limit: tensor<4x6xf32>, %go: tensor<i1>) -> tensor<4x6xf32> {
  %r = graph.while %go carry (%s = %x) : (tensor<i1>, tensor<4x6xf32>) -> tensor<4x6xf32> {
    %below = graph.lt %s, %limit : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xi1>
    %twice = graph.add %s, %s : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %next = graph.where %below, %twice, %s : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %still = graph.lt %next, %limit : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xi1>
    %any = graph.max %still axes = [0, 1] : tensor<4x6xi1> -> tensor<i1>
    graph.yield %any, %next : tensor<i1>, tensor<4x6xf32>
  }
  func.return %r : tensor<4x6xf32>
}

// -----

// Each element takes ten steps of its own, with a number for each step: 24 elements, of which 8 fit, in tiles of 8.
// REMARK: runs in 3 tiles of 8 elements
// CHECK-LABEL: @steps
// CHECK: graph.scan 3 over
// CHECK: graph.scan 10 carry (%s = {{.*}}) over (%k = %ks) : (tensor<8xf32>, tensor<10xf32>) -> tensor<8xf32>
// CHECK: graph.reshape {{.*}} : tensor<3x8xf32> -> tensor<4x6xf32>
func.func @steps(%x: tensor<4x6xf32>, %ks: tensor<10xf32>) -> tensor<4x6xf32> {
  %r = graph.scan 10 carry (%s = %x) over (%k = %ks) : (tensor<4x6xf32>, tensor<10xf32>) -> tensor<4x6xf32> {
    %next = graph.mul %s, %k : tensor<4x6xf32>, tensor<f32> -> tensor<4x6xf32>
    graph.yield %next : tensor<4x6xf32>
  }
  func.return %r : tensor<4x6xf32>
}

// -----

// Finished elements go on growing as long as others are not finished.
// REMARK-NOT: runs in
// CHECK-LABEL: @goes_on
// CHECK-NOT: graph.scan
func.func @goes_on(%x: tensor<4x6xf32>, %limit: tensor<4x6xf32>, %go: tensor<i1>) -> tensor<4x6xf32> {
  %r = graph.while %go carry (%s = %x) : (tensor<i1>, tensor<4x6xf32>) -> tensor<4x6xf32> {
    %next = graph.add %s, %s : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %still = graph.lt %next, %limit : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xi1>
    %any = graph.max %still axes = [0, 1] : tensor<4x6xi1> -> tensor<i1>
    graph.yield %any, %next : tensor<i1>, tensor<4x6xf32>
  }
  func.return %r : tensor<4x6xf32>
}

// -----

// What is asked before the step is another question than the one after it.
// CHECK-LABEL: @other_question
// CHECK-NOT: graph.scan
func.func @other_question(%x: tensor<4x6xf32>, %a: tensor<4x6xf32>, %b: tensor<4x6xf32>, %go: tensor<i1>) -> tensor<4x6xf32> {
  %r = graph.while %go carry (%s = %x) : (tensor<i1>, tensor<4x6xf32>) -> tensor<4x6xf32> {
    %below = graph.lt %s, %a : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xi1>
    %twice = graph.add %s, %s : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %next = graph.where %below, %twice, %s : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %still = graph.lt %next, %b : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x6xi1>
    %any = graph.max %still axes = [0, 1] : tensor<4x6xi1> -> tensor<i1>
    graph.yield %any, %next : tensor<i1>, tensor<4x6xf32>
  }
  func.return %r : tensor<4x6xf32>
}

// -----

// The number of steps is asked for.
// CHECK-LABEL: @counted
// CHECK-NOT: graph.scan
func.func @counted(%x: tensor<24xi32>, %limit: tensor<24xi32>, %go: tensor<i1>, %zero: tensor<i32>) -> (tensor<24xi32>, tensor<i32>) {
  %r, %n = graph.while %go carry (%s = %x, %i = %zero)
      : (tensor<i1>, tensor<24xi32>, tensor<i32>) -> (tensor<24xi32>, tensor<i32>) {
    %one = graph.constant dense<1> : tensor<i32>
    %j = graph.add %i, %one : tensor<i32>, tensor<i32> -> tensor<i32>
    %below = graph.lt %s, %limit : tensor<24xi32>, tensor<24xi32> -> tensor<24xi1>
    %more = graph.cast %below : tensor<24xi1> -> tensor<24xi32>
    %next = graph.add %s, %more : tensor<24xi32>, tensor<24xi32> -> tensor<24xi32>
    %still = graph.lt %next, %limit : tensor<24xi32>, tensor<24xi32> -> tensor<24xi1>
    %any = graph.max %still axes = [0] : tensor<24xi1> -> tensor<i1>
    graph.yield %any, %next, %j : tensor<i1>, tensor<24xi32>, tensor<i32>
  }
  func.return %r, %n : tensor<24xi32>, tensor<i32>
}

// -----

// The limit grows with each step: an element that has reached it may go on later, as long as others are not finished.
// CHECK-LABEL: @moving_limit
// CHECK-NOT: graph.scan
func.func @moving_limit(%x: tensor<24xf32>, %go: tensor<i1>, %start: tensor<f32>) -> tensor<24xf32> {
  %r, %n = graph.while %go carry (%s = %x, %limit = %start)
      : (tensor<i1>, tensor<24xf32>, tensor<f32>) -> (tensor<24xf32>, tensor<f32>) {
    %one = graph.constant dense<1.0> : tensor<f32>
    %higher = graph.add %limit, %one : tensor<f32>, tensor<f32> -> tensor<f32>
    %below = graph.lt %s, %limit : tensor<24xf32>, tensor<f32> -> tensor<24xi1>
    %twice = graph.add %s, %s : tensor<24xf32>, tensor<24xf32> -> tensor<24xf32>
    %next = graph.where %below, %twice, %s : tensor<24xi1>, tensor<24xf32>, tensor<24xf32> -> tensor<24xf32>
    %still = graph.lt %next, %higher : tensor<24xf32>, tensor<f32> -> tensor<24xi1>
    %any = graph.max %still axes = [0] : tensor<24xi1> -> tensor<i1>
    graph.yield %any, %next, %higher : tensor<i1>, tensor<24xf32>, tensor<f32>
  }
  func.return %r : tensor<24xf32>
}

// -----

// Eight elements stay in the cache from step to step.
// CHECK-LABEL: @small
// CHECK-COUNT-1: graph.scan
func.func @small(%x: tensor<8xf32>, %ks: tensor<10xf32>) -> tensor<8xf32> {
  %r = graph.scan 10 carry (%s = %x) over (%k = %ks) : (tensor<8xf32>, tensor<10xf32>) -> tensor<8xf32> {
    %next = graph.mul %s, %k : tensor<8xf32>, tensor<f32> -> tensor<8xf32>
    graph.yield %next : tensor<8xf32>
  }
  func.return %r : tensor<8xf32>
}

// -----

// What each step gives stands in a sequence, which tiles would cut across.
// CHECK-LABEL: @stacked
// CHECK: graph.scan 10 carry
func.func @stacked(%x: tensor<24xf32>, %ks: tensor<10xf32>) -> tensor<10x24xf32> {
  %r, %all = graph.scan 10 carry (%s = %x) over (%k = %ks) : (tensor<24xf32>, tensor<10xf32>) -> (tensor<24xf32>, tensor<10x24xf32>) {
    %next = graph.mul %s, %k : tensor<24xf32>, tensor<f32> -> tensor<24xf32>
    graph.yield %next, %next : tensor<24xf32>, tensor<24xf32>
  }
  func.return %all : tensor<10x24xf32>
}

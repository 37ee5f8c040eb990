// RUN: stepwell-opt %s -p convert-graph-to-te,te-fuse,te-consume-in-blocks | filecheck %s
// RUN: stepwell-opt %s --remarks -p convert-graph-to-te,te-fuse,te-consume-in-blocks 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// Differences of sums follow these in blocks, of which the first one has no elements before it.

// CHECK-LABEL: func.func @differences
// CHECK-NEXT:    %d = te.kernel "cumsum_d" (%x_1 = %x) : (tensor<2100xf32>) -> tensor<2093xf32> {
// CHECK-NEXT:      %d_1 = te.loops "cumsum" (%x_2 = %x_1) -> (%d_2) : (tensor<2100xf32>) -> tensor<2093xf32> {
// CHECK-NEXT:        %last_y = loop.alloc arena : memref<71xf32>
// CHECK:             loop.for serial "s.block.first" %[[F:.*]] = 0 to 1 {
// CHECK-NEXT:          loop.for serial "s.first" %[[S:.*]] = %[[F]] * 64 to %[[F]] * 64 + 64 {
// CHECK:                 loop.store %{{.*}}, %last_y[%[[S]] - %[[F]] * 64 + 7]
// CHECK:               loop.for parallel "i.after.first" %[[I:.*]] = 7 to 64 {
// CHECK-NEXT:            loop.load %last_y[%[[I]] + 7]
// CHECK-NEXT:            loop.load %last_y[%[[I]]]
// CHECK-NEXT:            arith.subf
// CHECK-NEXT:            loop.store %{{.*}}, %d_2[%[[I]] + (%[[F]] * 64 - 7)]
// CHECK:               loop.for parallel "s.kept.first" %[[K:.*]] = 0 to 7 {
// CHECK-NEXT:            loop.load %last_y[%[[K]] + 64]
// CHECK-NEXT:            loop.store %{{.*}}, %last_y[%[[K]]]
// CHECK:             loop.for serial "s.block" %[[B:.*]] = 1 to 32 {
// CHECK:               loop.for parallel "i.after" %{{.*}} = 0 to 64 {
// WHY:           'd' follow 'cumsum' in 32 blocks of 64 steps
func.func @differences(%x: tensor<2100xf32>) -> tensor<2093xf32> {
  %y = graph.cumsum %x axis = 0 : tensor<2100xf32>
  %a = graph.slice %y starts = [7] stops = [2100] steps = [1] : tensor<2100xf32> -> tensor<2093xf32>
  %b = graph.slice %y starts = [0] stops = [2093] steps = [1] : tensor<2100xf32> -> tensor<2093xf32>
  %d = graph.sub %a, %b : tensor<2093xf32>, tensor<2093xf32> -> tensor<2093xf32>
  func.return %d : tensor<2093xf32>
}

// What a reduction reads, what needs a small part alone, and what reads too far back stays stored.

// CHECK-LABEL: func.func @far
// CHECK:         te.kernel "cumsum" (
// WHY:           nothing follows 'cumsum' in blocks: it is read 2000 elements back, too far for blocks of {{.*}}
func.func @far(%x: tensor<2100xf32>) -> tensor<100xf32> {
  %y = graph.cumsum %x axis = 0 : tensor<2100xf32>
  %a = graph.slice %y starts = [2000] stops = [2100] steps = [1] : tensor<2100xf32> -> tensor<100xf32>
  %b = graph.slice %y starts = [0] stops = [100] steps = [1] : tensor<2100xf32> -> tensor<100xf32>
  %d = graph.sub %a, %b : tensor<100xf32>, tensor<100xf32> -> tensor<100xf32>
  func.return %d : tensor<100xf32>
}

// CHECK-LABEL: func.func @greatest
// CHECK:         te.kernel "cumsum" (
// WHY:           nothing follows 'cumsum' in blocks: what reads it is a reduction
func.func @greatest(%x: tensor<2100xf32>) -> tensor<f32> {
  %y = graph.cumsum %x axis = 0 : tensor<2100xf32>
  %s = graph.max %y axes = [0] : tensor<2100xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// CHECK-LABEL: func.func @part
// CHECK:         te.kernel "cumsum" (
// WHY:           nothing follows 'cumsum' in blocks: what reads it needs a part of it
func.func @part(%x: tensor<2100xf32>) -> tensor<9xf32> {
  %y = graph.cumsum %x axis = 0 : tensor<2100xf32>
  %a = graph.slice %y starts = [2] stops = [11] steps = [1] : tensor<2100xf32> -> tensor<9xf32>
  func.return %a : tensor<9xf32>
}

// CHECK-LABEL: func.func @few
// CHECK:         te.kernel "cumsum" (
// WHY:           nothing follows 'cumsum' in blocks: the steps are few
func.func @few(%x: tensor<100xf32>) -> tensor<99xf32> {
  %y = graph.cumsum %x axis = 0 : tensor<100xf32>
  %a = graph.slice %y starts = [1] stops = [100] steps = [1] : tensor<100xf32> -> tensor<99xf32>
  func.return %a : tensor<99xf32>
}

// What reads both the running sums and what is made of them in blocks comes after all of these: its elements lag behind.

// CHECK-LABEL: func.func @of_both
// CHECK:         te.kernel "cumsum_d" (
// CHECK:         te.kernel "e" (
// WHY:           'd' follow 'cumsum' in 32 blocks of 64 steps
func.func @of_both(%x: tensor<2100xf32>) -> (tensor<2093xf32>, tensor<2090xf32>) {
  %y = graph.cumsum %x axis = 0 : tensor<2100xf32>
  %a = graph.slice %y starts = [7] stops = [2100] steps = [1] : tensor<2100xf32> -> tensor<2093xf32>
  %b = graph.slice %y starts = [0] stops = [2093] steps = [1] : tensor<2100xf32> -> tensor<2093xf32>
  %c = graph.sub %a, %b : tensor<2093xf32>, tensor<2093xf32> -> tensor<2093xf32>
  %d = graph.exp %c : tensor<2093xf32>
  %f = graph.slice %d starts = [3] stops = [2093] steps = [1] : tensor<2093xf32> -> tensor<2090xf32>
  %g = graph.slice %y starts = [10] stops = [2100] steps = [1] : tensor<2100xf32> -> tensor<2090xf32>
  %h = graph.slice %d starts = [0] stops = [2090] steps = [1] : tensor<2093xf32> -> tensor<2090xf32>
  %i = graph.mul %f, %g : tensor<2090xf32>, tensor<2090xf32> -> tensor<2090xf32>
  %e = graph.sub %i, %h : tensor<2090xf32>, tensor<2090xf32> -> tensor<2090xf32>
  func.return %d, %e : tensor<2093xf32>, tensor<2090xf32>
}

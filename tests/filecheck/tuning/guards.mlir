// RUN: stepwell-opt %s -p "convert-graph-to-te,te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=zen4},apply-schedule" | filecheck %s

// A roll is a concatenation of two parts. Only the first block of lanes asks which one an element is of: the loop over
// blocks is cut where that is decided, and with it the selection.
// CHECK-LABEL: func.func private @roll.
// CHECK:         loop.if
// CHECK:         arith.select
// CHECK:         loop.for parallel {{.*}} = 0 to 624
// CHECK-NOT:     loop.if
// CHECK-NOT:     arith.select
// CHECK:         func.return
func.func @roll(%x: tensor<20000xf64>) -> tensor<20000xf64> {
  %last = graph.slice %x starts = [19999] stops = [20000] steps = [1] : tensor<20000xf64> -> tensor<1xf64>
  %rest = graph.slice %x starts = [0] stops = [19999] steps = [1] : tensor<20000xf64> -> tensor<19999xf64>
  %moved = graph.concat %last, %rest axis = 0 : tensor<1xf64>, tensor<19999xf64> -> tensor<20000xf64>
  %r = graph.sub %x, %moved : tensor<20000xf64>, tensor<20000xf64> -> tensor<20000xf64>
  func.return %r : tensor<20000xf64>
}

// The rows of a border run apart, and of the rows inside the first and the last block of lanes.
// CHECK-LABEL: func.func private @border.
// CHECK:         loop.for parallel threads {{.*}} = 0 to 254
// CHECK:           loop.if
// CHECK:           loop.for parallel {{.*}} = 0 to 6
// CHECK-NEXT:        loop.for parallel vector
// CHECK-NOT:         loop.if
// CHECK:           loop.for parallel vector
// CHECK-NEXT:        loop.load
// CHECK-NEXT:        loop.if
func.func @border(%x: tensor<256x256xf64>, %y: tensor<254x254xf64>) -> tensor<256x256xf64> {
  %inside = graph.pad %y low = [1, 1] high = [1, 1] value = 0.0 : f64 : tensor<254x254xf64> -> tensor<256x256xf64>
  %r = graph.sub %x, %inside : tensor<256x256xf64>, tensor<256x256xf64> -> tensor<256x256xf64>
  func.return %r : tensor<256x256xf64>
}

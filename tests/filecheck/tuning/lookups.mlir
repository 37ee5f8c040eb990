// RUN: stepwell-opt %s -p "convert-graph-to-te,te-fuse,te-bufferize,convert-te-to-loop,schedule-by-rules{target=zen4},apply-schedule" | filecheck %s

// No instruction gathers bytes: numbers are looked up one by one, four of them written out.
// CHECK-LABEL: func.func private @bytes.
// CHECK:         loop.for parallel "i.lane" {{.*}} attributes {stepwell.unrolled} {
// CHECK-COUNT-4:   memref.load
// CHECK-NOT:     vector
// CHECK:         func.return
func.func @bytes(%table: tensor<256xui8>, %x: tensor<4000xi32>) -> tensor<4000xui8> {
  %r = graph.gather %table, %x axis = 0 : tensor<256xui8>, tensor<4000xi32> -> tensor<4000xui8>
  func.return %r : tensor<4000xui8>
}

// Wider ones are gathered, and so are those with work for lanes beside.
// CHECK-LABEL: func.func private @words.
// CHECK:         loop.for parallel vector "i.lane"
// CHECK-NOT:     stepwell.unrolled
// CHECK-LABEL: func.func private @work.
// CHECK:         loop.for parallel vector "i.lane"
// CHECK-NOT:     stepwell.unrolled
func.func @words(%table: tensor<256xf32>, %x: tensor<4000xi32>) -> tensor<4000xf32> {
  %r = graph.gather %table, %x axis = 0 : tensor<256xf32>, tensor<4000xi32> -> tensor<4000xf32>
  func.return %r : tensor<4000xf32>
}

func.func @work(%table: tensor<256xui8>, %x: tensor<4000xi32>) -> tensor<4000xf32> {
  %r = graph.gather %table, %x axis = 0 : tensor<256xui8>, tensor<4000xi32> -> tensor<4000xui8>
  %s = graph.cast %r : tensor<4000xui8> -> tensor<4000xf32>
  %t = graph.sqrt %s : tensor<4000xf32>
  %u = graph.add %t, %s : tensor<4000xf32>, tensor<4000xf32> -> tensor<4000xf32>
  %v = graph.mul %u, %t : tensor<4000xf32>, tensor<4000xf32> -> tensor<4000xf32>
  func.return %v : tensor<4000xf32>
}

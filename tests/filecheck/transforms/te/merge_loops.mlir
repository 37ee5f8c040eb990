// RUN: stepwell-opt %s -p convert-graph-to-te,te-fuse,te-compute-in-loops,te-merge-loops | filecheck %s
// RUN: stepwell-opt %s --remarks -p convert-graph-to-te,te-fuse,te-compute-in-loops,te-merge-loops 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// Two running sums over as many elements share their steps.

// CHECK-LABEL: func.func @alike
// CHECK-NEXT:    %a, %b = te.kernel "cumsum_cumsum" (%x_1 = %x, %y_1 = %y)
// CHECK-NEXT:      te.loops
// CHECK:             loop.for serial "s" %s = 0 to 9 {
// CHECK:               loop.store {{.*}}, %[[X:.*]][] : memref<f32>
// CHECK:               loop.store {{.*}}, %[[Y:.*]][] : memref<f32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      te.yield
func.func @alike(%x: tensor<9xf32>, %y: tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
  %a = graph.cumsum %x axis = 0 : tensor<9xf32>
  %b = graph.cumsum %y axis = 0 : tensor<9xf32>
  func.return %a, %b : tensor<9xf32>, tensor<9xf32>
}

// Of one that needs the other's sums there is nothing to share.

// CHECK-LABEL: func.func @after
// CHECK:         te.kernel "cumsum"
// CHECK:         te.kernel "cumsum"
// WHY:           not one kernel, 'cumsum' and 'cumsum': what stands between them needs the one and is needed by the other
func.func @after(%x: tensor<9xf32>) -> tensor<9xf32> {
  %a = graph.cumsum %x axis = 0 : tensor<9xf32>
  %b = graph.cumsum %a axis = 0 : tensor<9xf32>
  func.return %b : tensor<9xf32>
}

// CHECK-LABEL: func.func @lengths
// CHECK:         te.kernel "cumsum"
// CHECK:         te.kernel "cumsum"
// WHY:           not one kernel, 'cumsum' and 'cumsum': their loops have different bounds
func.func @lengths(%x: tensor<9xf32>, %y: tensor<8xf32>) -> (tensor<9xf32>, tensor<8xf32>) {
  %a = graph.cumsum %x axis = 0 : tensor<9xf32>
  %b = graph.cumsum %y axis = 0 : tensor<8xf32>
  func.return %a, %b : tensor<9xf32>, tensor<8xf32>
}

// More states than hide each other's waits are not brought together.

// CHECK-LABEL: func.func @many
// CHECK:         te.kernel "cumsum_cumsum"
// CHECK:         te.kernel "cumsum"
// WHY:           their 12 states are more than the 8 that hide each other's waits
func.func @many(%x: tensor<8x9xf32>, %y: tensor<8x9xf32>, %z: tensor<8x9xf32>) -> (tensor<8x9xf32>, tensor<8x9xf32>, tensor<8x9xf32>) {
  %a = graph.cumsum %x axis = 1 : tensor<8x9xf32>
  %b = graph.cumsum %y axis = 1 : tensor<8x9xf32>
  %c = graph.cumsum %z axis = 1 : tensor<8x9xf32>
  func.return %a, %b, %c : tensor<8x9xf32>, tensor<8x9xf32>, tensor<8x9xf32>
}

// Sums by equal groups read these once.

// CHECK-LABEL: func.func @groups
// CHECK:         %a, %b = te.kernel "scatter_elements_scatter_elements" (%u_1 = %u, %z_1 = %z, %g_1 = %g, %v_1 = %v)
// CHECK-NEXT:      %0, %1 = te.loops {{.*}} (%u_2 = %u_1, %g_2 = %g_1, %v_2 = %v_1) -> (%{{.*}} = %z_1, %{{.*}} = %z_1)
// CHECK:           loop.load %g_2[
// CHECK-NOT:       loop.load %g_2[
// CHECK:         te.yield
func.func @groups(%g: tensor<100xi64>, %u: tensor<100xf32>, %v: tensor<100xf32>, %z: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %a = graph.scatter_elements %z, %g, %u axis = 0 reduction = "add" : tensor<7xf32>, tensor<100xi64>, tensor<100xf32> -> tensor<7xf32>
  %b = graph.scatter_elements %z, %g, %v axis = 0 reduction = "add" : tensor<7xf32>, tensor<100xi64>, tensor<100xf32> -> tensor<7xf32>
  func.return %a, %b : tensor<7xf32>, tensor<7xf32>
}

// By groups of others there is nothing to read once.

// CHECK-LABEL: func.func @other_groups
// CHECK-NOT:     scatter_elements_scatter_elements
// WHY:           not one kernel, 'scatter_elements' and 'scatter_elements': they update computed places, and read no tensor that both need
func.func @other_groups(%g: tensor<100xi64>, %h: tensor<100xi64>, %u: tensor<100xf32>, %v: tensor<100xf32>, %z: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xf32>) {
  %a = graph.scatter_elements %z, %g, %u axis = 0 reduction = "add" : tensor<7xf32>, tensor<100xi64>, tensor<100xf32> -> tensor<7xf32>
  %b = graph.scatter_elements %z, %h, %v axis = 0 reduction = "add" : tensor<7xf32>, tensor<100xi64>, tensor<100xf32> -> tensor<7xf32>
  func.return %a, %b : tensor<7xf32>, tensor<7xf32>
}

// RUN: stepwell-opt %s -p 'graph-compute-by-strips{threads=1 target=zen4}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-compute-by-strips{threads=1 target=zen4}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'graph-compute-by-strips{threads=1 target=zen4 opt=quick}' | filecheck %s --check-prefix QUICK
// QUICK-NOT: graph.concat

// Rows that windows of two strips share are kept from the first; the first strip alone has a border above it.
// REMARK: 3 layers computed by [[COUNT:[0-9]+]] strips of [[ROWS:[0-9]+]] rows: predicted to take {{.*}}, layer by layer
// CHECK-LABEL: func.func @inverted_residual
// CHECK:         %[[A:.*]] = graph.slice %x starts = [0, 0, 0, 0]
// CHECK-NEXT:    %[[E:.*]] = graph.conv %[[A]], %expand
// CHECK-NEXT:    %[[F:.*]] = graph.relu %[[E]]
// CHECK-NEXT:    %[[D:.*]] = graph.conv %[[F]], %depthwise {{.*}} pad = [1, 1], [0, 1] groups = 96
// CHECK-NEXT:    graph.conv %[[D]], %project
// CHECK-NEXT:    %[[B:.*]] = graph.slice %x
// CHECK-NEXT:    %[[G:.*]] = graph.conv %[[B]], %expand
// CHECK-NEXT:    %[[H:.*]] = graph.relu %[[G]]
// CHECK-NEXT:    %[[K:.*]] = graph.slice %[[F]]{{.*}} -> tensor<1x96x1x112xf32>
// CHECK-NEXT:    %[[J:.*]] = graph.concat %[[K]], %[[H]] axis = 2
// CHECK-NEXT:    graph.conv %[[J]], %depthwise {{.*}} pad = [0, 1], [0, 1] groups = 96
// CHECK:         %[[R:.*]] = graph.concat {{.*}} -> tensor<1x24x56x56xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @inverted_residual(%x: tensor<1x16x112x112xf32>) -> tensor<1x24x56x56xf32> {
  %expand = graph.constant dense<0.5> : tensor<96x16x1x1xf32>
  %depthwise = graph.constant dense<0.5> : tensor<96x1x3x3xf32>
  %project = graph.constant dense<0.5> : tensor<24x96x1x1xf32>
  %e = graph.conv %x, %expand strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x16x112x112xf32>, tensor<96x16x1x1xf32> -> tensor<1x96x112x112xf32>
  %f = graph.relu %e : tensor<1x96x112x112xf32>
  %d = graph.conv %f, %depthwise strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 96 : tensor<1x96x112x112xf32>, tensor<96x1x3x3xf32> -> tensor<1x96x56x56xf32>
  %p = graph.conv %d, %project strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x96x56x56xf32>, tensor<24x96x1x1xf32> -> tensor<1x24x56x56xf32>
  func.return %p : tensor<1x24x56x56xf32>
}

// The image between fits the second-level cache; one is read by others too; weights are not known.
// REMARK: 2 layers computed each as a whole: no strips are predicted to take less
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.concat
func.func @others(%s: tensor<1x8x14x14xf32>, %x: tensor<1x16x112x112xf32>, %v: tensor<96x1x3x3xf32>) {
  %expand = graph.constant dense<0.5> : tensor<96x16x1x1xf32>
  %depthwise = graph.constant dense<0.5> : tensor<96x1x3x3xf32>
  %small = graph.constant dense<0.5> : tensor<8x8x1x1xf32>
  %0 = graph.conv %s, %small strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x8x14x14xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x14x14xf32>
  %1 = graph.conv %0, %small strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x8x14x14xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x14x14xf32>
  %2 = graph.conv %x, %expand strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x16x112x112xf32>, tensor<96x16x1x1xf32> -> tensor<1x96x112x112xf32>
  %3 = graph.conv %2, %depthwise strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 96 : tensor<1x96x112x112xf32>, tensor<96x1x3x3xf32> -> tensor<1x96x56x56xf32>
  %4 = graph.relu %2 : tensor<1x96x112x112xf32>
  %5 = graph.conv %4, %v strides = [2, 2] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 96 : tensor<1x96x112x112xf32>, tensor<96x1x3x3xf32> -> tensor<1x96x56x56xf32>
  func.return
}

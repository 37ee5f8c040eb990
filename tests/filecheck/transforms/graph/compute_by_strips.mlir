// RUN: stepwell-opt %s -p 'graph-compute-by-strips{threads=1 target=sapphire-rapids}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-compute-by-strips{threads=1 target=sapphire-rapids}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p 'graph-compute-by-strips{threads=1 target=sapphire-rapids opt=quick}' | filecheck %s --check-prefix QUICK
// QUICK-NOT: graph.concat

// Rows that windows of two strips share are kept from the first. The border is among the rows: all strips are alike.
// REMARK: 3 layers computed by [[COUNT:[0-9]+]] strips of [[ROWS:[0-9]+]] rows: predicted to take {{.*}}, layer by layer
// CHECK-LABEL: func.func @inverted_residual
// CHECK:         %[[A:.*]] = graph.slice %x starts = [0, 0, 0, 0]
// CHECK-NEXT:    %[[E:.*]] = graph.conv %[[A]], %expand
// CHECK-NEXT:    %[[R0:.*]] = graph.relu %[[E]]
// CHECK-NEXT:    %[[F:.*]] = graph.pad %[[R0]] low = [0, 0, 1, 0] high = [0, 0, 0, 0]
// CHECK-NEXT:    %[[D:.*]] = graph.conv %[[F]], %depthwise {{.*}} pad = [0, 1], [0, 1] groups = 144 : [[DEPTHWISE:.*]]
// CHECK-NEXT:    graph.conv %[[D]], %project {{.*}} : [[PROJECT:.*]]
// CHECK-NEXT:    %[[B:.*]] = graph.slice %x
// CHECK-NEXT:    %[[G:.*]] = graph.conv %[[B]], %expand {{.*}} : [[EXPAND:.*]]
// CHECK-NEXT:    %[[H:.*]] = graph.relu %[[G]]
// CHECK-NEXT:    %[[K:.*]] = graph.slice %[[F]]{{.*}} -> tensor<1x144x2x56xf32>
// CHECK-NEXT:    %[[J:.*]] = graph.concat %[[K]], %[[H]] axis = 2
// CHECK-NEXT:    graph.conv %[[J]], %depthwise {{.*}} pad = [0, 1], [0, 1] groups = 144 : [[DEPTHWISE]]
// CHECK:         graph.conv %{{.*}}, %expand {{.*}} : [[EXPAND]]
// CHECK:         %[[L:.*]] = graph.pad %{{.*}} low = [0, 0, 0, 0] high = [0, 0, 1, 0]
// CHECK-NEXT:    %[[M:.*]] = graph.conv %[[L]], %depthwise {{.*}} pad = [0, 1], [0, 1] groups = 144 : [[DEPTHWISE]]
// CHECK-NEXT:    %[[N:.*]] = graph.conv %[[M]], %project {{.*}} : [[PROJECT]]
// CHECK-NEXT:    %[[R:.*]] = graph.concat {{.*}}%[[N]] axis = 2 {{.*}} -> tensor<1x24x56x56xf32>
// CHECK-NEXT:    func.return %[[R]]
func.func @inverted_residual(%x: tensor<1x24x56x56xf32>) -> tensor<1x24x56x56xf32> {
  %expand = graph.constant dense<0.5> : tensor<144x24x1x1xf32>
  %depthwise = graph.constant dense<0.5> : tensor<144x1x3x3xf32>
  %project = graph.constant dense<0.5> : tensor<24x144x1x1xf32>
  %e = graph.conv %x, %expand strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x24x56x56xf32>, tensor<144x24x1x1xf32> -> tensor<1x144x56x56xf32>
  %f = graph.relu %e : tensor<1x144x56x56xf32>
  %d = graph.conv %f, %depthwise strides = [1, 1] dilations = [1, 1] pad = [1, 1], [1, 1] groups = 144 : tensor<1x144x56x56xf32>, tensor<144x1x3x3xf32> -> tensor<1x144x56x56xf32>
  %p = graph.conv %d, %project strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x144x56x56xf32>, tensor<24x144x1x1xf32> -> tensor<1x24x56x56xf32>
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

// RUN: stepwell-opt %s -p 'graph-outline-repeats{operations=3 saved=6}' | filecheck %s
// RUN: stepwell-opt %s -p 'graph-outline-repeats{operations=3 saved=6},convert-graph-to-te,te-fuse,te-inline-functions' | filecheck %s --check-prefix INLINED
// RUN: stepwell-opt %s -p 'graph-outline-repeats{operations=3 saved=6}' --remarks 2>&1 | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p graph-outline-repeats | filecheck %s --check-prefix SHORT

// REMARK: 3 times the same 3 operations: decided about once
// REMARK: 3 times the same 3 operations: decided about once
// REMARK: 3 times the same 4 operations: decided about once
// REMARK-COUNT-3: 3 times the same 3 operations: decided about once
// REMARK-NOT: times the same

// A short program is left as it is.
// SHORT-NOT: call

// Three layers: the weights are arguments that are marked, and what all have in common stands in the function.
// CHECK-LABEL: func.func private @layers.part0
// CHECK-SAME:      (%x: tensor<4x4xf32>, %v: tensor<4x4xf32> {stepwell.constant}, %b: tensor<4xf32>) -> tensor<4x4xf32> attributes {stepwell.repeated} {
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %x, %v
// CHECK-NEXT:    %[[S:.*]] = graph.add %[[P]], %b
// CHECK-NEXT:    %[[ZERO:.*]] = graph.constant dense<0.000000e+00>
// CHECK-NEXT:    %[[R:.*]] = graph.maximum %[[S]], %[[ZERO]]
// CHECK-NEXT:    func.return %[[R]]
// CHECK-LABEL: func.func @layers
// CHECK:         %[[ONE:.*]] = func.call @layers.part0(%x, %v, %b)
// CHECK:         %[[TWO:.*]] = func.call @layers.part0(%[[ONE]], %p2, %b)
// CHECK:         %[[THREE:.*]] = func.call @layers.part0(%[[TWO]], %v, %b)
// CHECK:         func.return %[[THREE]]

// Each kernel has its own weights again.
// INLINED-NOT: func.func private
// INLINED-LABEL: func.func @layers(
// INLINED-NEXT:    %[[ONE:.*]] = te.kernel "{{.*}}" (%{{.*}} = %x, %{{.*}} = %b)
// INLINED-NEXT:      arith.constant dense_resource<v>
// INLINED:         %[[TWO:.*]] = te.kernel "{{.*}}" (%{{.*}} = %[[ONE]], %{{.*}} = %b)
// INLINED-NEXT:      arith.constant dense_resource<w>
// INLINED:         %[[THREE:.*]] = te.kernel "{{.*}}" (%{{.*}} = %[[TWO]], %{{.*}} = %b)
// INLINED-NEXT:      arith.constant dense_resource<v>
// INLINED:         func.return %[[THREE]]
func.func @layers(%x: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %v = graph.constant dense_resource<v> : tensor<4x4xf32>
  %p1 = graph.matmul %x, %v : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s1 = graph.add %p1, %b : tensor<4x4xf32>, tensor<4xf32> -> tensor<4x4xf32>
  %r1 = graph.maximum %s1, %zero : tensor<4x4xf32>, tensor<f32> -> tensor<4x4xf32>
  %p2 = graph.constant dense_resource<w> : tensor<4x4xf32>
  %q2 = graph.matmul %r1, %p2 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s2 = graph.add %q2, %b : tensor<4x4xf32>, tensor<4xf32> -> tensor<4x4xf32>
  %r2 = graph.maximum %s2, %zero : tensor<4x4xf32>, tensor<f32> -> tensor<4x4xf32>
  %p3 = graph.matmul %r2, %v : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s3 = graph.add %p3, %b : tensor<4x4xf32>, tensor<4xf32> -> tensor<4x4xf32>
  %r3 = graph.maximum %s3, %zero : tensor<4x4xf32>, tensor<f32> -> tensor<4x4xf32>
  func.return %r3 : tensor<4x4xf32>
}

// Steps that are element-wise are one kernel: a cut would store what passes it.
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT:     call
func.func @elementwise(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %a1 = graph.mul %x, %x : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %b1 = graph.add %a1, %c : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %c1 = graph.tanh %b1 : tensor<8xf32>
  %a2 = graph.mul %c1, %c1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %b2 = graph.add %a2, %c : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %c2 = graph.tanh %b2 : tensor<8xf32>
  %a3 = graph.mul %c2, %c2 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %b3 = graph.add %a3, %c : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %c3 = graph.tanh %b3 : tensor<8xf32>
  func.return %c3 : tensor<8xf32>
}

// A chain over rows goes on over every cut between its steps: no product needs what passes one.
// CHECK-LABEL: func.func @rows
// CHECK-NOT:     call
func.func @rows(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %a1 = graph.sum %x axes = [1] keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
  %b1 = graph.div %x, %a1 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  %c1 = graph.exp %b1 : tensor<4x8xf32>
  %a2 = graph.sum %c1 axes = [1] keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
  %b2 = graph.div %c1, %a2 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  %c2 = graph.exp %b2 : tensor<4x8xf32>
  %a3 = graph.sum %c2 axes = [1] keepdims : tensor<4x8xf32> -> tensor<4x1xf32>
  %b3 = graph.div %c2, %a3 : tensor<4x8xf32>, tensor<4x1xf32> -> tensor<4x8xf32>
  %c3 = graph.exp %b3 : tensor<4x8xf32>
  func.return %c3 : tensor<4x8xf32>
}

// The second step adds what the first multiplies: these are no parts of one repeat.
// CHECK-LABEL: func.func @other_operands
// CHECK-NOT:     call
// CHECK:         func.return
func.func @other_operands(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p1 = graph.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s1 = graph.add %p1, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %t1 = graph.tanh %s1 : tensor<4x4xf32>
  %p2 = graph.matmul %t1, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s2 = graph.add %p2, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %t2 = graph.tanh %s2 : tensor<4x4xf32>
  %p3 = graph.matmul %t2, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s3 = graph.add %p3, %t2 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %t3 = graph.tanh %s3 : tensor<4x4xf32>
  func.return %t3 : tensor<4x4xf32>
}

// Batch normalisation is element-wise once it is decomposed: it finishes the product before it, and no cut parts them.
// CHECK-LABEL: func.func private @normalized.part0
// CHECK-NEXT:    %[[P:.*]] = graph.matmul
// CHECK-NEXT:    %[[N:.*]] = graph.batch_norm %[[P]]
// CHECK-NEXT:    %[[T:.*]] = graph.tanh %[[N]]
// CHECK-NEXT:    func.return %[[T]]
func.func @normalized(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %c: tensor<4xf32>) -> tensor<4x4xf32> {
  %p1 = graph.matmul %x, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %n1 = graph.batch_norm %p1, %c, %c, %c, %c axis = 1 epsilon = 1.000000e-05 : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %t1 = graph.tanh %n1 : tensor<4x4xf32>
  %p2 = graph.matmul %t1, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %n2 = graph.batch_norm %p2, %c, %c, %c, %c axis = 1 epsilon = 1.000000e-05 : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %t2 = graph.tanh %n2 : tensor<4x4xf32>
  %p3 = graph.matmul %t2, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %n3 = graph.batch_norm %p3, %c, %c, %c, %c axis = 1 epsilon = 1.000000e-05 : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  %t3 = graph.tanh %n3 : tensor<4x4xf32>
  func.return %t3 : tensor<4x4xf32>
}

// What a layer normalises at its end is stored, as a product and the sum after it need it, and these begin the next layer.
// CHECK-LABEL: func.func private @normalized_last.part0
// CHECK-NEXT:    %[[P:.*]] = graph.matmul
// CHECK-NEXT:    %[[R:.*]] = graph.add %[[P]]
// CHECK-NEXT:    %[[S:.*]] = graph.sum %[[R]]
// CHECK-NEXT:    %[[D:.*]] = graph.div %[[R]], %[[S]]
// CHECK-NEXT:    func.return %[[D]]
func.func @normalized_last(%d0: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p1 = graph.matmul %d0, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r1 = graph.add %p1, %d0 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s1 = graph.sum %r1 axes = [1] keepdims : tensor<4x4xf32> -> tensor<4x1xf32>
  %d1 = graph.div %r1, %s1 : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  %p2 = graph.matmul %d1, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r2 = graph.add %p2, %d1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s2 = graph.sum %r2 axes = [1] keepdims : tensor<4x4xf32> -> tensor<4x1xf32>
  %d2 = graph.div %r2, %s2 : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  %p3 = graph.matmul %d2, %w : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %r3 = graph.add %p3, %d2 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s3 = graph.sum %r3 axes = [1] keepdims : tensor<4x4xf32> -> tensor<4x1xf32>
  %d3 = graph.div %r3, %s3 : tensor<4x4xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  func.return %d3 : tensor<4x4xf32>
}

// Weights that are smaller than the rows could be read again for each block of these: a kernel might go on over the cut.
// CHECK-LABEL: func.func @many_rows
// CHECK-NOT:     call
// CHECK:         func.return
func.func @many_rows(%d0: tensor<64x4xf32>, %w: tensor<4x4xf32>) -> tensor<64x4xf32> {
  %p1 = graph.matmul %d0, %w : tensor<64x4xf32>, tensor<4x4xf32> -> tensor<64x4xf32>
  %r1 = graph.add %p1, %d0 : tensor<64x4xf32>, tensor<64x4xf32> -> tensor<64x4xf32>
  %s1 = graph.sum %r1 axes = [1] keepdims : tensor<64x4xf32> -> tensor<64x1xf32>
  %d1 = graph.div %r1, %s1 : tensor<64x4xf32>, tensor<64x1xf32> -> tensor<64x4xf32>
  %p2 = graph.matmul %d1, %w : tensor<64x4xf32>, tensor<4x4xf32> -> tensor<64x4xf32>
  %r2 = graph.add %p2, %d1 : tensor<64x4xf32>, tensor<64x4xf32> -> tensor<64x4xf32>
  %s2 = graph.sum %r2 axes = [1] keepdims : tensor<64x4xf32> -> tensor<64x1xf32>
  %d2 = graph.div %r2, %s2 : tensor<64x4xf32>, tensor<64x1xf32> -> tensor<64x4xf32>
  %p3 = graph.matmul %d2, %w : tensor<64x4xf32>, tensor<4x4xf32> -> tensor<64x4xf32>
  %r3 = graph.add %p3, %d2 : tensor<64x4xf32>, tensor<64x4xf32> -> tensor<64x4xf32>
  %s3 = graph.sum %r3 axes = [1] keepdims : tensor<64x4xf32> -> tensor<64x1xf32>
  %d3 = graph.div %r3, %s3 : tensor<64x4xf32>, tensor<64x1xf32> -> tensor<64x4xf32>
  func.return %d3 : tensor<64x4xf32>
}

// Layers of convolutions: of weights of windows that read a border it is said whether those of all layers are finite.
// CHECK-LABEL: func.func private @windows.part0
// CHECK-SAME:      tensor<4x1x2x2xf32> {stepwell.constant, stepwell.finite}
// CHECK-LABEL: func.func private @infinite.part0
// CHECK-SAME:      tensor<4x1x2x2xf32> {stepwell.constant},
// CHECK-LABEL: func.func private @pixels.part0
// CHECK-SAME:      tensor<4x4x1x1xf32> {stepwell.constant},
func.func @windows(%x: tensor<1x4x5x5xf32>, %b: tensor<5xf32>) -> tensor<1x4x5x5xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %v = graph.constant dense_resource<v> : tensor<4x1x2x2xf32>
  %w = graph.constant dense_resource<w> : tensor<4x1x2x2xf32>
  %p0 = graph.conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [1, 1], [0, 0] groups = 4 : tensor<1x4x5x5xf32>, tensor<4x1x2x2xf32> -> tensor<1x4x5x5xf32>
  %s0 = graph.add %p0, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r0 = graph.maximum %s0, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  %p1 = graph.conv %r0, %w strides = [1, 1] dilations = [1, 1] pad = [1, 1], [0, 0] groups = 4 : tensor<1x4x5x5xf32>, tensor<4x1x2x2xf32> -> tensor<1x4x5x5xf32>
  %s1 = graph.add %p1, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r1 = graph.maximum %s1, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  %p2 = graph.conv %r1, %v strides = [1, 1] dilations = [1, 1] pad = [1, 1], [0, 0] groups = 4 : tensor<1x4x5x5xf32>, tensor<4x1x2x2xf32> -> tensor<1x4x5x5xf32>
  %s2 = graph.add %p2, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r2 = graph.maximum %s2, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  func.return %r2 : tensor<1x4x5x5xf32>
}

func.func @infinite(%x: tensor<1x4x5x5xf32>, %b: tensor<5xf32>) -> tensor<1x4x5x5xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %v = graph.constant dense_resource<v> : tensor<4x1x2x2xf32>
  %u = graph.constant dense_resource<u> : tensor<4x1x2x2xf32>
  %p0 = graph.conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [1, 1], [0, 0] groups = 4 : tensor<1x4x5x5xf32>, tensor<4x1x2x2xf32> -> tensor<1x4x5x5xf32>
  %s0 = graph.add %p0, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r0 = graph.maximum %s0, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  %p1 = graph.conv %r0, %u strides = [1, 1] dilations = [1, 1] pad = [1, 1], [0, 0] groups = 4 : tensor<1x4x5x5xf32>, tensor<4x1x2x2xf32> -> tensor<1x4x5x5xf32>
  %s1 = graph.add %p1, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r1 = graph.maximum %s1, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  %p2 = graph.conv %r1, %v strides = [1, 1] dilations = [1, 1] pad = [1, 1], [0, 0] groups = 4 : tensor<1x4x5x5xf32>, tensor<4x1x2x2xf32> -> tensor<1x4x5x5xf32>
  %s2 = graph.add %p2, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r2 = graph.maximum %s2, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  func.return %r2 : tensor<1x4x5x5xf32>
}

func.func @pixels(%x: tensor<1x4x5x5xf32>, %b: tensor<5xf32>) -> tensor<1x4x5x5xf32> {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %v = graph.constant dense_resource<v> : tensor<4x4x1x1xf32>
  %w = graph.constant dense_resource<w> : tensor<4x4x1x1xf32>
  %p0 = graph.conv %x, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x4x5x5xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x5x5xf32>
  %s0 = graph.add %p0, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r0 = graph.maximum %s0, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  %p1 = graph.conv %r0, %w strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x4x5x5xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x5x5xf32>
  %s1 = graph.add %p1, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r1 = graph.maximum %s1, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  %p2 = graph.conv %r1, %v strides = [1, 1] dilations = [1, 1] pad = [0, 0], [0, 0] groups = 1 : tensor<1x4x5x5xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x5x5xf32>
  %s2 = graph.add %p2, %b : tensor<1x4x5x5xf32>, tensor<5xf32> -> tensor<1x4x5x5xf32>
  %r2 = graph.maximum %s2, %zero : tensor<1x4x5x5xf32>, tensor<f32> -> tensor<1x4x5x5xf32>
  func.return %r2 : tensor<1x4x5x5xf32>
}

{-#
  dialect_resources: {
    builtin: {
      v: "0x400000000000803F000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
      u: "0x400000000000807F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F0000803F",
      w: "0x40000000000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F000000000000803F"
    }
  }
#-}

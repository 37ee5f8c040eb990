// RUN: stepwell-opt %s -p graph-recognize-activations | filecheck %s
// RUN: stepwell-opt %s -p 'graph-recognize-activations{fp=strict}' | filecheck %s --check-prefix STRICT

// STRICT-NOT: graph.silu
// STRICT-NOT: graph.gelu

// As PyTorch's exporters write it before opset 20: by a division, and the half last.
// CHECK-LABEL: func.func @gelu
// CHECK-NEXT:    %y = graph.gelu %x approximate = "none"
// CHECK-NEXT:    func.return %y
func.func @gelu(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %root = graph.constant dense<1.41421354> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.div %x, %root : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %1 = graph.erf %0 : tensor<2x3xf32>
  %2 = graph.add %1, %one : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %3 = graph.mul %x, %2 : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %y = graph.mul %3, %half : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}

// The same function with its factors in another order, on f64, with numbers to all their digits.
// CHECK-LABEL: func.func @gelu_f64
// CHECK-NEXT:    graph.gelu %x approximate = "none"
func.func @gelu_f64(%x: tensor<3xf64>) -> tensor<3xf64> {
  %root = graph.constant dense<0.70710678118654752> : tensor<f64>
  %half = graph.constant dense<0.5> : tensor<f64>
  %one = graph.constant dense<1.0> : tensor<f64>
  %0 = graph.mul %root, %x : tensor<f64>, tensor<3xf64> -> tensor<3xf64>
  %1 = graph.erf %0 : tensor<3xf64>
  %2 = graph.add %one, %1 : tensor<f64>, tensor<3xf64> -> tensor<3xf64>
  %3 = graph.mul %half, %2 : tensor<f64>, tensor<3xf64> -> tensor<3xf64>
  %4 = graph.mul %3, %x : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  func.return %4 : tensor<3xf64>
}

// CHECK-LABEL: func.func @gelu_tanh
// CHECK-NEXT:    graph.gelu %x approximate = "tanh"
func.func @gelu_tanh(%x: tensor<3xf32>) -> tensor<3xf32> {
  %cube = graph.constant dense<0.044715> : tensor<f32>
  %scale = graph.constant dense<0.7978845608028654> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.mul %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %1 = graph.mul %0, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %2 = graph.mul %1, %cube : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %3 = graph.add %x, %2 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %4 = graph.mul %3, %scale : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %5 = graph.tanh %4 : tensor<3xf32>
  %6 = graph.add %5, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %7 = graph.mul %half, %x : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  %8 = graph.mul %7, %6 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %8 : tensor<3xf32>
}

// CHECK-LABEL: func.func @silu
// CHECK-NEXT:    graph.silu %x
// CHECK-NEXT:    graph.silu %x
// CHECK-NEXT:    graph.sigmoid %x
// CHECK-NEXT:    func.return
func.func @silu(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.sigmoid %x : tensor<3xf32>
  %1 = graph.mul %0, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %2 = graph.neg %x : tensor<3xf32>
  %3 = graph.exp %2 : tensor<3xf32>
  %4 = graph.add %3, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %5 = graph.div %x, %4 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %6 = graph.neg %x : tensor<3xf32>
  %7 = graph.exp %6 : tensor<3xf32>
  %8 = graph.add %7, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %9 = graph.reciprocal %8 : tensor<3xf32>
  func.return %1, %5, %9 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Numbers that are near, another tensor, and a part that is needed itself.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.gelu
// CHECK-NOT:     graph.silu
// CHECK:         func.return
func.func @others(%x: tensor<3xf32>, %z: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %root = graph.constant dense<1.4142> : tensor<f32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.div %x, %root : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %1 = graph.erf %0 : tensor<3xf32>
  %2 = graph.add %1, %one : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %3 = graph.mul %x, %2 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %4 = graph.mul %3, %half : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %5 = graph.sigmoid %z : tensor<3xf32>
  %6 = graph.mul %5, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %7 = graph.sigmoid %x : tensor<3xf32>
  %8 = graph.mul %7, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %4, %6, %7, %8 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// Softplus as it is written plainly, and as ONNX's is read; then of another tensor, and by a logarithm to another base.
// CHECK-LABEL: func.func @mish
// CHECK-NEXT:    graph.mish %x
// CHECK-NEXT:    graph.mish %x
// CHECK-NOT:     graph.mish
// CHECK:         func.return
func.func @mish(%x: tensor<3xf32>, %z: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.exp %x : tensor<3xf32>
  %1 = graph.log1p %0 : tensor<3xf32>
  %2 = graph.tanh %1 : tensor<3xf32>
  %3 = graph.mul %2, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %4 = graph.abs %x : tensor<3xf32>
  %5 = graph.neg %4 : tensor<3xf32>
  %6 = graph.exp %5 : tensor<3xf32>
  %7 = graph.add %one, %6 : tensor<f32>, tensor<3xf32> -> tensor<3xf32>
  %8 = graph.log %7 : tensor<3xf32>
  %9 = graph.relu %x : tensor<3xf32>
  %10 = graph.add %9, %8 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %11 = graph.tanh %10 : tensor<3xf32>
  %12 = graph.mul %x, %11 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %13 = graph.exp %z : tensor<3xf32>
  %14 = graph.log1p %13 : tensor<3xf32>
  %15 = graph.tanh %14 : tensor<3xf32>
  %16 = graph.mul %x, %15 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %17 = graph.exp %x : tensor<3xf32>
  %18 = graph.log2 %17 : tensor<3xf32>
  %19 = graph.tanh %18 : tensor<3xf32>
  %20 = graph.mul %x, %19 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  func.return %3, %12, %16, %20 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// The product before the division, the division before the product, and the factor in between; then another bound.
// CHECK-LABEL: func.func @hard_swish
// CHECK-COUNT-3: graph.hard_sigmoid %x alpha
// CHECK-NOT:     graph.hard_sigmoid
// CHECK:         func.return
func.func @hard_swish(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %three = graph.constant dense<3.0> : tensor<f32>
  %six = graph.constant dense<6.0> : tensor<f32>
  %sixth = graph.constant dense<0.166666667> : tensor<f32>
  %0 = graph.add %x, %three : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %1 = graph.clip %0 min = 0.0 : f32 max = 6.0 : f32 : tensor<3xf32>
  %2 = graph.mul %x, %1 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %3 = graph.div %2, %six : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %4 = graph.add %x, %three : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %5 = graph.clip %4 min = 0.0 : f32 max = 6.0 : f32 : tensor<3xf32>
  %6 = graph.div %5, %six : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %7 = graph.mul %x, %6 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %8 = graph.add %x, %three : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %9 = graph.clip %8 min = 0.0 : f32 max = 6.0 : f32 : tensor<3xf32>
  %10 = graph.mul %x, %sixth : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %11 = graph.mul %9, %10 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %12 = graph.add %x, %three : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  %13 = graph.clip %12 min = 0.0 : f32 max = 5.0 : f32 : tensor<3xf32>
  %14 = graph.mul %x, %13 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %15 = graph.div %14, %six : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  func.return %3, %7, %11, %15 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

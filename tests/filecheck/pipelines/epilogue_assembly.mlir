// RUN: stepwell compile %s --target x86-64-v3 --threads 1 --emit asm -o - | filecheck %s --check-prefix=V3
// RUN: stepwell compile %s --target x86-64-v4 --threads 1 --emit asm -o - | filecheck %s --check-prefix=V4
// RUN: stepwell compile %s --target neoverse-n1 --threads 1 --emit asm -o - | filecheck %s --check-prefix=NEON

// A layer with gelu, then softmax: functions are polynomials in vectors, nothing calls a library, and a row is
// divided by its sum through one reciprocal.

// V3-NOT:   callq {{exp|erf|tanh}}
// V3:       vfmadd231ps {{.*}}, %ymm
// V3-NOT:   callq {{exp|erf|tanh}}
// V3:       vmaxps {{.*}}, %ymm
// V3-NOT:   callq {{exp|erf|tanh}}
// V3:       vdivss {{.*}}, %xmm
// V3-NOT:   vdivps
// V3:       vmulps {{.*}}, %ymm
// V3-NOT:   callq {{exp|erf|tanh}}

// V4-NOT:   callq {{exp|erf|tanh}}
// V4:       vfmadd231ps {{.*}}, %zmm
// V4-NOT:   callq {{exp|erf|tanh}}
// V4:       vmaxps {{.*}}, %{{[yz]}}mm
// V4-NOT:   callq {{exp|erf|tanh}}

// NEON-NOT: bl {{exp|erf|tanh}}
// NEON:     fmla v{{[0-9]+}}.4s
// NEON-NOT: bl {{exp|erf|tanh}}
// NEON:     fmax v{{[0-9]+}}.4s
// NEON-NOT: bl {{exp|erf|tanh}}
// NEON:     fdiv s{{[0-9]+}}
// NEON-NOT: fdiv v
// NEON:     fmul v{{[0-9]+}}.4s
func.func @main(%x: tensor<96x64xf32>, %w: tensor<64x128xf32>, %b: tensor<128xf32>) -> tensor<96x128xf32> {
  %matmul = graph.matmul %x, %w : tensor<96x64xf32>, tensor<64x128xf32> -> tensor<96x128xf32>
  %add = graph.add %matmul, %b : tensor<96x128xf32>, tensor<128xf32> -> tensor<96x128xf32>
  %gelu = graph.gelu %add approximate = "none" : tensor<96x128xf32>
  %softmax = graph.softmax %gelu axis = 1 : tensor<96x128xf32>
  func.return %softmax : tensor<96x128xf32>
}

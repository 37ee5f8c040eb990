// RUN: stepwell compile %s --target x86-64-v3 --threads 1 --emit asm -o - | filecheck %s --check-prefix=V3
// RUN: stepwell compile %s --target x86-64-v3 --threads 1 --emit asm -o - | filecheck %s --check-prefix=V3-STACK
// RUN: stepwell compile %s --target x86-64-v4 --threads 1 --emit asm -o - | filecheck %s --check-prefix=V4
// RUN: stepwell compile %s --target x86-64-v4 --threads 1 --emit asm -o - | filecheck %s --check-prefix=V4-STACK
// RUN: stepwell compile %s --target neoverse-n1 --threads 1 --emit asm -o - | filecheck %s --check-prefix=NEON
// RUN: stepwell compile %s --target neoverse-n1 --threads 1 --emit asm -o - | filecheck %s --check-prefix=NEON-STACK

// The innermost loop of a matrix product: accumulators stay in registers, of which none is spilled.

// Six rows of two vectors: twelve multiply-adds a step, between registers all of them, and two steps written out.
// V3-COUNT-24:   vfmadd231ps %ymm{{[0-9]+}}, %ymm{{[0-9]+}}, %ymm{{[0-9]+$}}
// V3-NOT:        vfmadd
// V3:            {{j(ne|b)}}

// V3-STACK:         vbroadcastss {{.*}}, %ymm
// V3-STACK-NOT:     (%rsp)
// V3-STACK:         {{j(ne|b)}}

// Fourteen rows of two, and two steps.
// V4-COUNT-56:   vfmadd231ps %zmm{{[0-9]+}}, %zmm{{[0-9]+}}, %zmm{{[0-9]+$}}
// V4-NOT:        vfmadd
// V4:            {{j(ne|b)}}

// V4-STACK:         vbroadcastss {{.*}}, %zmm
// V4-STACK-NOT:     (%rsp)
// V4-STACK:         {{j(ne|b)}}

// Thirteen rows of two.
// NEON-COUNT-26:   fmla v{{[0-9]+}}.4s, v{{[0-9]+}}.4s, v{{[0-9]+}}.
// NEON-NOT:        fmla
// NEON:            b.{{ne|lo}}

// NEON-STACK:         fmla
// NEON-STACK-NOT:     [sp
// NEON-STACK:         b.{{ne|lo}}
func.func @main(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %matmul = graph.matmul %a, %b : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  func.return %matmul : tensor<512x512xf32>
}

// RUN: stepwell compile %s --emit te -o - | filecheck %s --check-prefix=TE
// RUN: stepwell compile %s --emit loop -o - | filecheck %s --check-prefix=LOOP
// RUN: stepwell compile %s --emit core -o - | filecheck %s --check-prefix=CORE
// RUN: stepwell compile %s --emit llvm -o - | filecheck %s --check-prefix=LLVM

// Softmax is decomposed into two reductions and what is element-wise between them.
// TE-LABEL: func.func @softmax
// TE:         %max = te.compute [{{.*}}] maxnum [%{{.*}} = 7]
// TE:         arith.subf
// TE:         math.exp
// TE:         %sum = te.compute [{{.*}}] add [%{{.*}} = 7] (%{{.*}} = %exp[
// TE:         arith.divf
// TE:         func.return %softmax : tensor<3x7xf32>

// All of it is one kernel. The exponential is computed once, and kept; the subtraction is inlined into it.
// LOOP-LABEL: func.func private @softmax.max_exp_sum_softmax(
// LOOP:           arith.maxnumf
// LOOP:           arith.subf
// LOOP-NEXT:      math.exp
// LOOP-NOT:       math.exp
// LOOP:           arith.divf
// LOOP-LABEL: func.func @softmax(
// LOOP-NOT:     memref.alloc

// CORE-NOT:   {{(graph|te|loop)\.}}
// CORE:       maxnumf
// CORE:       math.exp
// CORE:       arith.divf

// LLVM:       llvm.call_intrinsic "llvm.vector.reduce.fmax.v8f32"
// LLVM-NOT:   llvm.intr.exp
// LLVM:       llvm.intr.fma
// LLVM:       llvm.fdiv
func.func @softmax(%x: tensor<3x7xf32>) -> tensor<3x7xf32> {
  %softmax = graph.softmax %x axis = 1 : tensor<3x7xf32>
  func.return %softmax : tensor<3x7xf32>
}

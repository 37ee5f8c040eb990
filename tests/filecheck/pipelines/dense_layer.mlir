// RUN: stepwell compile %s --emit te -o - | filecheck %s --check-prefix=TE
// RUN: stepwell compile %s --emit loop -o - | filecheck %s --check-prefix=LOOP
// RUN: stepwell compile %s --emit core -o - | filecheck %s --check-prefix=CORE
// RUN: stepwell compile %s --emit llvm -o - | filecheck %s --check-prefix=LLVM
// RUN: stepwell compile %s --emit llvm-ir -o - | filecheck %s --check-prefix=IR

// A layer of a network is one kernel: the bias and the activation are the epilogue of the contraction.

// TE-LABEL: func.func @layer
// TE:         te.compute [%i = 4, %j = 5] add [%k = 6] (%a = %x_1[%i, %k], %{{.*}} = %w_1[%k, %j])
// TE-NEXT:      %[[PRODUCT:.*]] = arith.mulf
// TE-NEXT:      te.yield %[[PRODUCT]] : f32
// TE:           arith.addf
// TE:           arith.maximumf

// The rows are outermost; one row of accumulators is filled with the contiguous axis innermost, in the lanes
// of one vector.
// LOOP-LABEL: func.func private @layer.
// LOOP-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// LOOP-NEXT:      %[[ACC:.*]] = loop.alloc stack : memref<5xf32>
// LOOP:           loop.for reduction "k" %[[K:.*]] = 0 to 6 {
// LOOP-NEXT:        loop.for parallel vector "j{{.*}}" %[[J:.*]] = 0 to 8 {
// LOOP-NEXT:          loop.if (-%[[J]] + 4 >= 0) {
// LOOP-NEXT:          loop.load %x[%i, %[[K]]]
// LOOP-NEXT:          loop.load %w[%[[K]], %[[J]]]
// LOOP-NEXT:          %[[PRODUCT:.*]] = arith.mulf
// LOOP:               arith.addf %{{.*}}, %[[PRODUCT]] fastmath<reassoc,contract>
// LOOP:           loop.for parallel vector "j{{.*}}"
// LOOP:             arith.maximumf
// LOOP-NEXT:        loop.store %{{.*}}, %relu[%i, %{{.*}}] : memref<4x5xf32>
// LOOP-LABEL: func.func @layer
// LOOP-SAME:    %relu: memref<4x5xf32> {stepwell.result})
// LOOP-NEXT:    func.call @layer.
// LOOP-NEXT:    func.return

// CORE-NOT:   {{(graph|te|loop)\.}}
// CORE-LABEL: func.func private @layer.
// CORE:         scf.for
// CORE-NEXT:    %acc = scf.for {{.*}} iter_args(
// CORE:         vector.maskedstore %relu

// LLVM-LABEL: llvm.func internal @layer.
// LLVM-SAME:    %x: !llvm.ptr {llvm.noalias
// LLVM-NOT:     scf.
// LLVM:         llvm.getelementptr inbounds %x[%{{.*}}, %{{.*}}] : {{.*}}, !llvm.array<6 x f32>
// LLVM-LABEL: llvm.func @layer

// The accumulators are values that the loop hands on, for LLVM too.
// IR-LABEL: define internal {{.*}}void @layer.
// IR:         phi <8 x float>
// IR-LABEL: define void @layer(
// IR:         call void @layer.
// IR:         ret void
func.func @layer(%x: tensor<4x6xf32>, %w: tensor<6x5xf32>, %b: tensor<5xf32>) -> tensor<4x5xf32> {
  %matmul = graph.matmul %x, %w : tensor<4x6xf32>, tensor<6x5xf32> -> tensor<4x5xf32>
  %add = graph.add %matmul, %b : tensor<4x5xf32>, tensor<5xf32> -> tensor<4x5xf32>
  %relu = graph.relu %add : tensor<4x5xf32>
  func.return %relu : tensor<4x5xf32>
}

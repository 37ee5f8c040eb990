// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// A private function is internal. A memref of open shape is a pointer and the open sizes.
// CHECK-LABEL: llvm.func internal @size(%x: !llvm.ptr, %x_size0: i64, %x_size2: i64) -> i64 {
// CHECK:         llvm.return %x_size2 : i64
func.func private @size(%x: memref<?x3x?xf32>) -> index {
  %c2 = arith.constant 2 : index
  %n = memref.dim %x, %c2 : memref<?x3x?xf32>
  func.return %n : index
}

// -----

// Open strides follow the sizes; an open offset is part of the pointer.
// CHECK-LABEL: llvm.func internal @strided(%x: !llvm.ptr, %x_size0: i64, %x_stride0: i64)
func.func private @strided(%x: memref<?x4xf32, strided<[?, 1], offset: ?>>) {
  func.return
}

// -----

// Marks stay, and become promises to LLVM: of a function with marks no two arrays overlap.
// CHECK-LABEL: llvm.func @marked(
// CHECK-SAME:    %x: !llvm.ptr {stepwell.unsigned, llvm.noalias, llvm.nonnull, llvm.dereferenceable = 4 : i64}
// CHECK-SAME:    %n: i64, %e: !llvm.ptr {llvm.noalias}
// CHECK-SAME:    %r: !llvm.ptr {stepwell.result, llvm.noalias, llvm.nonnull, llvm.dereferenceable = 32 : i64}
// CHECK-SAME:    %s: !llvm.ptr {stepwell.arena, llvm.noalias, llvm.align = 64 : i64, llvm.nonnull, llvm.dereferenceable = 128 : i64}
// CHECK-SAME:    stepwell.signature = {convention = "marked", arena = 128 : i64
func.func @marked(
  %x: memref<4xi8> {stepwell.unsigned}, %n: index, %e: memref<0xf32>,
  %r: memref<4xf64> {stepwell.result}, %s: memref<128xi8> {stepwell.arena}
) {
  func.return
}

// -----

// Without marks arrays may overlap; what the text promises is kept.
// CHECK-LABEL: llvm.func @unmarked(%x: !llvm.ptr, %y: !llvm.ptr {llvm.noalias})
func.func @unmarked(%x: memref<4xf32>, %y: memref<4xf32> {llvm.noalias}) {
  func.return
}

// -----

// Several results are one struct.
// CHECK-LABEL: llvm.func internal @several(%x: i32, %m: !llvm.ptr) -> !llvm.struct<(i32, !llvm.ptr)> {
// CHECK-NEXT:    %[[NONE:.*]] = llvm.mlir.undef : !llvm.struct<(i32, !llvm.ptr)>
// CHECK-NEXT:    %[[ONE:.*]] = llvm.insertvalue %x, %[[NONE]][0]
// CHECK-NEXT:    %[[BOTH:.*]] = llvm.insertvalue %m, %[[ONE]][1]
// CHECK-NEXT:    llvm.return %[[BOTH]]
func.func private @several(%x: i32, %m: memref<i32>) -> (i32, memref<i32>) {
  func.return %x, %m : i32, memref<i32>
}

// CHECK-LABEL: llvm.func @calls
// CHECK:         %[[BOTH:.*]] = llvm.call @several(%{{.*}}, %{{.*}}) : (i32, !llvm.ptr) -> !llvm.struct<(i32, !llvm.ptr)>
// CHECK-NEXT:    %y = llvm.extractvalue %[[BOTH]][0]
// CHECK-NEXT:    %n = llvm.extractvalue %[[BOTH]][1]
// CHECK-NEXT:    llvm.store %y, %n {alignment = 4 : i64} : i32, !llvm.ptr
func.func @calls(%x: i32, %m: memref<i32>) {
  %y, %n = func.call @several(%x, %m) : (i32, memref<i32>) -> (i32, memref<i32>)
  memref.store %y, %n[] : memref<i32>
  %unused = memref.alloc() : memref<4xf32>
  func.return
}

// -----

// CHECK-LABEL: llvm.func @declared(!llvm.ptr, i64)
func.func private @declared(memref<?xf32>)

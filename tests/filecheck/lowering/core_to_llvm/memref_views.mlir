// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// A subview is a pointer to its first element; its strides are known from its type or computed.
// CHECK-LABEL: llvm.func @subview(%x: !llvm.ptr, %i: i64, %s: i64)
// CHECK:         %v = llvm.getelementptr inbounds %x[%i, 2] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x f32>
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr inbounds %v[%i, 1] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<8 x !llvm.array<2 x f32>>
// CHECK-NEXT:    llvm.load %[[P]]
func.func @subview(%x: memref<8x8xf32>, %i: index, %s: index) {
  %c1 = arith.constant 1 : index
  %v = memref.subview %x[%i, 2] [2, 3] [2, 2] : memref<8x8xf32> to memref<2x3xf32, strided<[16, 2], offset: ?>>
  %a = memref.load %v[%i, %c1] : memref<2x3xf32, strided<[16, 2], offset: ?>>
  func.return
}

// -----

// CHECK-LABEL: llvm.func @view
// CHECK:         %v = llvm.getelementptr inbounds %x[64] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NEXT:    llvm.getelementptr inbounds %v[1, %i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x f32>
func.func @view(%x: memref<256xi8>, %i: index) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %v = memref.view %x[%c64][] : memref<256xi8> to memref<2x4xf32>
  %a = memref.load %v[%c1, %i] : memref<2x4xf32>
  func.return
}

// -----

// Reshaping moves nothing.
// CHECK-LABEL: llvm.func @reshapes(%x: !llvm.ptr, %i: i64)
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr inbounds %x[%i, %i, %i] : (!llvm.ptr, i64, i64, i64) -> !llvm.ptr, !llvm.array<2 x !llvm.array<3 x f32>>
// CHECK-NEXT:    llvm.load %[[P]]
func.func @reshapes(%x: memref<4x6xf32>, %i: index) {
  %flat = memref.collapse_shape %x [[0, 1]] : memref<4x6xf32> into memref<24xf32>
  %cube = memref.expand_shape %flat [[0, 1, 2]] output_shape [4, 2, 3] : memref<24xf32> into memref<4x2x3xf32>
  %a = memref.load %cube[%i, %i, %i] : memref<4x2x3xf32>
  func.return
}

// -----

// CHECK-LABEL: llvm.func @casts
// CHECK:         llvm.call @take(%x, %{{.*}}) : (!llvm.ptr, i64) -> ()
func.func private @take(memref<?xf32>)
func.func @casts(%x: memref<4xf32>) {
  %y = "memref.cast"(%x) : (memref<4xf32>) -> memref<?xf32>
  func.call @take(%y) : (memref<?xf32>) -> ()
  func.return
}

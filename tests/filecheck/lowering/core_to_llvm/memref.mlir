// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// Static strides are an array type, so that one getelementptr takes the indices as they are.
// CHECK-LABEL: llvm.func @static
// CHECK:         %[[P:.*]] = llvm.getelementptr inbounds %x[%i, 2, %j] : (!llvm.ptr, i64, i64) -> !llvm.ptr, !llvm.array<3 x !llvm.array<5 x f32>>
// CHECK-NEXT:    %v = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK-NEXT:    llvm.store %v, %x {alignment = 4 : i64} : f32, !llvm.ptr
func.func @static(%x: memref<?x3x5xf32>, %i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %v = memref.load %x[%i, %c2, %j] : memref<?x3x5xf32>
  memref.store %v, %x[%c0, %c0, %c0] : memref<?x3x5xf32>
  func.return
}

// -----

// CHECK-LABEL: llvm.func @open(%x: !llvm.ptr, %x_size0: i64, %x_size1: i64, %i: i64, %j: i64)
// CHECK-NEXT:    %[[ROW:.*]] = llvm.mul %i, %x_size1 overflow<nsw> : i64
// CHECK-NEXT:    %[[AT:.*]] = llvm.add %[[ROW]], %j overflow<nsw> : i64
// CHECK-NEXT:    llvm.getelementptr inbounds %x[%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f64
func.func @open(%x: memref<?x?xf64>, %i: index, %j: index) {
  %v = memref.load %x[%i, %j] : memref<?x?xf64>
  func.return
}

// -----

// A bool is one byte, and any number but 0 in it is true.
// CHECK-LABEL: llvm.func @bool
// CHECK:         %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK-NEXT:    %v = llvm.icmp "ne" %[[BYTE]], %{{.*}} : i8
// CHECK:         %[[WIDE:.*]] = llvm.zext %v : i1 to i8
// CHECK-NEXT:    llvm.store %[[WIDE]], %x {alignment = 1 : i64} : i8, !llvm.ptr
func.func @bool(%x: memref<4xi1>, %i: index) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%i] : memref<4xi1>
  memref.store %v, %x[%c0] : memref<4xi1>
  func.return
}

// -----

// A static stack buffer is of the whole function, wherever it stands.
// CHECK-LABEL: llvm.func @buffers
// CHECK:         %[[ONE:.*]] = llvm.mlir.constant(1) : i64
// CHECK-NEXT:    %stack = llvm.alloca %[[ONE]] x !llvm.array<6 x f32> {alignment = 64 : i64} : (i64) -> !llvm.ptr
// CHECK:         llvm.cond_br %c
// CHECK:         %[[ELEMENTS:.*]] = llvm.mul %n, %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    %[[MORE:.*]] = llvm.add %[[ELEMENTS]], %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    %[[PADDED:.*]] = llvm.and %[[MORE]], %{{.*}} : i64
// CHECK-NEXT:    %heap = llvm.call @aligned_alloc(%{{.*}}, %[[PADDED]]) : (i64, i64) -> !llvm.ptr
// CHECK-NEXT:    llvm.call @free(%heap) : (!llvm.ptr) -> ()
func.func @buffers(%c: i1, %n: index) {
  scf.if %c {
    %stack = memref.alloca() : memref<2x3xf32>
    %heap = memref.alloc(%n) : memref<?xf32>
    memref.dealloc %heap : memref<?xf32>
    scf.yield
  }
  func.return
}

// -----

// CHECK:       llvm.mlir.global internal constant @table(dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>) {addr_space = 0 : i32, alignment = 64 : i64} : !llvm.array<2 x f32>
"memref.global"() <{
  sym_name = "table", sym_visibility = "private", type = memref<1x2xf32>,
  initial_value = dense<[[1.0, 2.0]]> : tensor<1x2xf32>, constant
}> : () -> ()

// CHECK:       llvm.mlir.global internal constant @flags(dense<[1, 0]> : tensor<2xi8>)
"memref.global"() <{
  sym_name = "flags", sym_visibility = "private", type = memref<2xi1>,
  initial_value = dense<[true, false]> : tensor<2xi1>, constant
}> : () -> ()

// CHECK-LABEL: llvm.func @copies
// CHECK:         %t = llvm.mlir.addressof @table : !llvm.ptr
// CHECK-NEXT:    llvm.call_intrinsic "llvm.memcpy.p0.p0.i64"(%x, %t, %{{.*}}, %{{.*}}) : (!llvm.ptr, !llvm.ptr, i64, i1) -> ()
// CHECK-NEXT:    llvm.br
// CHECK-COUNT-2: llvm.icmp "slt"
func.func @copies(%x: memref<1x2xf32>, %y: memref<1x2xf32, strided<[4, 2]>>) {
  %t = memref.get_global @table : memref<1x2xf32>
  "memref.copy"(%t, %x) : (memref<1x2xf32>, memref<1x2xf32>) -> ()
  "memref.copy"(%x, %y) : (memref<1x2xf32>, memref<1x2xf32, strided<[4, 2]>>) -> ()
  func.return
}

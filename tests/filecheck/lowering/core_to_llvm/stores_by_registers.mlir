// RUN: stepwell-opt %s -p "convert-core-to-llvm{vector-bits=128}" | filecheck %s
// RUN: stepwell-opt %s -p convert-core-to-llvm | filecheck %s --check-prefix WHOLE

// A vector of several registers is stored register by register, from the first lane on: lines are written in the order of their
// addresses. LLVM would begin at the end.

// CHECK-LABEL: llvm.func @plain
// CHECK:         %[[V0:.*]] = llvm.shufflevector %v, %v [0, 1, 2, 3] : vector<10xf32>
// CHECK-NEXT:    llvm.store %[[V0]], %x {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
// CHECK-NEXT:    %[[X1:.*]] = llvm.getelementptr %x[4] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:    %[[V1:.*]] = llvm.shufflevector %v, %v [4, 5, 6, 7] : vector<10xf32>
// CHECK-NEXT:    llvm.store %[[V1]], %[[X1]] {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
// CHECK-NEXT:    %[[X2:.*]] = llvm.getelementptr %x[8] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:    %[[V2:.*]] = llvm.shufflevector %v, %v [8, 9] : vector<10xf32>
// CHECK-NEXT:    llvm.store %[[V2]], %[[X2]] {alignment = 4 : i64} : vector<2xf32>, !llvm.ptr
// WHOLE-LABEL: llvm.func @plain
// WHOLE:         llvm.store %v, %x {alignment = 4 : i64} : vector<10xf32>, !llvm.ptr
func.func @plain(%x: memref<64xf32>, %v: vector<10xf32>) {
  %c0 = arith.constant 0 : index
  vector.store %v, %x[%c0] : memref<64xf32>, vector<10xf32>
  func.return
}

// CHECK-LABEL: llvm.func @masked
// CHECK-SAME:    (%[[X:[^:]*]]: !llvm.ptr, %[[M:[^:]*]]: vector<4xi1>, %[[V:[^:]*]]: vector<4xf64>)
// CHECK:         %[[V0:.*]] = llvm.shufflevector %[[V]], %[[V]] [0, 1] : vector<4xf64>
// CHECK-NEXT:    %[[M0:.*]] = llvm.shufflevector %[[M]], %[[M]] [0, 1] : vector<4xi1>
// CHECK-NEXT:    llvm.call_intrinsic "llvm.masked.store.v2f64.p0"(%[[V0]], %[[X]], %[[M0]])
// CHECK:         %[[X1:.*]] = llvm.getelementptr %[[X]][2] : (!llvm.ptr) -> !llvm.ptr, f64
// CHECK-NEXT:    %[[V1:.*]] = llvm.shufflevector %[[V]], %[[V]] [2, 3] : vector<4xf64>
// CHECK-NEXT:    %[[M1:.*]] = llvm.shufflevector %[[M]], %[[M]] [2, 3] : vector<4xi1>
// CHECK-NEXT:    llvm.call_intrinsic "llvm.masked.store.v2f64.p0"(%[[V1]], %[[X1]], %[[M1]])
// WHOLE-LABEL: llvm.func @masked
// WHOLE:         llvm.call_intrinsic "llvm.masked.store.v4f64.p0"
func.func @masked(%x: memref<64xf64>, %m: vector<4xi1>, %v: vector<4xf64>) {
  %c0 = arith.constant 0 : index
  vector.maskedstore %x[%c0], %m, %v : memref<64xf64>, vector<4xi1>, vector<4xf64>
  func.return
}

// One lane that is known is stored by itself: of a truncated vector LLVM would store the wider element.
// CHECK-LABEL: llvm.func @one_lane
// CHECK:         %[[PLACE:.*]] = llvm.getelementptr %[[X:.*]][2] : (!llvm.ptr) -> !llvm.ptr, f64
// CHECK-NEXT:    %[[UPPER:.*]] = llvm.shufflevector %[[V:.*]], %[[V]] [2, 3] : vector<4xf64>
// CHECK-NEXT:    %[[ELEMENT:.*]] = llvm.extractelement %[[UPPER]]
// CHECK-NEXT:    llvm.store %[[ELEMENT]], %[[PLACE]] {alignment = 8 : i64} : f64, !llvm.ptr
// CHECK-NEXT:    llvm.return
// WHOLE-LABEL: llvm.func @one_lane
// WHOLE-NOT:     llvm.masked.store
func.func @one_lane(%x: memref<64xf64>, %v: vector<4xf64>) {
  %c0 = arith.constant 0 : index
  %m = arith.constant dense<[false, false, true, false]> : vector<4xi1>
  vector.maskedstore %x[%c0], %m, %v : memref<64xf64>, vector<4xi1>, vector<4xf64>
  func.return
}

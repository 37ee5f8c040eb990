// RUN: stepwell-opt %s -p convert-core-to-llvm | filecheck %s

// Rows whose numbers are sums have one address, and each so many elements more in its instruction. What is added in the block itself to the
// number of an element in its row, which addresses have no multiplication for, LLVM finds there.
// CHECK-LABEL: @rows
// CHECK:       [[BASE:%.*]] = llvm.getelementptr %B[%first, %j] : (!llvm.ptr, i64, i64) -> !llvm.ptr, !llvm.array<40 x f32>
// CHECK-NEXT:  [[ONE:%.*]] = llvm.getelementptr [[BASE]][40] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:  llvm.store {{.*}}, [[ONE]]
// CHECK-NEXT:  [[TWO:%.*]] = llvm.getelementptr [[BASE]][80] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:  llvm.store {{.*}}, [[TWO]]
// CHECK:       [[NEXT:%.*]] = llvm.add %j, %c1
// CHECK-NEXT:  llvm.getelementptr inbounds %B[%first, [[NEXT]]]
// CHECK:       llvm.add %j, %c2
// CHECK-NEXT:  [[DOWN:%.*]] = llvm.getelementptr %B[%j, %first] : (!llvm.ptr, i64, i64) -> !llvm.ptr, !llvm.array<40 x f32>
// CHECK-NEXT:  llvm.getelementptr [[DOWN]][80] : (!llvm.ptr) -> !llvm.ptr, f32
func.func @rows(%B: memref<30x40xf32>, %first: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c39 = arith.constant 39 : index
  %one = arith.addi %first, %c1 : index
  %two = arith.addi %first, %c2 : index
  scf.for %j = %c0 to %c39 step %c1 {
    memref.store %v, %B[%one, %j] : memref<30x40xf32>
    memref.store %v, %B[%two, %j] : memref<30x40xf32>
    %next = arith.addi %j, %c1 : index
    memref.store %v, %B[%first, %next] : memref<30x40xf32>
    %down = arith.addi %j, %c2 : index
    memref.store %v, %B[%down, %first] : memref<30x40xf32>
  }
  func.return
}

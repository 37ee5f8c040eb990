// RUN: stepwell-opt %s -p core-time-calls | filecheck %s

// CHECK:       func.func private @kernel
// CHECK:       func.func private @llvm.readcyclecounter() -> i64
// CHECK-NEXT:  func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}, %ticks: memref<2xi64> {stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-NEXT:    %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-NEXT:    memref.store %[[ZERO]], %ticks[%[[FIRST]]]
// CHECK-NEXT:    %[[SECOND:.*]] = arith.constant 1 : index
// CHECK-NEXT:    memref.store %[[ZERO]], %ticks[%[[SECOND]]]
// CHECK:         %[[BEFORE:.*]] = func.call @llvm.readcyclecounter() : () -> i64
// CHECK-NEXT:    func.call @kernel(%x, %z)
// CHECK-NEXT:    %[[AFTER:.*]] = func.call @llvm.readcyclecounter() : () -> i64
// CHECK-NEXT:    %[[SPENT:.*]] = arith.subi %[[AFTER]], %[[BEFORE]]
// CHECK-NEXT:    %[[SUM:.*]] = memref.load %ticks[%[[FIRST]]]
// CHECK-NEXT:    %[[NEW:.*]] = arith.addi %[[SUM]], %[[SPENT]]
// CHECK-NEXT:    memref.store %[[NEW]], %ticks[%[[FIRST]]]
// CHECK:         func.call @kernel(%z, %y)
// CHECK:         memref.store %{{.*}}, %ticks[%[[SECOND]]]
func.func private @kernel(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  func.return
}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
  %o = arith.constant 0 : index
  %z = memref.view %arena[%o][] : memref<64xi8> to memref<4xf32>
  func.call @kernel(%x, %z) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @kernel(%z, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// Nothing is called: nothing is timed.
// CHECK-LABEL: func.func @alone(%x: memref<4xf32>) {
// CHECK-NEXT:    func.return
func.func @alone(%x: memref<4xf32>) {
  func.return
}

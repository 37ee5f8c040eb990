// RUN: stepwell-opt %s -p "convert-core-to-llvm{vector-bits=128}" --split-input-file | filecheck %s

// A load of three lanes beyond one register, each by the lanes of its own register.
// CHECK-LABEL: llvm.func @registers
// CHECK:         %[[UPPER:.*]] = llvm.getelementptr %x[4] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:    %[[M0:.*]] = llvm.shufflevector %m, %m [0, 1, 2, 3] : vector<7xi1>
// CHECK-NEXT:    %[[P0:.*]] = llvm.shufflevector %p, %p [0, 1, 2, 3] : vector<7xf32>
// CHECK-NEXT:    %[[V0:.*]] = llvm.call_intrinsic "llvm.masked.load.v4f32.p0"(%x, %[[M0]], %[[P0]])
// CHECK-NEXT:    %[[M1:.*]] = llvm.shufflevector %m, %m [4, 5, 6] : vector<7xi1>
// CHECK-NEXT:    %[[P1:.*]] = llvm.shufflevector %p, %p [4, 5, 6] : vector<7xf32>
// CHECK-NEXT:    %[[V1:.*]] = llvm.call_intrinsic "llvm.masked.load.v3f32.p0"(%[[UPPER]], %[[M1]], %[[P1]])
// CHECK-NEXT:    %[[WIDE:.*]] = llvm.shufflevector %[[V1]], %[[V1]] [0, 1, 2, 2] : vector<3xf32>
// CHECK-NEXT:    %v = llvm.shufflevector %[[V0]], %[[WIDE]] [0, 1, 2, 3, 4, 5, 6] : vector<4xf32>
func.func @registers(%x: memref<64xf32>, %m: vector<7xi1>, %p: vector<7xf32>) -> vector<7xf32> {
  %c0 = arith.constant 0 : index
  %v = vector.maskedload %x[%c0], %m, %p : memref<64xf32>, vector<7xi1>, vector<7xf32> into vector<7xf32>
  func.return %v : vector<7xf32>
}

// -----

// No lane of the upper register can be asked for: it is not loaded.
// CHECK-LABEL: llvm.func @never_asked
// CHECK:         %[[P1:.*]] = llvm.shufflevector %p, %p [4, 5, 6, 7] : vector<8xf32>
// CHECK-NEXT:    %v = llvm.shufflevector %{{.*}}, %[[P1]] [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xf32>
func.func @never_asked(%x: memref<64xf32>, %on: i1, %p: vector<8xf32>) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %lanes = arith.constant dense<[true, true, true, false, false, false, false, false]> : vector<8xi1>
  %none = arith.constant dense<false> : vector<8xi1>
  %m = arith.select %on, %lanes, %none : vector<8xi1>
  %v = vector.maskedload %x[%c0], %m, %p : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  func.return %v : vector<8xf32>
}

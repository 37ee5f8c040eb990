// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// CHECK-LABEL: llvm.func @vectors
// CHECK:         %[[NONE:.*]] = llvm.mlir.undef : vector<8xf32>
// CHECK:         %[[P:.*]] = llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    %v = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK-NEXT:    %[[ONE:.*]] = llvm.insertelement %s, %[[NONE]][%{{.*}} : i32] : vector<8xf32>
// CHECK-NEXT:    %b = llvm.shufflevector %[[ONE]], %[[NONE]] [0, 0, 0, 0, 0, 0, 0, 0] : vector<8xf32>
// CHECK-NEXT:    %f = llvm.intr.fma(%v, %b, %v) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
// CHECK:         llvm.store %f, %{{.*}} {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
// CHECK:         "llvm.intr.vector.reduce.fadd"(%{{.*}}, %f) <{fastmathFlags = #llvm.fastmath<reassoc>}>
// CHECK-NEXT:    llvm.call_intrinsic "llvm.vector.reduce.fmaximum.v8f32"(%f) : (vector<8xf32>) -> f32
func.func @vectors(%x: memref<64xf32>, %i: index, %s: f32) {
  %v = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
  %b = vector.broadcast %s : f32 to vector<8xf32>
  %f = vector.fma %v, %b, %v : vector<8xf32>
  vector.store %f, %x[%i] : memref<64xf32>, vector<8xf32>
  %sum = vector.reduction <add>, %f fastmath<reassoc> : vector<8xf32> into f32
  %max = vector.reduction <maximumf>, %f : vector<8xf32> into f32
  func.return
}

// -----

// CHECK-LABEL: llvm.func @masks
// CHECK:         %[[LANES:.*]] = llvm.mlir.constant(dense<[0, 1, 2, 3]> : vector<4xi32>) : vector<4xi32>
// CHECK-NEXT:    llvm.call_intrinsic "llvm.smax.i64"(%n, %{{.*}})
// CHECK-NEXT:    llvm.call_intrinsic "llvm.smin.i64"
// CHECK:         %m = llvm.icmp "slt" %[[LANES]], %{{.*}} : vector<4xi32>
// CHECK-NEXT:    %v = llvm.call_intrinsic "llvm.masked.load.v4f32.p0"(%x, %m, %p) : (!llvm.ptr, vector<4xi1>, vector<4xf32>) -> vector<4xf32>
// CHECK-NEXT:    llvm.call_intrinsic "llvm.masked.store.v4f32.p0"(%v, %x, %m) : (vector<4xf32>, !llvm.ptr, vector<4xi1>) -> ()
func.func @masks(%x: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %p = arith.constant dense<0.0> : vector<4xf32>
  %m = vector.create_mask %n : vector<4xi1>
  %v = vector.maskedload %x[%c0], %m, %p : memref<64xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
  vector.maskedstore %x[%c0], %m, %v : memref<64xf32>, vector<4xi1>, vector<4xf32>
  func.return
}

// An i1 takes a byte in memory.
// CHECK-LABEL: @bytes
// CHECK:         %[[REST:.*]] = llvm.zext %rest : vector<4xi1> to vector<4xi8>
// CHECK-NEXT:    %[[GOT:.*]] = llvm.call_intrinsic "llvm.masked.load.v4i8.p0"(%y, %on, %[[REST]]) : (!llvm.ptr, vector<4xi1>, vector<4xi8>) -> vector<4xi8>
// CHECK-NEXT:    %[[ZEROS:.*]] = llvm.mlir.constant(dense<0> : vector<4xi8>) : vector<4xi8>
// CHECK-NEXT:    %got = llvm.icmp "ne" %[[GOT]], %[[ZEROS]] : vector<4xi8>
// CHECK-NEXT:    %[[NEW:.*]] = llvm.zext %got : vector<4xi1> to vector<4xi8>
// CHECK-NEXT:    llvm.call_intrinsic "llvm.masked.store.v4i8.p0"(%[[NEW]], %y, %on) : (vector<4xi8>, !llvm.ptr, vector<4xi1>) -> ()
func.func @bytes(%y: memref<64xi1>, %on: vector<4xi1>) {
  %c0 = arith.constant 0 : index
  %rest = arith.constant dense<false> : vector<4xi1>
  %got = vector.maskedload %y[%c0], %on, %rest : memref<64xi1>, vector<4xi1>, vector<4xi1> into vector<4xi1>
  vector.maskedstore %y[%c0], %on, %got : memref<64xi1>, vector<4xi1>, vector<4xi1>
  func.return
}

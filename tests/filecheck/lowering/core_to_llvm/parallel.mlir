// RUN: stepwell-opt %s -p convert-core-to-llvm | filecheck %s
// RUN: stepwell-opt %s -p 'convert-core-to-llvm{threads=4}' | filecheck %s --check-prefix FOUR
// RUN: stepwell-opt %s -p 'convert-core-to-llvm{threads=1}' | filecheck %s --check-prefix ONE

// A body becomes a function that each thread calls with its share; constants and views are made again in it,
// and what is known of the pointers is known there too.
// CHECK:       llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
// CHECK-NEXT:  llvm.func @omp_get_thread_num() -> i32
// CHECK-NEXT:  llvm.func @omp_get_num_threads() -> i32
// CHECK:       llvm.func internal @copy.threads0.share(%first: i64, %last: i64,
// CHECK-SAME:      %arena: !llvm.ptr {llvm.noalias, llvm.align = 64 : i64
// CHECK-SAME:      %r: !llvm.ptr {llvm.noalias
// CHECK:         %[[VIEW:.*]] = llvm.getelementptr inbounds %arena[64]
// CHECK-NEXT:    llvm.br ^[[HEADER:.*]](%first : i64)
// CHECK-NEXT:  ^[[HEADER]](%[[K:.*]]: i64):
// CHECK-NEXT:    %[[MORE:.*]] = llvm.icmp "slt" %[[K]], %last : i64
// CHECK-NEXT:    llvm.cond_br %[[MORE]]
// CHECK:         %[[POSITION:.*]] = llvm.mul %[[K]], %c2 overflow<nsw> : i64
// CHECK-NEXT:    llvm.getelementptr inbounds %{{.*}}[%[[POSITION]]]
// CHECK:       llvm.func internal @copy.threads0(%data: !llvm.ptr) {
// CHECK:         %[[THREAD:.*]] = llvm.call @omp_get_thread_num()
// CHECK:         %[[SIZE:.*]] = llvm.call @omp_get_num_threads()
// CHECK:         llvm.call @copy.threads0.share(
// CHECK:       llvm.func @copy(
// CHECK:         %data{{.*}} = llvm.alloca %{{.*}} x !llvm.struct<(i64, !llvm.ptr, !llvm.ptr)>
// CHECK:         llvm.store %c4{{.*}} : i64, !llvm.ptr
// CHECK:         %[[ENTRY:.*]] = llvm.mlir.addressof @copy.threads0 : !llvm.ptr
// CHECK-NEXT:    llvm.call @GOMP_parallel(%[[ENTRY]], %data{{.*}}, %[[ZERO:.*]], %[[ZERO]])
// CHECK-NEXT:    llvm.return

// FOUR:          %[[FOUR:.*]] = llvm.mlir.constant(4 : i32) : i32
// FOUR:          llvm.call @GOMP_parallel(%{{.*}}, %{{.*}}, %[[FOUR]], %{{.*}})

// ONE-NOT:       GOMP_parallel
// ONE-NOT:       alloca
func.func @copy(%r: memref<8xf32> {stepwell.result}, %arena: memref<128xi8> {stepwell.arena}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %t = memref.view %arena[%c64][] : memref<128xi8> to memref<8xf32>
  "scf.parallel"(%c0, %c8, %c2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %a = memref.load %t[%i] : memref<8xf32>
    memref.store %a, %r[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// How often an open loop runs is computed where it is called; for one iteration one thread is asked for.
// CHECK-LABEL: llvm.func @open(
// CHECK:         %[[DISTANCE:.*]] = llvm.sub %high, %low_1 overflow<nsw> : i64
// CHECK-NEXT:    %[[ROUNDED:.*]] = llvm.add %[[DISTANCE]], %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    %[[COUNT:.*]] = llvm.sdiv %[[ROUNDED]], %c3
// CHECK-NEXT:    %[[KNOWN:.*]] = llvm.call_intrinsic "llvm.smax.i64"(%[[COUNT]], %{{.*}})
// CHECK:         %[[SEVERAL:.*]] = llvm.icmp "sgt" %[[KNOWN]], %{{.*}} : i64
// CHECK-NEXT:    %[[TEAM:.*]] = llvm.select %[[SEVERAL]], %{{.*}}, %{{.*}} : i1, i32
// CHECK:         llvm.call @GOMP_parallel(%{{.*}}, %{{.*}}, %[[TEAM]], %{{.*}})
func.func @open(%A: memref<?xf32>, %low: index, %high: index, %v: f32) {
  %c3 = arith.constant 3 : index
  "scf.parallel"(%low, %high, %c3) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %A[%i] : memref<?xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// A single iteration stays where it is.
// CHECK-LABEL: llvm.func @once(
// CHECK-NOT:     GOMP_parallel
func.func @once(%A: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "scf.parallel"(%c0, %c1, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %A[%i] : memref<8xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

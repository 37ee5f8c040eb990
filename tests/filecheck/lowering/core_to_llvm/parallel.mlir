// RUN: stepwell-opt %s -p convert-core-to-llvm | filecheck %s
// RUN: stepwell-opt %s -p 'convert-core-to-llvm{threads=4}' | filecheck %s --check-prefix FOUR
// RUN: stepwell-opt %s -p 'convert-core-to-llvm{threads=1}' | filecheck %s --check-prefix ONE

// A body becomes a function that each thread calls with what it has claimed; constants and views are made again in
// it, and what is known of the pointers is known there too.
// CHECK:       llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
// CHECK-NEXT:  llvm.func @omp_get_max_threads() -> i32
// CHECK:       llvm.func internal @copy.threads0.share(%first: i64, %data: !llvm.ptr, %count: i64, %claim: i64,
// CHECK-SAME:      %arena: !llvm.ptr {llvm.noalias, llvm.align = 64 : i64
// CHECK-SAME:      %r: !llvm.ptr {llvm.noalias
// CHECK:         %[[VIEW:.*]] = llvm.getelementptr inbounds %arena[64]
// CHECK-NEXT:    llvm.br ^[[CLAIMED:.*]](%first : i64)
// CHECK-NEXT:  ^[[CLAIMED]](%[[FIRST:.*]]: i64):
// CHECK-NEXT:    %[[END:.*]] = llvm.add %[[FIRST]], %claim
// CHECK-NEXT:    %[[LAST:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%[[END]], %count)
// CHECK-NEXT:    llvm.br ^[[HEADER:.*]](%[[FIRST]] : i64)
// CHECK-NEXT:  ^[[HEADER]](%[[K:.*]]: i64):
// CHECK-NEXT:    %[[MORE:.*]] = llvm.icmp "slt" %[[K]], %[[LAST]] : i64
// CHECK-NEXT:    llvm.cond_br %[[MORE]], ^{{.*}}, ^[[DONE:.*]]
// CHECK:         %[[POSITION:.*]] = llvm.mul %[[K]], %c2 overflow<nsw> : i64
// CHECK-NEXT:    llvm.getelementptr inbounds %{{.*}}[%[[POSITION]]]
// CHECK:       ^[[DONE]]:
// CHECK-NEXT:    %[[NEXT:.*]] = llvm.atomicrmw add %data, %claim monotonic : !llvm.ptr, i64
// CHECK-NEXT:    %[[ANY:.*]] = llvm.icmp "slt" %[[NEXT]], %count : i64
// CHECK-NEXT:    llvm.cond_br %[[ANY]], ^[[CLAIMED]](%[[NEXT]] : i64), ^{{.*}}

// A thread that comes late claims nothing, and leaves.
// CHECK:       llvm.func internal @copy.threads0(%[[DATA:.*]]: !llvm.ptr) {
// CHECK:         %[[FIRST:.*]] = llvm.atomicrmw add %[[DATA]], %[[CLAIM:.*]] monotonic : !llvm.ptr, i64
// CHECK-NEXT:    %[[ANY:.*]] = llvm.icmp "slt" %[[FIRST]], %[[COUNT:.*]] : i64
// CHECK-NEXT:    llvm.cond_br %[[ANY]], ^{{.*}}, ^[[NONE:.*]]
// CHECK:         llvm.call @copy.threads0.share(%[[FIRST]], %[[DATA]], %[[COUNT]], %[[CLAIM]],
// CHECK:       ^[[NONE]]:
// CHECK-NEXT:    llvm.return

// CHECK:       llvm.func @copy(
// CHECK:         %data{{.*}} = llvm.alloca %{{.*}} x !llvm.struct<(i64, i64, i64, !llvm.ptr, !llvm.ptr)>
// CHECK:         %[[MAX:.*]] = llvm.call @omp_get_max_threads()
// CHECK-NEXT:    %[[TEAM:.*]] = llvm.zext %[[MAX]] : i32 to i64
// CHECK:         %[[ENTRY:.*]] = llvm.mlir.addressof @copy.threads0 : !llvm.ptr
// CHECK-NEXT:    %[[USEFUL:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%c4{{.*}}, %[[TEAM]])
// CHECK-NEXT:    %[[ASKED:.*]] = llvm.trunc %[[USEFUL]] : i64 to i32
// CHECK-NEXT:    llvm.call @GOMP_parallel(%[[ENTRY]], %data{{.*}}, %[[ASKED]], %{{.*}})
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

// 200 iterations on 4 threads, each of which claims 16 times: 4 at a time.
// FOUR-LABEL: llvm.func @many(
// FOUR:         %[[CLAIM:.*]] = llvm.getelementptr inbounds %{{.*}}[0, 2]
// FOUR-NEXT:    llvm.store %c4{{.*}}, %[[CLAIM]]
func.func @many(%A: memref<200xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c200 = arith.constant 200 : index
  "scf.parallel"(%c0, %c200, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    memref.store %v, %A[%i] : memref<200xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}

// How often an open loop runs is computed where it is called: no more threads are asked for than there are
// iterations, and one where there are none, as 0 would be the library's choice.
// CHECK-LABEL: llvm.func @open(
// CHECK:         %[[DISTANCE:.*]] = llvm.sub %high, %low_1 overflow<nsw> : i64
// CHECK-NEXT:    %[[ROUNDED:.*]] = llvm.add %[[DISTANCE]], %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    %[[COUNT:.*]] = llvm.sdiv %[[ROUNDED]], %c3
// CHECK-NEXT:    %[[KNOWN:.*]] = llvm.call_intrinsic "llvm.smax.i64"(%[[COUNT]], %{{.*}})
// CHECK:         %[[SOME:.*]] = llvm.call_intrinsic "llvm.smax.i64"(%[[KNOWN]], %{{.*}})
// CHECK-NEXT:    %[[USEFUL:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%[[SOME]], %{{.*}})
// CHECK-NEXT:    %[[TEAM:.*]] = llvm.trunc %[[USEFUL]]
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

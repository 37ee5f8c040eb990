// RUN: stepwell-opt %s -p convert-core-to-llvm | filecheck %s
// RUN: stepwell-opt %s -p 'convert-core-to-llvm{threads=4}' | filecheck %s --check-prefix FOUR
// RUN: stepwell-opt %s -p 'convert-core-to-llvm{threads=1}' | filecheck %s --check-prefix ONE

// A body becomes a function that each thread calls with what it has claimed; constants and views are made again in
// it, and what is known of the pointers is known there too.
// CHECK:       llvm.func @GOMP_parallel(!llvm.ptr, !llvm.ptr, i32, i32)
// CHECK-NEXT:  llvm.func @omp_get_max_threads() -> i32
// CHECK-NEXT:  llvm.func @omp_get_thread_num() -> i32
// CHECK:       llvm.func internal @copy.threads0.share(%first: i64, %end: i64, %part: i64, %left: i64,
// CHECK-SAME:      %data: !llvm.ptr, %parts: i64, %claim: i64,
// CHECK-SAME:      %arena: !llvm.ptr {llvm.noalias, llvm.align = 64 : i64
// CHECK-SAME:      %r: !llvm.ptr {llvm.noalias
// CHECK:         %[[VIEW:.*]] = llvm.getelementptr inbounds %arena[64]
// CHECK-NEXT:    llvm.br ^[[FOUND:.*]](%first, %end, %part, %left : i64, i64, i64, i64)
// CHECK-NEXT:  ^[[FOUND]](%[[FIRST:.*]]: i64, %[[END:.*]]: i64, %[[PART:.*]]: i64, %[[LEFT:.*]]: i64):
// CHECK-NEXT:    %[[BEHIND:.*]] = llvm.add %[[FIRST]], %claim
// CHECK-NEXT:    %[[LAST:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%[[BEHIND]], %[[END]])
// CHECK-NEXT:    llvm.br ^[[HEADER:.*]](%[[FIRST]] : i64)
// CHECK-NEXT:  ^[[HEADER]](%[[K:.*]]: i64):
// CHECK-NEXT:    %[[MORE:.*]] = llvm.icmp "slt" %[[K]], %[[LAST]] : i64
// CHECK-NEXT:    llvm.cond_br %[[MORE]], ^{{.*}}, ^[[DONE:.*]]
// CHECK:         %[[POSITION:.*]] = llvm.mul %[[K]], %c2 overflow<nsw> : i64
// CHECK-NEXT:    llvm.getelementptr inbounds %{{.*}}[%[[POSITION]]]
// CHECK:         llvm.br ^[[HEADER]]({{.*}}) {stepwell.no_unroll}
// CHECK:       ^[[DONE]]:
// CHECK-NEXT:    llvm.br ^[[LOOK:.*]](%[[PART]], %[[LEFT]] : i64, i64)

// A part has room for itself in two lines; when it is empty, the next one is looked into, after the last the first.
// CHECK-NEXT:  ^[[LOOK]](%[[PART:.*]]: i64, %[[LEFT:.*]]: i64):
// CHECK-NEXT:    %[[NEXT:.*]] = llvm.getelementptr inbounds %data[0, 0, %[[PART]], 0]
// CHECK-SAME:      !llvm.struct<(!llvm.array<4 x !llvm.array<16 x i64>>, i64, i64, !llvm.ptr, !llvm.ptr)>
// CHECK-NEXT:    %[[CLAIMED:.*]] = llvm.atomicrmw add %[[NEXT]], %claim monotonic : !llvm.ptr, i64
// CHECK-NEXT:    %[[PLACE:.*]] = llvm.getelementptr inbounds %data[0, 0, %[[PART]], 1]
// CHECK-NEXT:    %[[END:.*]] = llvm.load %[[PLACE]]
// CHECK-NEXT:    %[[ANY:.*]] = llvm.icmp "slt" %[[CLAIMED]], %[[END]] : i64
// CHECK-NEXT:    llvm.cond_br %[[ANY]], ^[[FOUND]](%[[CLAIMED]], %[[END]], %[[PART]], %[[LEFT]] : i64, i64, i64, i64), ^[[EMPTY:.*]]
// CHECK-NEXT:  ^[[EMPTY]]:
// CHECK-NEXT:    %[[AFTER:.*]] = llvm.add %[[PART]], %c1
// CHECK-NEXT:    %[[OVER:.*]] = llvm.icmp "eq" %[[AFTER]], %parts
// CHECK-NEXT:    %[[OTHER:.*]] = llvm.select %[[OVER]], %c0, %[[AFTER]]
// CHECK-NEXT:    %[[FEWER:.*]] = llvm.add %[[LEFT]], %cm1
// CHECK-NEXT:    %[[ANY:.*]] = llvm.icmp "sgt" %[[FEWER]], %c0
// CHECK-NEXT:    llvm.cond_br %[[ANY]], ^[[LOOK]](%[[OTHER]], %[[FEWER]] : i64, i64), ^{{.*}}

// A thread begins in its own part. One that comes late claims nothing, and leaves.
// CHECK:       llvm.func internal @copy.threads0(%[[DATA:.*]]: !llvm.ptr) {
// CHECK:         %[[NUMBER:.*]] = llvm.call @omp_get_thread_num()
// CHECK-NEXT:    %[[WIDE:.*]] = llvm.zext %[[NUMBER]] : i32 to i64
// CHECK-NEXT:    %[[OWN:.*]] = llvm.urem %[[WIDE]], %[[PARTS:.*]] : i64
// CHECK-NEXT:    llvm.br ^[[LOOK:.*]](%[[OWN]], %[[PARTS]] : i64, i64)
// CHECK:         llvm.cond_br %{{.*}}, ^[[LOOK]](%{{.*}} : i64, i64), ^[[NONE:.*]]
// CHECK-NEXT:  ^{{.*}}(%[[FIRST:.*]]: i64, %[[END:.*]]: i64, %[[PART:.*]]: i64, %[[LEFT:.*]]: i64):
// CHECK:         llvm.call @copy.threads0.share(%[[FIRST]], %[[END]], %[[PART]], %[[LEFT]], %[[DATA]], %[[PARTS]],
// CHECK-NEXT:    llvm.br ^[[NONE]]
// CHECK-NEXT:  ^[[NONE]]:
// CHECK-NEXT:    llvm.return

// CHECK:       llvm.func @copy(
// CHECK:         %data{{.*}} = llvm.alloca %{{.*}} x !llvm.struct<(!llvm.array<4 x {{.*}} {alignment = 128 : i64}
// CHECK:         %[[MAX:.*]] = llvm.call @omp_get_max_threads()
// CHECK-NEXT:    %[[TEAM:.*]] = llvm.zext %[[MAX]] : i32 to i64
// CHECK-NEXT:    %[[USEFUL:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%c4{{.*}}, %[[TEAM]])
// CHECK-NEXT:    %[[PARTS:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%[[USEFUL]], %{{.*}})
// CHECK:         %[[ENTRY:.*]] = llvm.mlir.addressof @copy.threads0 : !llvm.ptr
// CHECK-NEXT:    %[[ASKED:.*]] = llvm.trunc %[[USEFUL]] : i64 to i32
// CHECK-NEXT:    llvm.call @GOMP_parallel(%[[ENTRY]], %data{{.*}}, %[[ASKED]], %{{.*}})
// CHECK-NEXT:    llvm.return

// FOUR:          %[[FOUR:.*]] = llvm.mlir.constant(4 : i32) : i32
// FOUR:          llvm.call @GOMP_parallel(%{{.*}}, %{{.*}}, %[[FOUR]], %{{.*}})

// ONE-NOT:       GOMP_parallel
// ONE-NOT:       alloca
// ONE:           {stepwell.no_unroll}
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

// 200 iterations on 4 threads: each has a part of 50, and claims 16 times in all, 4 at a time.
// FOUR-LABEL: llvm.func @many(
// FOUR:         %[[BEGIN:.*]] = llvm.mul %[[PART:.*]], %c50 overflow<nsw> : i64
// FOUR-NEXT:    %[[END:.*]] = llvm.add %[[BEGIN]], %c50 overflow<nsw> : i64
// FOUR-NEXT:    %[[FIRST:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%[[BEGIN]], %c200
// FOUR-NEXT:    %[[NEXT:.*]] = llvm.getelementptr inbounds %[[DATA:.*]][0, 0, %[[PART]], 0]
// FOUR-NEXT:    llvm.store %[[FIRST]], %[[NEXT]]
// FOUR-NEXT:    %[[LAST:.*]] = llvm.call_intrinsic "llvm.smin.i64"(%[[END]], %c200
// FOUR:         %[[CLAIM:.*]] = llvm.getelementptr inbounds %[[DATA]][0, 2]
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
// CHECK:         %[[TEAM:.*]] = llvm.trunc %[[USEFUL]]
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

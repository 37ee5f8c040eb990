// RUN: stepwell-opt %s -p convert-loop-to-core | filecheck %s --check-prefix CORE
// RUN: stepwell-opt %s -p convert-loop-to-core,convert-core-to-llvm | filecheck %s
// RUN: stepwell-opt %s -p convert-loop-to-core,convert-core-to-llvm | stepwell-opt | filecheck %s
// RUN: stepwell compile %s --target x86-64-v4 --emit asm -o - | filecheck %s --check-prefix V4
// RUN: stepwell compile %s --target x86-64-v3 --emit asm -o - | filecheck %s --check-prefix V3
// RUN: stepwell compile %s --target neoverse-n1 --emit asm -o - | filecheck %s --check-prefix NEON

// Stores past the caches are of whole lines; then a fence (on x86 any locked instruction is one), so that they are
// in order with other stores.

// CORE:        vector.store %a, %B[%i, %{{.*}}] {nontemporal = true} : memref<8x32xf32>, vector<32xf32>
// CORE:        vector.store %{{.*}}, %C[%i, %{{.*}}] {nontemporal = true} : memref<8x4xf32>, vector<4xf32>

// CHECK:       %[[ADDRESS:.*]] = llvm.ptrtoint %[[PLACE:.*]] : !llvm.ptr to i64
// CHECK-NEXT:  %[[LOW:.*]] = llvm.and %[[ADDRESS]], %c63 : i64
// CHECK-NEXT:  %[[IS_LINE:.*]] = llvm.icmp "eq" %[[LOW]], %c0 : i64
// CHECK-NEXT:  llvm.cond_br %[[IS_LINE]], ^[[LINES:.*]], ^[[OTHERS:.*]]
// CHECK-NEXT: ^[[LINES]]:
// CHECK-NEXT:  llvm.store %a, %[[PLACE]] {alignment = 64 : i64, nontemporal} : vector<32xf32>, !llvm.ptr
// CHECK-NEXT:  llvm.br ^[[AFTER:.*]]
// CHECK-NEXT: ^[[OTHERS]]:
// CHECK-NEXT:  llvm.store %a, %[[PLACE]] {alignment = 4 : i64} : vector<32xf32>, !llvm.ptr
// CHECK-NEXT:  llvm.br ^[[AFTER]]
// CHECK-NEXT: ^[[AFTER]]:
// Less than a line at a time goes through the caches.
// CHECK:       llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr
// CHECK:       llvm.fence seq_cst
// CHECK-NEXT:  llvm.return

// V4:          vmovntps %zmm
// V4:          lock {{.*}}orl
// V3:          vmovntps %ymm
// V3:          lock {{.*}}orl
// NEON:        stnp q
// NEON:        dmb ish
func.func @f(%A: memref<8x32xf32>, %B: memref<8x32xf32> {stepwell.result}, %C: memref<8x4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel vector "j" %j = 0 to 32 {
      %a = loop.load %A[%i, %j] : memref<8x32xf32>
      loop.store %a, %B[%i, %j] {nontemporal} : memref<8x32xf32>
    }
    loop.for parallel vector "k" %k = 0 to 4 {
      %a = loop.load %A[%i, %k] : memref<8x32xf32>
      loop.store %a, %C[%i, %k] {nontemporal} : memref<8x4xf32>
    }
  }
  func.return
}

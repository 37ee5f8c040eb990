// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// A memref that crosses a branch is as many values as it is elsewhere. What nothing reaches is dropped.
// CHECK-LABEL: llvm.func @branches
// CHECK:         llvm.cond_br %c, ^[[JOIN:.*]](%x, %x_size0 : !llvm.ptr, i64), ^[[JOIN]](%y, %y_size0 : !llvm.ptr, i64)
// CHECK-NEXT:  ^[[JOIN]](%m: !llvm.ptr, %m_size0: i64):
// CHECK-NEXT:    llvm.return %m_size0 : i64
// CHECK-NOT:   ^
func.func @branches(%c: i1, %x: memref<?xf32>, %y: memref<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  cf.cond_br %c, ^join(%x : memref<?xf32>), ^join(%y : memref<?xf32>)
^never:
  cf.br ^join(%x : memref<?xf32>)
^join(%m: memref<?xf32>):
  %n = memref.dim %m, %c0 : memref<?xf32>
  func.return %n : index
}

// -----

// CHECK-LABEL: llvm.func @assert
// CHECK:         llvm.cond_br %c, ^[[OK:.*]], ^[[FAIL:.*]]
// CHECK-NEXT:  ^[[FAIL]]:
// CHECK-NEXT:    llvm.call @abort() : () -> ()
// CHECK-NEXT:    llvm.unreachable
func.func @assert(%c: i1) {
  cf.assert %c, "must hold"
  func.return
}

// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s
// RUN: not stepwell-opt %s --split-input-file 2>&1 >/dev/null | filecheck %s --check-prefix FIRST

// FIRST:     error: {{.*}}split_input.mlir:14:8: found unknown operation 'arith.addd'
// FIRST-NOT: error

// CHECK: func.func @good
func.func @good() {
  func.return
}

// -----
func.func @unknown(%x: i32) {
  %y = arith.addd %x, %x : i32
  func.return
}
// CHECK: split_input.mlir:14:8: found unknown operation 'arith.addd', expected one of dialect 'arith'; did you mean {{.*}}'arith.addi'

// -----
func.func @invalid(%x: i32) {
  %y = "arith.addf"(%x, %x) : (i32, i32) -> i32
  func.return
}
// CHECK: split_input.mlir:21:8: 'arith.addf': {{.*}}i32

// -----
// CHECK: func.func @good_again
func.func @good_again() {
  func.return
}

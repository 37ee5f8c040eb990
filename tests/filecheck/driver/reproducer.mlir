// RUN: not stepwell-opt %s -p cse,convert-core-to-llvm,dce --reproducer %t.mlir 2> %t.first
// RUN: filecheck %s --input-file %t.mlir
// RUN: not stepwell-opt %t.mlir -p convert-core-to-llvm 2>&1 >/dev/null | filecheck %s --check-prefix AGAIN

// The file says how to fail again, why it failed, and holds the IR as cse has left it.
// CHECK:      // stepwell-opt {{.*}}reproducer.mlir.tmp.mlir -p convert-core-to-llvm
// CHECK-NEXT: // fails: {{.*}}reproducer.mlir:[[LINE:[0-9]+]]:8: {{.*}}test.op
// CHECK-NEXT: // After it came: dce
// CHECK:      %a = arith.addi %x, %x : i32
// CHECK-NEXT: %c = "test.op"(%a, %a) : (i32, i32) -> i32

// AGAIN: error: {{.*}}tmp.mlir:7:10: {{.*}}test.op
func.func @f(%x: i32) -> i32 {
  %a = arith.addi %x, %x : i32
  %b = arith.addi %x, %x : i32
  %c = "test.op"(%a, %b) : (i32, i32) -> i32
  func.return %c : i32
}

// RUN: stepwell-opt %s --print-debuginfo | filecheck %s
// RUN: stepwell-opt %s | filecheck %s --check-prefix PLAIN

// CHECK:     arith.addi %x, %x : i32 loc("{{.*}}debuginfo.mlir":8:12)
// PLAIN-NOT: loc(
func.func @double(%x: i32) -> i32 {
  // The place is that of the operation's name.
  %twice = arith.addi %x, %x : i32
  func.return %twice : i32
}

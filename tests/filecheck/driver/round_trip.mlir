// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt - | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// CHECK-LABEL: func.func @double(
// CHECK-SAME:  %x: i32) -> i32
// CHECK-NEXT:    %twice = arith.addi %x, %x : i32
// CHECK-NEXT:    func.return %twice : i32
func.func @double(%x: i32) -> i32 {
  %twice = arith.addi %x, %x : i32
  func.return %twice : i32
}

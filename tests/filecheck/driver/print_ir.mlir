// RUN: stepwell-opt %s -p canonicalize,cse,dce --print-ir-before-all 2>&1 >/dev/null | filecheck %s --check-prefix BEFORE
// RUN: stepwell-opt %s -p canonicalize,cse,dce --print-ir-after-all 2>&1 >/dev/null | filecheck %s --check-prefix AFTER
// RUN: stepwell-opt %s -p canonicalize,cse,dce --print-ir-after-change 2>&1 >/dev/null | filecheck %s --check-prefix CHANGE
// RUN: stepwell-opt %s -p canonicalize,cse --print-between-passes | filecheck %s --check-prefix BETWEEN

// BEFORE:      IR before canonicalize
// BEFORE:      arith.addi
// BEFORE-NEXT: arith.addi
// BEFORE:      IR before cse
// BEFORE:      IR before dce

// AFTER:      IR after canonicalize
// AFTER:      arith.addi
// AFTER-NEXT: arith.addi
// AFTER:      IR after cse
// AFTER:      arith.addi
// AFTER-NEXT: arith.muli
// AFTER:      IR after dce

// Only cse changes it.
// CHANGE-NOT:  canonicalize
// CHANGE:      IR after cse
// CHANGE-NOT:  IR after

// BETWEEN:     IR after canonicalize:
// BETWEEN:     func.func
// BETWEEN:     func.func
// BETWEEN-NOT: func.func

func.func @f(%x: i32, %y: i32) -> i32 {
  %a = arith.addi %x, %y : i32
  %b = arith.addi %x, %y : i32
  %c = arith.muli %a, %b : i32
  func.return %c : i32
}

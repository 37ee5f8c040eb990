// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p convert-scf-to-cf,convert-core-to-llvm --split-input-file | filecheck %s --check-prefix CF

// CHECK-LABEL: llvm.func @loop
// CHECK:         llvm.br ^[[HEAD:.*]](%[[ZERO:.*]], %s : i64, f32)
// CHECK-NEXT:  ^[[HEAD]](%i: i64, %t: f32):
// CHECK-NEXT:    %[[MORE:.*]] = llvm.icmp "slt" %i, %n : i64
// CHECK-NEXT:    llvm.cond_br %[[MORE]], ^[[BODY:.*]], ^[[AFTER:.*]]
// CHECK-NEXT:  ^[[BODY]]:
// CHECK-NEXT:    %u = llvm.fadd %t, %t
// CHECK-NEXT:    %[[NEXT:.*]] = llvm.add %i, %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    llvm.br ^[[HEAD]](%[[NEXT]], %u : i64, f32)
// CHECK-NEXT:  ^[[AFTER]]:
// CHECK-NEXT:    llvm.return %t : f32

// CF-LABEL:    llvm.func @loop
// CF:            llvm.br ^[[HEAD:.*]](%[[ZERO:.*]], %s : i64, f32)
// CF-NEXT:     ^[[HEAD]](%i: i64, %t: f32):
// CF-NEXT:       llvm.icmp "slt" %i, %n : i64
func.func @loop(%n: index, %s: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %s) -> (f32) {
    %u = arith.addf %t, %t : f32
    scf.yield %u : f32
  }
  func.return %r : f32
}

// -----

// A counter of 32 bits may wrap.
// CHECK-LABEL: llvm.func @narrow
// CHECK:         llvm.add %i, %n : i32
func.func @narrow(%n: i32) {
  scf.for %i = %n to %n step %n : i32 {
  }
  func.return
}

// -----

// CHECK-LABEL: llvm.func @choice
// CHECK-NEXT:    llvm.cond_br %c, ^[[THEN:.*]], ^[[ELSE:.*]]
// CHECK-NEXT:  ^[[THEN]]:
// CHECK-NEXT:    llvm.br ^[[AFTER:.*]](%x : i32)
// CHECK-NEXT:  ^[[ELSE]]:
// CHECK-NEXT:    llvm.br ^[[AFTER]](%y : i32)
// CHECK-NEXT:  ^[[AFTER]](%r: i32):
// CHECK-NEXT:    llvm.return %r : i32
func.func @choice(%c: i1, %x: i32, %y: i32) -> i32 {
  %r = scf.if %c -> (i32) {
    scf.yield %x : i32
  } else {
    scf.yield %y : i32
  }
  func.return %r : i32
}

// -----

// CHECK-LABEL: llvm.func @while
// CHECK:         llvm.br ^[[BEFORE:.*]](%x : i32)
// CHECK-NEXT:  ^[[BEFORE]](%a: i32):
// CHECK-NEXT:    %more = llvm.icmp "slt" %a, %y : i32
// CHECK-NEXT:    llvm.cond_br %more, ^[[DO:.*]](%a : i32), ^[[AFTER:.*]](%a : i32)
// CHECK-NEXT:  ^[[DO]](%b: i32):
// CHECK-NEXT:    %d = llvm.add %b, %b : i32
// CHECK-NEXT:    llvm.br ^[[BEFORE]](%d : i32)
// CHECK-NEXT:  ^[[AFTER]](%r: i32):
func.func @while(%x: i32, %y: i32) -> i32 {
  %r = scf.while (%a = %x) : (i32) -> i32 {
    %more = arith.cmpi slt, %a, %y : i32
    scf.condition(%more) %a : i32
  } do {
  ^bb0(%b: i32):
    %d = arith.addi %b, %b : i32
    scf.yield %d : i32
  }
  func.return %r : i32
}

// -----

// CHECK-LABEL: llvm.func @switch
// CHECK:         llvm.icmp "eq" %k, %{{.*}} : i64
// CHECK:         llvm.br ^[[AFTER:.*]](%y : i32)
// CHECK:         llvm.br ^[[AFTER]](%x : i32)
func.func @switch(%k: index, %x: i32, %y: i32) -> i32 {
  %r = scf.index_switch %k -> i32
  case 3 {
    scf.yield %x : i32
  }
  default {
    scf.yield %y : i32
  }
  func.return %r : i32
}

// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// CHECK-LABEL: llvm.func @integers
// CHECK:         llvm.add %a, %b overflow<nsw> : i32
// CHECK-NEXT:    llvm.call_intrinsic "llvm.smax.i32"(%a, %b) : (i32, i32) -> i32
// CHECK-NEXT:    llvm.icmp "ult" %a, %b : i32
// CHECK-NEXT:    llvm.sext %a : i32 to i64
// CHECK-NEXT:    llvm.trunc %i : i64 to i32
func.func @integers(%a: i32, %b: i32, %i: index) {
  %0 = arith.addi %a, %b overflow<nsw> : i32
  %1 = arith.maxsi %a, %b : i32
  %2 = arith.cmpi ult, %a, %b : i32
  %3 = arith.index_cast %a : i32 to index
  %4 = arith.index_cast %i : index to i32
  func.return
}

// -----

// Fast-math flags stay, on intrinsics too.
// CHECK-LABEL: llvm.func @floats
// CHECK-NEXT:    llvm.fadd %a, %b {fastmathFlags = #llvm.fastmath<reassoc,contract>} : f32
// CHECK-NEXT:    llvm.fmul %a, %b : f32
// CHECK-NEXT:    llvm.call_intrinsic "llvm.maximum.f32"(%a, %b) {fastmathFlags = #llvm.fastmath<nnan>} : (f32, f32) -> f32
// CHECK-NEXT:    llvm.call_intrinsic "llvm.maxnum.f32"(%a, %b) : (f32, f32) -> f32
// CHECK-NEXT:    llvm.fcmp "olt" %a, %b : f32
func.func @floats(%a: f32, %b: f32) {
  %0 = arith.addf %a, %b fastmath<reassoc,contract> : f32
  %1 = arith.mulf %a, %b : f32
  %2 = arith.maximumf %a, %b fastmath<nnan> : f32
  %3 = arith.maxnumf %a, %b : f32
  %4 = arith.cmpf olt, %a, %b : f32
  func.return
}

// -----

// The C library is called for large quotients only. Flags allow nothing.
// CHECK-LABEL: llvm.func @remainder
// CHECK:         %[[QUOTIENT:.*]] = llvm.fdiv %a, %b : vector<8xf32>
// CHECK:         %[[WHOLE:.*]] = llvm.call_intrinsic "llvm.trunc.v8f32"(%[[QUOTIENT]])
// CHECK:         %[[MINUS:.*]] = llvm.fneg %[[WHOLE]]
// CHECK:         %[[LEFT:.*]] = llvm.intr.fma(%[[MINUS]], %b, %a)
// CHECK:         llvm.cond_br %{{.*}} ^[[AFTER:.*]](%[[STEPPED:.*]] : vector<8xf32>), ^[[RARE:.*]]
// CHECK:       ^[[RARE]]:
// CHECK-NEXT:    %[[CALLED:.*]] = llvm.frem %a, %b : vector<8xf32>
// CHECK-NEXT:    llvm.br ^[[AFTER]](%[[CALLED]] : vector<8xf32>)
// CHECK-NEXT:  ^[[AFTER]](%[[RESULT:.*]]: vector<8xf32>):
// CHECK-NEXT:    llvm.return %[[RESULT]]
func.func @remainder(%a: vector<8xf32>, %b: vector<8xf32>) -> vector<8xf32> {
  %0 = arith.remf %a, %b fastmath<fast> : vector<8xf32>
  func.return %0 : vector<8xf32>
}

// -----

// Casts to integers saturate; those from unsigned ones of 64 bits are `uitofp`.
// CHECK-LABEL: llvm.func @casts
// CHECK:         %[[INT:.*]] = llvm.trunc %{{.*}} : i32 to i8
// CHECK-NEXT:    %[[NUMBER:.*]] = llvm.fcmp "ord" %a, %a : f32
// CHECK:         llvm.select %[[NUMBER]], %[[INT]], %{{.*}}
// What is no number is the least one, 0, after the first choice.
// CHECK:         llvm.fcmp "ogt" %a
// CHECK:         %[[LOW:.*]] = llvm.select
// CHECK:         llvm.fcmp "olt" %[[LOW]]
// CHECK:         llvm.select
// CHECK-NEXT:    llvm.fptosi
// CHECK-NEXT:    llvm.trunc
// CHECK:         %[[WIDE:.*]] = llvm.zext %b : i8 to i32
// CHECK-NEXT:    llvm.sitofp %[[WIDE]] : i32 to f32
func.func @casts(%a: f32, %b: i8) {
  %0 = arith.fptosi %a : f32 to i8
  %1 = arith.fptoui %a : f32 to i8
  %2 = arith.uitofp %b : i8 to f32
  func.return
}

// -----

// What is in range is converted to a signed integer of 32 bits, and cut off.
// CHECK-LABEL: llvm.func @casts_in_range
// CHECK:         %[[SCALED:.*]] = llvm.fmul
// CHECK-NEXT:    %[[WIDE:.*]] = llvm.fptosi %[[SCALED]] : vector<8xf32> to vector<8xi32>
// CHECK-NEXT:    llvm.trunc %[[WIDE]] : vector<8xi32> to vector<8xi8>
// It is not where a byte may be doubled.
// CHECK:         llvm.fadd
// CHECK:         llvm.fcmp
func.func @casts_in_range(%a: vector<8xi8>) {
  %0 = arith.uitofp %a : vector<8xi8> to vector<8xf32>
  %1 = arith.constant dense<0.5> : vector<8xf32>
  %2 = arith.mulf %0, %1 : vector<8xf32>
  %3 = arith.fptoui %2 : vector<8xf32> to vector<8xi8>
  %4 = arith.addf %0, %0 : vector<8xf32>
  %5 = arith.fptoui %4 : vector<8xf32> to vector<8xi8>
  func.return
}

// -----

// A cast cuts off what is clipped to its own ends; other ends stay, and do not ask for NaN where there is none.
// CHECK-LABEL: llvm.func @clipped_casts
// CHECK:         llvm.fcmp "ogt" %a
// CHECK:         llvm.trunc
// CHECK:         "llvm.minimum.f32"(%a, %{{.*}}) : (f32, f32) -> f32
// CHECK:         %[[MORE:.*]] = llvm.call_intrinsic "llvm.maximum.f32"({{.*}}) {fastmathFlags = #llvm.fastmath<nnan>}
// CHECK-NEXT:    %[[LESS:.*]] = llvm.call_intrinsic "llvm.minimum.f32"(%[[MORE]], {{.*}}) {fastmathFlags = #llvm.fastmath<nnan>}
// CHECK-NEXT:    llvm.fptosi %[[LESS]] : f32 to i32
func.func @clipped_casts(%a: f32, %b: i16) {
  %low = arith.constant 0.0 : f32
  %high = arith.constant 255.0 : f32
  %less = arith.constant 200.0 : f32
  %0 = arith.maximumf %a, %low : f32
  %1 = arith.minimumf %high, %0 : f32
  %2 = arith.fptoui %1 : f32 to i8
  %3 = arith.minimumf %a, %less : f32
  %4 = arith.fptoui %3 : f32 to i8
  %5 = arith.sitofp %b : i16 to f32
  %6 = arith.maximumf %5, %low : f32
  %7 = arith.minimumf %6, %less : f32
  %8 = arith.fptoui %7 : f32 to i8
  func.return
}

// -----

// Constants that are equal are one, at the top.
// CHECK-LABEL: llvm.func @constants
// CHECK-NEXT:    %c7 = llvm.mlir.constant(7) : i64
// CHECK-NEXT:    llvm.mlir.constant(true) : i1
// CHECK-NEXT:    llvm.mlir.constant(2.500000e+00 : f32) : f32
// CHECK-NEXT:    llvm.add %c7, %c7 : i64
func.func @constants() {
  %x = arith.constant 7 : index
  %f = arith.constant 2.5 : f32
  %y = arith.constant 7 : i64
  %t = arith.constant true
  %z = arith.addi %x, %x : index
  func.return
}

// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt | filecheck %s

// What xDSL has on scalars only is also on vectors, in upstream's text.

// CHECK-LABEL: func.func @vectors
func.func @vectors(%a: vector<8xf32>, %m: vector<8xi1>, %n: vector<8xi32>, %b: vector<8xi8>, %x: vector<8xindex>) {
  // CHECK-NEXT: %0 = arith.cmpf olt, %a, %a : vector<8xf32>
  %0 = arith.cmpf olt, %a, %a : vector<8xf32>
  // CHECK-NEXT: %1 = arith.cmpi sge, %x, %x : vector<8xindex>
  %1 = arith.cmpi sge, %x, %x : vector<8xindex>
  // CHECK-NEXT: %2 = arith.select %m, %a, %a : vector<8xi1>, vector<8xf32>
  %2 = arith.select %m, %a, %a : vector<8xi1>, vector<8xf32>
  // CHECK-NEXT: %3 = arith.index_cast %x : vector<8xindex> to vector<8xi32>
  %3 = arith.index_cast %x : vector<8xindex> to vector<8xi32>
  // CHECK-NEXT: %4 = arith.sitofp %n : vector<8xi32> to vector<8xf32>
  %4 = arith.sitofp %n : vector<8xi32> to vector<8xf32>
  // CHECK-NEXT: %5 = arith.uitofp %n : vector<8xi32> to vector<8xf32>
  %5 = arith.uitofp %n : vector<8xi32> to vector<8xf32>
  // CHECK-NEXT: %6 = arith.fptosi %a : vector<8xf32> to vector<8xi8>
  %6 = arith.fptosi %a : vector<8xf32> to vector<8xi8>
  // CHECK-NEXT: %7 = arith.fptoui %a : vector<8xf32> to vector<8xi8>
  %7 = arith.fptoui %a : vector<8xf32> to vector<8xi8>
  // CHECK-NEXT: %8 = arith.trunci %n : vector<8xi32> to vector<8xi8>
  %8 = arith.trunci %n : vector<8xi32> to vector<8xi8>
  // CHECK-NEXT: %9 = arith.extsi %b : vector<8xi8> to vector<8xi32>
  %9 = arith.extsi %b : vector<8xi8> to vector<8xi32>
  // CHECK-NEXT: %10 = arith.extui %m : vector<8xi1> to vector<8xi32>
  %10 = arith.extui %m : vector<8xi1> to vector<8xi32>
  // CHECK-NEXT: %11 = arith.remf %a, %a fastmath<contract> : vector<8xf32>
  %11 = arith.remf %a, %a fastmath<contract> : vector<8xf32>
  func.return
}

// CHECK-LABEL: func.func @scalars
func.func @scalars(%a: f32, %m: i1, %n: i32) {
  // CHECK-NEXT: %0 = arith.cmpf olt, %a, %a : f32
  %0 = arith.cmpf olt, %a, %a : f32
  // CHECK-NEXT: %1 = arith.select %m, %a, %a : f32
  %1 = arith.select %m, %a, %a : f32
  // CHECK-NEXT: %2 = arith.sitofp %n : i32 to f32
  %2 = arith.sitofp %n : i32 to f32
  func.return
}

// CHECK-LABEL: llvm.func @flags
llvm.func @flags(%m: vector<8xi1>, %a: vector<8xf32>, %c: i1, %b: f32) {
  // CHECK-NEXT: llvm.select %m, %a, %a {fastmathFlags = #llvm.fastmath<ninf>} : vector<8xi1>, vector<8xf32>
  %0 = llvm.select %m, %a, %a {fastmathFlags = #llvm.fastmath<ninf>} : vector<8xi1>, vector<8xf32>
  // CHECK-NEXT: llvm.select %c, %b, %b {fastmathFlags = #llvm.fastmath<ninf>} : i1, f32
  %1 = llvm.select %c, %b, %b {fastmathFlags = #llvm.fastmath<ninf>} : i1, f32
  // CHECK-NEXT: llvm.fcmp "olt" %a, %a : vector<8xf32>
  %2 = llvm.fcmp "olt" %a, %a : vector<8xf32>
  llvm.return
}

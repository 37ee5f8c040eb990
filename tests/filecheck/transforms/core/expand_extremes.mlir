// RUN: stepwell-opt %s -p core-expand-extremes{target=x86-64-v3} | filecheck %s
// RUN: stepwell-opt %s -p core-expand-extremes{target=x86-64-v4} | filecheck %s --check-prefix=BITS
// RUN: stepwell-opt %s -p core-expand-extremes{target=neoverse-n1} | filecheck %s --check-prefix=OTHER

// CHECK-LABEL: func.func @both(
// CHECK-NEXT:    %[[G:.*]] = arith.cmpf ogt, %a, %b : f32
// CHECK-NEXT:    %[[M:.*]] = arith.select %[[G]], %a, %b : f32
// CHECK-NEXT:    %[[P:.*]] = arith.bitcast %[[M]] : f32 to i32
// CHECK-NEXT:    %[[H:.*]] = arith.cmpf ogt, %b, %a : f32
// CHECK-NEXT:    %[[N:.*]] = arith.select %[[H]], %b, %a : f32
// CHECK-NEXT:    %[[Q:.*]] = arith.bitcast %[[N]] : f32 to i32
// CHECK-NEXT:    %[[O:.*]] = arith.ori %[[P]], %[[Q]] : i32
// CHECK-NEXT:    %[[F:.*]] = arith.bitcast %[[O]] : i32 to f32
// CHECK-NEXT:    %[[X:.*]] = arith.xori %[[P]], %[[Q]] : i32
// CHECK-NEXT:    %[[D:.*]] = arith.bitcast %[[X]] : i32 to f32
// CHECK-NEXT:    arith.subf %[[F]], %[[D]] : f32
// CHECK-NEXT:    arith.cmpf olt, %v, %w : vector<4xf64>
// CHECK:         %[[R:.*]] = arith.ori %{{.*}} : vector<4xi64>
// CHECK-NEXT:    %[[S:.*]] = arith.bitcast %[[R]] : vector<4xi64> to vector<4xf64>
// CHECK-NEXT:    func.return %{{.*}}, %[[S]] : f32, vector<4xf64>
// BITS-LABEL:  func.func @both(
// BITS:          arith.andi
// BITS:          math.copysign
// OTHER-LABEL: func.func @both(
// OTHER-NEXT:    arith.maximumf
// OTHER-NEXT:    arith.minimumf
func.func @both(%a: f32, %b: f32, %v: vector<4xf64>, %w: vector<4xf64>) -> (f32, vector<4xf64>) {
  %x = arith.maximumf %a, %b : f32
  %y = arith.minimumf %v, %w : vector<4xf64>
  func.return %x, %y : f32, vector<4xf64>
}

// One instruction does where an operand is a number; and two where either zero may come out.

// CHECK-LABEL: func.func @left(
// CHECK:         arith.maximumf %a, %c : f32
// CHECK-NEXT:    arith.minimumf %a, %b fastmath<nsz> : f32
func.func @left(%a: f32, %b: f32) -> (f32, f32) {
  %c = arith.constant 2.0 : f32
  %x = arith.maximumf %a, %c : f32
  %y = arith.minimumf %a, %b fastmath<nsz> : f32
  func.return %x, %y : f32, f32
}

// A maximum of numbers is one instruction where the second operand is a number. Lanes that are reduced are made numbers, unless a
// loop has joined them.

// CHECK-LABEL: func.func @numbers(
// CHECK:         scf.for
// CHECK-NEXT:      %[[A:.*]] = vector.load
// CHECK-NEXT:      %[[G:.*]] = arith.cmpf ogt, %[[A]], %{{.*}} : vector<4xf32>
// CHECK-NEXT:      arith.select %[[G]], %[[A]], %{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK:         vector.reduction <maxnumf>, %{{.*}}, %{{.*}} fastmath<nnan> {stepwell.second_is_number} : vector<4xf32> into f32
// CHECK-NEXT:    %[[L:.*]] = arith.constant dense<0xff800000> : vector<4xf32>
// CHECK-NEXT:    %[[H:.*]] = arith.cmpf ogt, %v, %[[L]] : vector<4xf32>
// CHECK-NEXT:    %[[W:.*]] = arith.select %[[H]], %v, %[[L]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT:    vector.reduction <maxnumf>, %[[W]], %{{.*}} fastmath<nnan> {stepwell.second_is_number} : vector<4xf32> into f32
// CHECK-NEXT:    vector.reduction <maxnumf>, %{{[^ ]*}}, %{{[^ ]*}} : vector<4xf32> into f32
// CHECK-NEXT:    arith.maxnumf %{{.*}} : f32
// OTHER-LABEL: func.func @numbers(
// OTHER:         arith.maxnumf
func.func @numbers(%x: memref<16xf32>, %v: vector<4xf32>, %s: f32) -> (f32, f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %low = arith.constant 0xff800000 : f32
  %start = vector.broadcast %low : f32 to vector<4xf32>
  %lanes = scf.for %i = %c0 to %c16 step %c4 iter_args(%old = %start) -> (vector<4xf32>) {
    %a = vector.load %x[%i] : memref<16xf32>, vector<4xf32>
    %new = arith.maxnumf %a, %old {stepwell.second_is_number} : vector<4xf32>
    scf.yield %new : vector<4xf32>
  }
  %top = vector.reduction <maxnumf>, %lanes, %low {stepwell.second_is_number} : vector<4xf32> into f32
  %given = vector.reduction <maxnumf>, %v, %low {stepwell.second_is_number} : vector<4xf32> into f32
  %other = vector.reduction <maxnumf>, %lanes, %s : vector<4xf32> into f32
  %plain = arith.maxnumf %s, %top : f32
  func.return %top, %given, %other, %plain : f32, f32, f32, f32
}

// A maximum with 0 is one instruction that may leave -0, which a sum with 0 makes 0. With -0, and of what is a number, LLVM has
// one that is right.

// CHECK-LABEL: func.func @with_zero(
// CHECK-NEXT:    %[[Z:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %[[N:.*]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT:    %[[M:.*]] = arith.maximumf %a, %[[Z]] fastmath<nsz> : f32
// CHECK-NEXT:    %[[O:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    arith.addf %[[M]], %[[O]] : f32
// CHECK-NEXT:    arith.maximumf %a, %[[N]] : f32
// CHECK-NEXT:    %[[F:.*]] = arith.uitofp %i : i8 to f32
// CHECK-NEXT:    arith.maximumf %[[F]], %[[Z]] : f32
// CHECK-NEXT:    arith.minimumf %[[Z]], %a : f32
func.func @with_zero(%a: f32, %i: i8) -> (f32, f32, f32, f32) {
  %z = arith.constant 0.0 : f32
  %n = arith.constant -0.0 : f32
  %x = arith.maximumf %a, %z : f32
  %y = arith.maximumf %a, %n : f32
  %f = arith.uitofp %i : i8 to f32
  %v = arith.maximumf %f, %z : f32
  %w = arith.minimumf %z, %a : f32
  func.return %x, %y, %v, %w : f32, f32, f32, f32
}

// RUN: stepwell-opt %s -p "core-divide-by-invariants{target=x86-64-v3}" | filecheck %s
// RUN: stepwell-opt %s -p "core-divide-by-invariants{target=x86-64-v2}" | filecheck %s --check-prefix=APART
// RUN: stepwell-opt %s -p "core-divide-by-invariants{fp=strict target=x86-64-v3}" | filecheck %s --check-prefix=APART

// Without fused multiply-add, and by the strict contract, divisions stay.
// APART-NOT: math.fma

// Both parts of the reciprocal are computed where the divisor is known, with a bit that says whether they are it.
// CHECK-LABEL: @rows
// CHECK:      %[[D:.*]] = memref.load %d
// CHECK:      %[[NEAREST:.*]] = arith.divf %{{.*}}, %[[D]] : f64
// CHECK:      %[[IS_SUM:.*]] = arith.andi %{{.*}}, %{{.*}} : i1
// CHECK-NEXT: vector.broadcast %[[D]]
// CHECK-NEXT: %[[HIGH:.*]] = vector.broadcast %{{.*}} : f64 to vector<8xf64>
// CHECK-NEXT: %[[LOW:.*]] = vector.broadcast %{{.*}} : f64 to vector<8xf64>
// CHECK:      scf.for
// CHECK:        %[[Q:.*]] = scf.if %[[IS_SUM]] -> (vector<8xf64>) {
// CHECK-NEXT:     %[[SMALL:.*]] = arith.mulf %v, %[[LOW]] : vector<8xf64>
// CHECK-NEXT:     %[[QUOTIENT:.*]] = math.fma %v, %[[HIGH]], %[[SMALL]] : vector<8xf64>
// CHECK-NEXT:     scf.yield %[[QUOTIENT]]
// CHECK-NEXT:   } else {
// CHECK-NEXT:     arith.divf %v, %{{.*}} : vector<8xf64>
// CHECK:        vector.store %[[Q]]
func.func @rows(%x: memref<512xf64>, %d: memref<f64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c512 = arith.constant 512 : index
  %number = memref.load %d[] : memref<f64>
  %all = vector.broadcast %number : f64 to vector<8xf64>
  scf.for %i = %c0 to %c512 step %c8 {
    %v = vector.load %x[%i] : memref<512xf64>, vector<8xf64>
    %q = arith.divf %v, %all : vector<8xf64>
    vector.store %q, %x[%i] : memref<512xf64>, vector<8xf64>
  }
  func.return
}

// A loop of seven vectors, two registers each, divides too little; with one more division by the same number it is enough.
// CHECK-LABEL: @few
// CHECK-COUNT-1: arith.divf
// CHECK-NOT: math.fma
// CHECK-LABEL: @enough
// CHECK-COUNT-2: scf.if
func.func @few(%x: memref<56xf64>, %number: f64) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c56 = arith.constant 56 : index
  %all = vector.broadcast %number : f64 to vector<8xf64>
  scf.for %i = %c0 to %c56 step %c8 {
    %v = vector.load %x[%i] : memref<56xf64>, vector<8xf64>
    %q = arith.divf %v, %all : vector<8xf64>
    vector.store %q, %x[%i] : memref<56xf64>, vector<8xf64>
  }
  func.return
}
func.func @enough(%x: memref<64xf64>, %number: f64) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c56 = arith.constant 56 : index
  %all = vector.broadcast %number : f64 to vector<8xf64>
  scf.for %i = %c0 to %c56 step %c8 {
    %v = vector.load %x[%i] : memref<64xf64>, vector<8xf64>
    %q = arith.divf %v, %all : vector<8xf64>
    vector.store %q, %x[%i] : memref<64xf64>, vector<8xf64>
  }
  %last = vector.load %x[%c56] : memref<64xf64>, vector<8xf64>
  %again = vector.broadcast %number : f64 to vector<8xf64>
  %q = arith.divf %last, %again : vector<8xf64>
  vector.store %q, %x[%c56] : memref<64xf64>, vector<8xf64>
  func.return
}

// What the loop changes, what is a constant, what is marked, and what may be multiplied by the reciprocal anyway, stays.
// CHECK-LABEL: @stay
// CHECK-NOT: scf.if
func.func @stay(%x: memref<512xf64>, %number: f64) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c512 = arith.constant 512 : index
  %three = arith.constant 3.0 : f64
  %threes = vector.broadcast %three : f64 to vector<8xf64>
  %all = vector.broadcast %number : f64 to vector<8xf64>
  scf.for %i = %c0 to %c512 step %c8 {
    %v = vector.load %x[%i] : memref<512xf64>, vector<8xf64>
    %first = memref.load %x[%i] : memref<512xf64>
    %firsts = vector.broadcast %first : f64 to vector<8xf64>
    %a = arith.divf %v, %firsts : vector<8xf64>
    %b = arith.divf %a, %threes : vector<8xf64>
    %c = arith.divf %b, %all {stepwell.exact} : vector<8xf64>
    %d = arith.divf %c, %all fastmath<arcp> : vector<8xf64>
    vector.store %d, %x[%i] : memref<512xf64>, vector<8xf64>
  }
  func.return
}

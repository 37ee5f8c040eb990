// RUN: stepwell-opt %s -p core-divide-as-integers --split-input-file | filecheck %s

// A mean of bytes that becomes a byte: more than 255 is 255.
// CHECK-LABEL: func.func @mean
// CHECK:         %[[Q:.*]] = arith.divui %n, %{{.*}} : vector<8xi16>
// CHECK:         %[[CLIPPED:.*]] = arith.minui %[[Q]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    arith.trunci %[[CLIPPED]] : vector<8xi16> to vector<8xi8>
func.func @mean(%n: vector<8xi16>) -> vector<8xi8> {
  %nine = arith.constant dense<9.0> : vector<8xf64>
  %0 = arith.uitofp %n : vector<8xi16> to vector<8xf64>
  %1 = arith.divf %0, %nine : vector<8xf64>
  %2 = arith.fptoui %1 : vector<8xf64> to vector<8xi8>
  func.return %2 : vector<8xi8>
}

// -----

// Signed numbers, and a product with the reciprocal of a power of two.
// CHECK-LABEL: func.func @signed
// CHECK:         %[[Q:.*]] = arith.divsi %n, %{{.*}} : i16
// CHECK-NEXT:    arith.extsi %[[Q]] : i16 to i32
func.func @signed(%n: i16) -> i32 {
  %quarter = arith.constant 0.25 : f32
  %0 = arith.sitofp %n : i16 to f32
  %1 = arith.mulf %0, %quarter : f32
  %2 = arith.fptosi %1 : f32 to i32
  func.return %2 : i32
}

// -----

// A divisor with a fraction, a quotient that something else needs, and integers that a float rounds stay.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     arith.{{divui|divsi}}
func.func @kept(%n: i16, %m: i32) -> (i8, f64, i8, i16) {
  %half = arith.constant 2.5 : f64
  %three = arith.constant 3.0 : f64
  %short = arith.constant 3.0 : f16
  %0 = arith.uitofp %n : i16 to f64
  %1 = arith.divf %0, %half : f64
  %2 = arith.fptoui %1 : f64 to i8
  %3 = arith.divf %0, %three : f64
  %4 = arith.fptoui %3 : f64 to i8
  %5 = arith.uitofp %n : i16 to f16
  %6 = arith.divf %5, %short : f16
  %7 = arith.fptoui %6 : f16 to i16
  func.return %2, %3, %4, %7 : i8, f64, i8, i16
}

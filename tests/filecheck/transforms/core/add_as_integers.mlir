// RUN: stepwell-opt %s -p core-add-as-integers --split-input-file | filecheck %s

// A sum of three bytes, one of them twice: 16 bits hold it. The byte that is used as a float too stays one.
// CHECK-LABEL: func.func @sum
// CHECK:         %[[FLOAT:.*]] = arith.uitofp %a : vector<8xi8> to vector<8xf32>
// CHECK:         %[[A:.*]] = arith.extui %a : vector<8xi8> to vector<8xi16>
// CHECK:         %[[TWICE:.*]] = arith.muli %{{.*}}, %{{.*}} : vector<8xi16>
// CHECK:         %[[PART:.*]] = arith.addi %[[A]], %[[TWICE]] : vector<8xi16>
// CHECK:         %[[ALL:.*]] = arith.addi %[[PART]], %{{.*}} : vector<8xi16>
// CHECK-NEXT:    %[[SUM:.*]] = arith.uitofp %[[ALL]] : vector<8xi16> to vector<8xf32>
// CHECK-NEXT:    arith.divf %[[SUM]], %[[FLOAT]]
func.func @sum(%a: vector<8xi8>, %b: vector<8xi8>, %c: vector<8xi8>) -> vector<8xf32> {
  %0 = arith.uitofp %a : vector<8xi8> to vector<8xf32>
  %1 = arith.uitofp %b : vector<8xi8> to vector<8xf32>
  %2 = arith.uitofp %c : vector<8xi8> to vector<8xf32>
  %two = arith.constant 2.0 : f32
  %twos = vector.broadcast %two : f32 to vector<8xf32>
  %3 = arith.mulf %twos, %1 : vector<8xf32>
  %4 = arith.addf %0, %3 fastmath<contract> : vector<8xf32>
  %5 = arith.addf %4, %2 fastmath<contract> : vector<8xf32>
  %6 = arith.divf %5, %0 : vector<8xf32>
  func.return %6 : vector<8xf32>
}

// -----

// Where a difference may be negative, it is signed.
// CHECK-LABEL: func.func @difference
// CHECK:         %[[ALL:.*]] = arith.subi %{{.*}}, %{{.*}} : i16
// CHECK-NEXT:    arith.sitofp %[[ALL]] : i16 to f64
func.func @difference(%a: i8, %b: i8) -> f64 {
  %0 = arith.uitofp %a : i8 to f64
  %1 = arith.uitofp %b : i8 to f64
  %2 = arith.subf %0, %1 : f64
  func.return %2 : f64
}

// -----

// Nothing is saved where both floats are needed, a factor with a fraction is no whole number, a product with a number
// below 0 may be -0, and half precision rounds sums beyond 2048.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     arith.{{addi|subi|muli}}
func.func @kept(%a: i8, %b: i8, %c: i16) -> (f32, f32, f32, f32, f32, f16) {
  %0 = arith.uitofp %a : i8 to f32
  %1 = arith.uitofp %b : i8 to f32
  %2 = arith.addf %0, %1 : f32
  %half = arith.constant 0.5 : f32
  %less = arith.constant -1.0 : f32
  %3 = arith.mulf %0, %half : f32
  %4 = arith.mulf %1, %less : f32
  %5 = arith.sitofp %c : i16 to f16
  %6 = arith.addf %5, %5 : f16
  func.return %0, %1, %2, %3, %4, %6 : f32, f32, f32, f32, f32, f16
}

// -----

// A whole number that is a constant takes no conversion, and is one of the sum's sources all the same.
// CHECK-LABEL: func.func @with_a_constant
// CHECK:         %[[SUM:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK:         arith.addi %[[SUM]]
func.func @with_a_constant(%a: i8, %b: i8) -> f64 {
  %three = arith.constant 3.0 : f64
  %0 = arith.uitofp %a : i8 to f64
  %1 = arith.uitofp %b : i8 to f64
  %2 = arith.addf %0, %1 : f64
  %3 = arith.addf %2, %three : f64
  func.return %3 : f64
}

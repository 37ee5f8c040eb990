// RUN: stepwell-opt %s -p "core-divide-by-constants{target=x86-64-v3}" | filecheck %s
// RUN: stepwell-opt %s -p "core-divide-by-constants{target=x86-64-v2}" | filecheck %s --check-prefix=APART
// RUN: stepwell-opt %s -p "core-divide-by-constants{fp=strict target=x86-64-v3}" | filecheck %s --check-prefix=APART

// Without fused multiply-add, and by the strict contract, divisions stay.
// APART-NOT: math.fma

// Both parts of the reciprocal stand beside the divisor.
// CHECK-LABEL: @tenth
// CHECK:      %[[HIGH:.*]] = arith.constant 0.099999994 : f32
// CHECK-NEXT: %[[HIGHS:.*]] = vector.broadcast %[[HIGH]] : f32 to vector<8xf32>
// CHECK-NEXT: %[[LOW:.*]] = arith.constant {{.*}}e-09 : f32
// CHECK-NEXT: %[[LOWS:.*]] = vector.broadcast %[[LOW]] : f32 to vector<8xf32>
// CHECK:      %[[PRODUCT:.*]] = arith.mulf %x, %[[LOWS]] : vector<8xf32>
// CHECK-NEXT: math.fma %x, %[[HIGHS]], %[[PRODUCT]] : vector<8xf32>
func.func @tenth(%x: vector<8xf32>) -> vector<8xf32> {
  %ten = arith.constant 10.0 : f32
  %tens = vector.broadcast %ten : f32 to vector<8xf32>
  %q = arith.divf %x, %tens : vector<8xf32>
  func.return %q : vector<8xf32>
}

// The reciprocal of a power of two is one float, which LLVM knows; what is marked stays, and so does what is no constant.
// CHECK-LABEL: @stay
// CHECK-COUNT-4: arith.divf
// CHECK-NOT: math.fma
func.func @stay(%x: f64, %y: f64) -> (f64, f64, f64, f64) {
  %eight = arith.constant 8.0 : f64
  %three = arith.constant 3.0 : f64
  %a = arith.divf %x, %eight : f64
  %b = arith.divf %x, %three {stepwell.exact} : f64
  %c = arith.divf %x, %three fastmath<arcp> : f64
  %d = arith.divf %x, %y : f64
  func.return %a, %b, %c, %d : f64, f64, f64, f64
}

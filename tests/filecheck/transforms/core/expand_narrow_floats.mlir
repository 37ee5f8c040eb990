// RUN: stepwell-opt %s -p core-expand-narrow-floats{target=x86-64-v3} | filecheck %s
// RUN: stepwell-opt %s -p core-expand-narrow-floats{target=x86-64-v2} | filecheck %s --check-prefix=OLD
// RUN: stepwell-opt %s -p core-expand-narrow-floats{fp=strict} | filecheck %s --check-prefix=STRICT

// A bf16 is the upper half of an f32.
// CHECK-LABEL: func.func @extended
// CHECK-NEXT:    %[[BITS:.*]] = arith.bitcast %x : vector<8xbf16> to vector<8xi16>
// CHECK-NEXT:    %[[LOW:.*]] = arith.extui %[[BITS]] : vector<8xi16> to vector<8xi32>
// CHECK-NEXT:    %[[COUNT:.*]] = arith.constant dense<16> : vector<8xi32>
// CHECK-NEXT:    %[[HIGH:.*]] = arith.shli %[[LOW]], %[[COUNT]] : vector<8xi32>
// CHECK-NEXT:    %r = arith.bitcast %[[HIGH]] : vector<8xi32> to vector<8xf32>
// CHECK-NEXT:    func.return %r : vector<8xf32>
func.func @extended(%x: vector<8xbf16>) -> vector<8xf32> {
  %r = arith.extf %x : vector<8xbf16> to vector<8xf32>
  func.return %r : vector<8xf32>
}

// Rounded it has what carries into the upper half, but a NaN its own bits.
// CHECK-LABEL: func.func @rounded
// CHECK-NOT:     arith.truncf
// CHECK:         %[[NAN:.*]] = arith.cmpf uno, %x, %x : f32
// CHECK-NEXT:    arith.select %[[NAN]]
// CHECK:         arith.trunci {{.*}} : i32 to i16
// CHECK-NEXT:    %r = arith.bitcast {{.*}} : i16 to bf16
func.func @rounded(%x: f32) -> bf16 {
  %r = arith.truncf %x : f32 to bf16
  func.return %r : bf16
}

// OLD-LABEL:   func.func @half
// OLD-NOT:       f32 to f16

// f16 has instructions of its own, but on old machines; from f64 it is rounded once, by way of f32.
// CHECK-LABEL: func.func @half
// CHECK-NEXT:    arith.truncf %x : f32 to f16
// CHECK-NOT:     math.copysign
// CHECK:         %[[ODD:.*]] = arith.bitcast {{.*}} : i32 to f32
// CHECK-NEXT:    {{.*}} = arith.truncf %[[ODD]] : f32 to f16
func.func @half(%x: f32, %y: f64) -> (f16, f16) {
  %a = arith.truncf %x : f32 to f16
  %b = arith.truncf %y : f64 to f16
  func.return %a, %b : f16, f16
}

// Arithmetic is that of f32. Rounding in between is omitted, unless it may not be.
// CHECK-LABEL:  func.func @chain
// CHECK:          %[[P:.*]] = arith.mulf {{.*}} : f32
// CHECK-NEXT:     arith.extf
// CHECK-NEXT:     arith.addf %[[P]]
// CHECK-NEXT:     %s = arith.truncf
// STRICT-LABEL: func.func @chain
// STRICT:         %[[P:.*]] = arith.mulf {{.*}} : f32
// STRICT-NEXT:    %p = arith.truncf %[[P]] : f32 to f16
// STRICT-NEXT:    %[[W:.*]] = arith.extf %p : f16 to f32
// STRICT-NEXT:    %[[Y:.*]] = arith.extf %y : f16 to f32
// STRICT-NEXT:    arith.addf %[[W]], %[[Y]]
func.func @chain(%x: f16, %y: f16) -> f16 {
  %p = arith.mulf %x, %x : f16
  %s = arith.addf %p, %y : f16
  func.return %s : f16
}

// CHECK-LABEL: func.func @others
// CHECK-NEXT:    arith.addf %x, %x : f32
// CHECK-NEXT:    arith.select %c, %y, %y : bf16
func.func @others(%x: f32, %c: i1, %y: bf16) -> (f32, bf16) {
  %s = arith.addf %x, %x : f32
  %t = arith.select %c, %y, %y : bf16
  func.return %s, %t : f32, bf16
}

// RUN: stepwell-opt %s -p core-fp-flags | filecheck %s
// RUN: stepwell-opt %s -p core-fp-flags{fp=strict} | filecheck %s --check-prefix=STRICT
// RUN: stepwell-opt %s -p core-fp-flags{fp=fast} | filecheck %s --check-prefix=FAST
// RUN: not stepwell-opt %s -p core-fp-flags{fp=loose} 2>&1 | filecheck %s --check-prefix=LOOSE

// LOOSE: found fp='loose', expected one of strict, contract, fast; choose one

// CHECK-LABEL:  @f
// STRICT-LABEL: @f
// FAST-LABEL:   @f
func.func @f(%a: f32, %b: vector<4xf32>) -> (f32, vector<4xf32>, f32, f32, f32, f32, f32) {
  // CHECK-NEXT:  %p = arith.mulf %a, %a fastmath<contract> : f32
  // STRICT-NEXT: %p = arith.mulf %a, %a : f32
  // FAST-NEXT:   %p = arith.mulf %a, %a fastmath<fast> : f32
  %p = arith.mulf %a, %a : f32
  // CHECK-NEXT:  %v = arith.subf %b, %b fastmath<contract> : vector<4xf32>
  // STRICT-NEXT: %v = arith.subf %b, %b : vector<4xf32>
  %v = arith.subf %b, %b : vector<4xf32>
  // What is written stays.
  // CHECK-NEXT:  %r = arith.addf %p, %a fastmath<reassoc> : f32
  // FAST:        %r = arith.addf %p, %a fastmath<reassoc> : f32
  %r = arith.addf %p, %a fastmath<reassoc> : f32
  // CHECK-NEXT:  %e = arith.addf %p, %a {stepwell.exact} : f32
  // FAST-NEXT:   %e = arith.addf %p, %a {stepwell.exact} : f32
  %e = arith.addf %p, %a {stepwell.exact} : f32
  // CHECK-NEXT:  %q = arith.divf %a, %a : f32
  %q = arith.divf %a, %a : f32
  // Zeros of both signs may be either; a NaN stays one.
  // CHECK-NEXT:  %m = arith.maximumf %a, %p fastmath<nsz> : f32
  // STRICT:      %m = arith.maximumf %a, %p : f32
  // FAST:        %m = arith.maximumf %a, %p fastmath<nsz> : f32
  %m = arith.maximumf %a, %p : f32
  // CHECK-NEXT:  %n = arith.minimumf %a, %p fastmath<reassoc> : f32
  %n = arith.minimumf %a, %p fastmath<reassoc> : f32
  func.return %p, %v, %r, %e, %q, %m, %n : f32, vector<4xf32>, f32, f32, f32, f32, f32
}

// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// CHECK:       llvm.func @tanhf(f32) -> f32
// CHECK-NEXT:  llvm.func @erf(f64) -> f64

// CHECK-LABEL: llvm.func @scalars
// CHECK:         llvm.intr.exp(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
// CHECK-NEXT:    llvm.call_intrinsic "llvm.roundeven.f32"(%x) : (f32) -> f32
// CHECK-NEXT:    llvm.call @tanhf(%x) : (f32) -> f32
// CHECK-NEXT:    llvm.call @erf(%d) : (f64) -> f64
// CHECK-NEXT:    %[[ROOT:.*]] = llvm.intr.sqrt(%x) : (f32) -> f32
// CHECK-NEXT:    %[[ONE:.*]] = llvm.mlir.constant(1.000000e+00 : f32) : f32
// CHECK-NEXT:    llvm.fdiv %[[ONE]], %[[ROOT]]
// CHECK-NEXT:    llvm.call_intrinsic "llvm.abs.i32"(%i, %{{.*}}) : (i32, i1) -> i32
func.func @scalars(%x: f32, %d: f64, %i: i32) {
  %0 = math.exp %x fastmath<afn> : f32
  %1 = math.roundeven %x : f32
  %2 = math.tanh %x : f32
  %3 = math.erf %d : f64
  %4 = math.rsqrt %x : f32
  %5 = math.absi %i : i32
  func.return
}

// -----

// CHECK-LABEL: llvm.func internal @vectors
// CHECK:         llvm.intr.exp(%x) : (vector<2xf32>) -> vector<2xf32>
// CHECK:         %[[ELEMENT:.*]] = llvm.extractelement %x[%{{.*}} : i32] : vector<2xf32>
// CHECK-NEXT:    %[[VALUE:.*]] = llvm.call @tanhf(%[[ELEMENT]]) : (f32) -> f32
// CHECK-NEXT:    llvm.insertelement %[[VALUE]], %{{.*}}[%{{.*}} : i32] : vector<2xf32>
func.func private @vectors(%x: vector<2xf32>) {
  %0 = math.exp %x : vector<2xf32>
  %1 = math.tanh %x : vector<2xf32>
  func.return
}

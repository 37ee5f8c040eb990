// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @tensor(%x: tensor<4xf32>) {
  func.return
}
// CHECK: reject.mlir:3:1: 'func.func' has a value of type tensor<4xf32>, expected scalars of f16, bf16, f32, f64, integers or index, 1-D vectors of them, or memrefs of strided layout; convert it before convert-core-to-llvm

// -----

func.func @space(%x: memref<4xf32, 1 : i32>) {
  func.return
}
// CHECK: reject.mlir:10:1: 'func.func' has a value of type memref<4xf32, 1 : i32> in a memory space, expected

// -----

func.func @operation(%x: memref<4xf32>) {
  %i = arith.constant 0 : index
  %v = arith.constant 0.0 : f32
  %r = "memref.atomic_rmw"(%v, %x, %i) <{kind = 0 : i64}> : (f32, memref<4xf32>, index) -> f32
  func.return
}
// CHECK: reject.mlir:20:8: found 'memref.atomic_rmw', expected an operation that convert-core-to-llvm lowers; lower or rewrite it before that pass

// -----

func.func @stack() {
  %b = memref.alloca() : memref<300000xf32>
  func.return
}
// CHECK: reject.mlir:28:8: found 1200000 bytes of memref.alloca in one function, expected at most 1048576; use memref.alloc or a smaller buffer

// -----

func.func @matrix(%x: vector<4x4xf32>) {
  func.return
}
// CHECK: reject.mlir:35:1: 'func.func' has a value of type vector<4x4xf32>, which is not a fixed 1-D vector, expected

// -----

func.func private @tanhf(%x: f32) -> f32 {
  %y = math.tanh %x : f32
  func.return %y : f32
}
// CHECK: reject.mlir:43:8: 'math.tanh' needs the C function 'tanhf', but the module defines a function of that name; rename it

// -----

func.func @entry(%c: i1) {
  cf.cond_br %c, ^again, ^done
^again:
  cf.br ^bb0
^bb0:
  cf.br ^done
^done:
  func.return
}

// -----

"memref.global"() <{
  sym_name = "open", sym_visibility = "private", type = memref<?xf32>, initial_value, constant
}> : () -> ()
// CHECK: reject.mlir:62:1: found 'memref.global' of type memref<?xf32>, which is not static with identity layout, expected

// -----

func.func @brain(%a: bf16) -> bf16 {
  %r = arith.addf %a, %a : bf16
  func.return %r : bf16
}
// CHECK: 'arith.addf' on bf16, expected no arithmetic on bf16 at this level; run core-expand-narrow-floats before

// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @load_rank(%A: memref<4x5xf32>, %i: index) {
  %a = loop.load %A[%i] : memref<4x5xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found 1 subscripts, expected 2, the rank of memref<4x5xf32>; mend them

// -----

func.func @store_rank(%A: memref<4x5xf32>, %v: f32) {
  loop.store %v, %A[] : memref<4x5xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found 0 subscripts, expected 2, the rank of memref<4x5xf32>; mend them

// -----

func.func @outside(%A: memref<4x5xf32>, %i: index) {
  %a = loop.load %A[%i, 5] : memref<4x5xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found 5 as subscript 1, expected it inside the 5 elements of that axis; mend it

// -----

func.func @outside_in_a_loop(%A: memref<4xf32>, %v: f32) {
  loop.for serial "i" %i = 2 to 4 {
    loop.store %v, %A[-1] : memref<4xf32>
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:5: found -1 as subscript 0, expected it inside the 4 elements of that axis; mend it

// -----

func.func @load_type(%A: memref<4xf32>) {
  %a = "loop.load"(%A) <{map = affine_map<() -> (0)>}> : (memref<4xf32>) -> f64
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a value of type f64, expected f32, the elements of memref<4xf32>; cast it or mend the buffer

// -----

func.func @store_type(%A: memref<4xf32>, %v: f64) {
  "loop.store"(%v, %A) <{map = affine_map<() -> (0)>}> : (f64, memref<4xf32>) -> ()
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found a value of type f64, expected f32, the elements of memref<4xf32>; cast it or mend the buffer

// -----

func.func @store_type_in_text(%A: memref<4xf32>, %v: f64) {
  loop.store %v, %A[0] : memref<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:14: found '%v' used as f32, expected f64, its type elsewhere; mend one of the two types or convert the value

// -----

func.func @no_memref(%x: tensor<4xf32>) {
  %a = loop.load %x[0] : tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:26: found the type tensor<4xf32>, expected a memref; mend it

// -----

func.func @map_operands(%A: memref<4xf32>, %i: index) {
  %a = "loop.load"(%A, %i) <{map = affine_map<() -> (0)>}> : (memref<4xf32>, index) -> f32
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found subscripts () -> (0), expected one dimension for each of its 1 operands and no symbols; mend the map

// -----

func.func @map_symbols(%A: memref<4xf32>, %i: index) {
  %a = "loop.load"(%A, %i) <{map = affine_map<()[s0] -> (s0)>}> : (memref<4xf32>, index) -> f32
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found subscripts ()[s0] -> (s0), expected one dimension for each of its 1 operands and no symbols; mend the map

// -----

func.func @subscript_is_no_index(%A: memref<4xf32>, %i: i32) {
  %a = loop.load %A[%i] : memref<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:21: found '%i' used as index, expected i32, its type elsewhere; mend one of the two types or convert the value

// -----

func.func @product(%A: memref<4xf32>, %i: index) {
  %a = loop.load %A[%i * %i] : memref<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:24: found a product of two variables, expected an affine expression; multiply by a number

// -----

func.func @division_in_generic_form(%A: memref<4xf32>, %i: index) {
  %a = "loop.load"(%A, %i) <{map = affine_map<(d0) -> (d0 mod -4)>}> : (memref<4xf32>, index) -> f32
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found subscripts (d0 mod -4), expected an affine expression: (d0 mod -4) divides by -4, which is not positive

// -----

func.func @name_twice() {
  loop.for serial "i" %i = 0 to 4 {
    loop.if (%i >= 1) {
      loop.for serial "i" %j = 0 to 4 {
      }
    }
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:7: found loop "i" inside another of that name, expected another name: schedules address loops by name; rename one

// -----

func.func @step() {
  loop.for serial "i" %i = 0 to 4 step 0 {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found step 0, expected at least 1; mend it

// -----

func.func @negative_step() {
  loop.for serial "i" %i = 4 to 0 step -1 {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found step -1, expected at least 1; mend it

// -----

func.func @no_bound() {
  loop.for serial "i" %i = max() to 4 {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found no bound, expected a lower and an upper one; add it

// -----

func.func @kind() {
  loop.for sequential "i" %i = 0 to 4 {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:12: found 'sequential', expected `parallel`, `reduction`, or `serial`; mend the text here

// -----

func.func @no_name() {
  loop.for serial %i = 0 to 4 {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:19: found '%i', expected string literal; mend the text here

// -----

func.func @yields_a_value(%v: f32) {
  loop.for serial "i" %i = 0 to 4 {
    loop.yield %v : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found no plain loop.yield, expected one at the end of the body; add it

// -----

func.func @loop_arguments() {
  "loop.for"() <{operandSegmentSizes = array<i32: 0, 0>, loop_name = "i", kind = #loop.kind serial, lower_map = affine_map<() -> (0)>, upper_map = affine_map<() -> (4)>, step = 1 : index}> ({
    "loop.yield"() : () -> ()
  }) : () -> ()
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found a body of 0 arguments, expected one of type index, the loop variable; mend them

// -----

func.func @bound_operands(%n: index) {
  "loop.for"(%n) <{operandSegmentSizes = array<i32: 0, 1>, loop_name = "i", kind = #loop.kind serial, lower_map = affine_map<() -> (0)>, upper_map = affine_map<() -> (4)>, step = 1 : index}> ({
  ^bb0(%i: index):
    "loop.yield"() : () -> ()
  }) : (index) -> ()
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found upper bound () -> (4), expected one dimension for each of its 1 operands and no symbols; mend the map

// -----

func.func @variable_after_its_loop(%A: memref<4xf32>) {
  loop.for serial "i" %i = 0 to 4 {
  }
  %a = loop.load %A[%i] : memref<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:21: found a use of %i, expected a value that is defined here; it is defined in a region that does not enclose this use; return or yield it

// -----

func.func @no_else(%i: index, %v: f32) {
  %r = loop.if (%i >= 0) -> (f32) {
    loop.yield %v : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found results without an else branch, expected one; add it

// -----

func.func @branch_types(%i: index, %v: f32) {
  %r = loop.if (%i >= 0) -> (f32) {
    loop.yield %v : f32
  } else {
    loop.yield %v, %v : f32, f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a branch that yields (f32, f32), expected (f32), the result types; make them agree

// -----

func.func @empty_condition() {
  loop.if () {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found an empty condition, expected a constraint; add one

// -----

func.func @comparison(%i: index) {
  loop.if (%i > 0) {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:18: found ')', expected one of `>=`, `<=`, `==`, got >0; mend the text here

// -----

func.func @condition_operands(%i: index) {
  "loop.if"(%i, %i) <{condition = affine_set<(d0) : (d0 >= 0)>}> ({
    "loop.yield"() : () -> ()
  }, {
  }) : (index, index) -> ()
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found condition (d0) : (d0 >= 0), expected one dimension for each of its 2 operands and no symbols; mend it

// -----

func.func @branch_arguments(%i: index) {
  "loop.if"(%i) <{condition = affine_set<(d0) : (d0 >= 0)>}> ({
  ^bb0(%j: index):
    "loop.yield"() : () -> ()
  }, {
  }) : (index) -> ()
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found a branch with arguments, expected none; drop them

// -----

func.func @branch_without_yield(%i: index) {
  loop.if (%i >= 0) {
    "llvm.unreachable"() : () -> ()
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found a branch without loop.yield, expected it at the end; add it

// -----

func.func @missing_size() {
  %a = loop.alloc arena : memref<?xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found 0 sizes given as values, expected 1 for memref<?xf32>; give one for each '?'

// -----

func.func @stack_is_static(%n: index) {
  %a = loop.alloc stack(%n) : memref<?xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a stack buffer of type memref<?xf32>, expected a static shape; give the sizes or choose another scope

// -----

func.func @scope() {
  %a = loop.alloc heap : memref<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:19: found 'heap', expected `register`, `stack`, `thread`, or `arena`; mend the text here

// -----

func.func @alloc_type() {
  %a = loop.alloc stack : f32
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:27: found the type f32, expected a memref; mend it

// -----

func.func @dead_buffer(%c: i1, %v: f32) {
  %a = loop.alloc stack : memref<4xf32>
  cf.br ^next
^next:
  loop.store %v, %a[0] : memref<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a use of the buffer by 'loop.store' in another block, expected uses inside the block that has it, where it is alive; allocate it there

// -----

func.func @yield_of_a_function() {
  loop.yield
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: 'loop.yield' expects parent op to be one of 'loop.for', 'loop.if'

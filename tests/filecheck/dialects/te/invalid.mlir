// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @rank(%x: tensor<4x5xf32>) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4x5xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found 1 subscripts on operand 0, expected 2, the tensor's rank; mend the map

// -----

func.func @outside(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] (%a = %x[%i + 1]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found subscript 0 of operand 0 running from 1 to 4, expected it inside the 4 elements of that axis; add an 'else' value or mend it

// -----

func.func @below(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4, %j = 2] (%a = %x[%i - %j]) : (tensor<4xf32>) -> tensor<4x2xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found subscript 0 of operand 0 running from -1 to 3, expected it inside the 4 elements of that axis; add an 'else' value or mend it

// -----

// Neither corner of the space breaks this one.
func.func @outside_inside_the_space(%x: tensor<3xf32>) {
  %r = te.compute [%i = 6] (%a = %x[%i mod 5]) : (tensor<3xf32>) -> tensor<6xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found subscript 0 of operand 0 running from 0 to 4, expected it inside the 3 elements of that axis; add an 'else' value or mend it

// -----

func.func @outside_whatever_the_extent(%x: tensor<3xf32>, %n: index) {
  %r = te.compute [%i = %n] (%a = %x[%i + 3]) : (tensor<3xf32>) -> tensor<?xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found subscript 0 of operand 0 running from 3 to 3, expected it inside the 3 elements of that axis; add an 'else' value or mend it

// -----

func.func @not_an_iterator(%x: tensor<4xf32>, %n: index) {
  %r = te.compute [%i = 4] (%a = %x[%n]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:37: found %n in a subscript, expected iterators of this compute; they are %i

// -----

func.func @not_affine(%x: tensor<4xf32>) {
  %r = te.compute [%i = 2, %j = 2] (%a = %x[%i * %j]) : (tensor<4xf32>) -> tensor<2x2xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:48: found a product of two variables, expected an affine expression; multiply by a number

// -----

func.func @division(%x: tensor<4xf32>) {
  %r = te.compute [%i = 2] (%a = %x[%i floordiv 0]) : (tensor<4xf32>) -> tensor<2xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:40: found 'floordiv' by 0, expected an affine expression; divide by a positive number

// -----

func.func @iterator_twice(%x: tensor<4xf32>) {
  %r = te.compute [%i = 2, %i = 2] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<2x2xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:28: found a second definition of %i, expected a new name; rename one of them

// -----

func.func @result_shape(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4x1xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a result of shape 4x1, expected 4, the extents of the parallel iterators; make them agree

// -----

func.func @result_extent(%x: tensor<4xf32>) {
  %r = te.compute [] add [%k = 4] (%a = %x[%k]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a result of shape 4, expected (), the extents of the parallel iterators; make them agree

// -----

func.func @negative_extent() {
  %r = te.compute [%i = -1] () : () -> tensor<?xf32> {
    %c = arith.constant 0.0 : f32
    te.yield %c : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found extents [-1], expected none below 0; mend them

// -----

func.func @element_type(%x: tensor<4xf80>) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf80>) -> tensor<4xf80> {
    te.yield %a : f80
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a result of type f80, expected one of f32, f64, f16, bf16, i8, i16, i32, i64, i1; cast it

// -----

func.func @signed_element(%x: tensor<4xui8>) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xui8>) -> tensor<4xi8> {
    %c = arith.constant 0 : i8
    te.yield %c : i8
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found operand 0 of type ui8, expected one of f32, f64, f16, bf16, i8, i16, i32, i64, i1; cast it

// -----

func.func @pad_type(%x: tensor<4xf32>) {
  %r = te.compute [%i = 6] (%a = %x[%i] else 0 : i32) : (tensor<4xf32>) -> tensor<6xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found the 'else' value 0 : i32 on operand 0, expected one of type f32, the tensor's elements; mend it

// -----

func.func @pad_is_no_number(%x: tensor<4xf32>) {
  %r = te.compute [%i = 6] (%a = %x[%i] else "zero") : (tensor<4xf32>) -> tensor<6xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:46: found "zero" after 'else', expected a number; write it as in '0.0 : f32'

// -----

func.func @yield_type(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xi32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a body that yields (f32), expected one value of i32; cast it or mend the result type

// -----

func.func @yields_two(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a, %a : f32, f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a body that yields (f32, f32), expected one value of f32; cast it or mend the result type

// -----

func.func @arg_yield(%x: tensor<4xf32>) {
  %r = te.compute [] argmax [%k = 4] (%a = %x[%k]) : (tensor<4xf32>) -> tensor<i64> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found an argmax that yields (f32) for elements of i64, expected a value and an index of that type, an integer; mend it

// -----

func.func @arg_index(%x: tensor<4xf32>) {
  %r = te.compute [] argmax [%k = 4] (%a = %x[%k]) : (tensor<4xf32>) -> tensor<f32> {
    te.yield %a, %a : f32, f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found an argmax that yields (f32, f32) for elements of f32, expected a value and an index of that type, an integer; mend it

// -----

func.func @combiner_on_type(%x: tensor<4xf32>) {
  %r = te.compute [] umax [%k = 4] (%a = %x[%k]) : (tensor<4xf32>) -> tensor<f32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found combiner 'umax' over values of f32, expected one defined on them; choose another

// -----

func.func @no_yield(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    "llvm.unreachable"() : () -> ()
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a body without te.yield, expected it at the end; add it

// -----

func.func @too_few_types(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] (%a = %x[%i], %b = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:57: found 1 operand and 1 result types, expected 2 and at least one; give the types of what is read, then those of the results

// -----

func.func @no_tensor(%x: f32) {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (f32) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:44: found the type f32, expected a tensor; mend it

// -----

func.func @unknown_combiner(%x: tensor<4xf32>) {
  %r = te.compute [] sum [%k = 4] (%a = %x[%k]) : (tensor<4xf32>) -> tensor<f32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:22: found 'sum', expected '(' or a combiner; the combiners are add, mul, max, min, maxnum, umax, umin, and, or, argmax, argmin

// -----

func.func @combiner_alone(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] add [] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a combiner alone, expected a combiner and reduction iterators, or neither; add what is missing

// -----

func.func @extents_and_values(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: -9223372036854775808>, num_parallel = 1 : i64, maps = [affine_map<(d0) -> (d0)>], pads = [unit]}> ({
  ^bb0(%i: index, %a: f32):
    "te.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found 0 extents given as values, expected 1; give one for each dynamic extent

// -----

func.func @lists(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: 4>, num_parallel = 1 : i64, maps = [affine_map<(d0) -> (d0)>], pads = []}> ({
  ^bb0(%i: index, %a: f32):
    "te.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found 1 operands, 1 maps and 0 pads, expected as many of each; mend the lists

// -----

func.func @map_dimensions(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: 4>, num_parallel = 1 : i64, maps = [affine_map<(d0, d1) -> (d0)>], pads = [unit]}> ({
  ^bb0(%i: index, %a: f32):
    "te.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found map (d0, d1) -> (d0) on operand 0, expected one dimension for each of the 1 iterators and no symbols; mend the map

// -----

func.func @num_parallel(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: 4>, num_parallel = 2 : i64, maps = [affine_map<(d0) -> (d0)>], pads = [unit]}> ({
  ^bb0(%i: index, %a: f32):
    "te.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found num_parallel = 2, expected 0 to 1, the number of iterators; mend it

// -----

func.func @no_combiner(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: 4>, num_parallel = 0 : i64, maps = [affine_map<(d0) -> (d0)>], pads = [unit]}> ({
  ^bb0(%i: index, %a: f32):
    "te.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<f32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found reduction iterators alone, expected a combiner and reduction iterators, or neither; add what is missing

// -----

func.func @body_arguments(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: 4>, num_parallel = 1 : i64, maps = [affine_map<(d0) -> (d0)>], pads = [unit]}> ({
  ^bb0(%a: f32):
    "te.yield"(%a) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a body that takes (f32), expected (index, f32): the iterators, then what is read; mend its arguments

// -----

func.func @pad_of_whole_tensor(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: 4>, num_parallel = 1 : i64, maps = [unit], pads = [0.0 : f32]}> ({
  ^bb0(%i: index, %a: tensor<4xf32>):
    %c = "arith.constant"() <{value = 0.0 : f32}> : () -> f32
    "te.yield"(%c) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found an 'else' value on operand 0, expected none on a read without subscripts; drop it

// -----

func.func @maps_of_something_else(%x: tensor<4xf32>) {
  %r = "te.compute"(%x) <{operandSegmentSizes = array<i32: 1, 0>, extents = array<i64: 4>, num_parallel = 1 : i64, maps = [3 : i32], pads = [unit]}> ({
  ^bb0(%i: index, %a: tensor<4xf32>):
    %c = "arith.constant"() <{value = 0.0 : f32}> : () -> f32
    "te.yield"(%c) : (f32) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: 'te.compute': Unexpected attribute 3 : i32

// -----

func.func @kernel_argument_types(%x: tensor<4xf32>) {
  %r = te.kernel "k" (%a = %x) : (tensor<4xf32>, index) -> tensor<4xf32> {
    te.yield %a : tensor<4xf32>
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:34: found 2 input types, expected 1, one for each input; make them agree

// -----

func.func @kernel_results(%x: tensor<4xf32>) {
  %r = te.kernel "k" (%a = %x) : (tensor<4xf32>) -> tensor<5xf32> {
    te.yield %a : tensor<4xf32>
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a body that yields (tensor<4xf32>), expected (tensor<5xf32>), the types of the results; make them agree

// -----

func.func @kernel_sees_nothing_around_it(%x: tensor<4xf32>) {
  %r = te.kernel "k" () : () -> tensor<4xf32> {
    te.yield %x : tensor<4xf32>
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:5: 'te.yield' uses %x, a block argument, from outside of 'te.kernel', which sees nothing around it; pass the value in as an argument

// -----

func.func @kernel_without_yield(%x: tensor<4xf32>) {
  %r = te.kernel "k" () : () -> tensor<4xf32> {
    "llvm.unreachable"() : () -> ()
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a body without te.yield, expected it at the end; add it

// -----

func.func @kernel_body_arguments(%x: tensor<4xf32>) {
  %r = "te.kernel"(%x) <{kernel_name = "k", operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%a: tensor<5xf32>):
    "te.yield"(%a) : (tensor<5xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<5xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a body that takes (tensor<5xf32>), expected (tensor<4xf32>), the types of the inputs; make them agree

// -----

func.func @kernel_with_results_and_destinations(%x: tensor<4xf32>, %y: memref<4xf32>) {
  %r = "te.kernel"(%x, %y) <{kernel_name = "k", operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%a: tensor<4xf32>):
    "te.yield"(%a) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>, memref<4xf32>) -> tensor<4xf32>
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found 1 destinations and 1 results, expected one or the other; results that are written to buffers are no values

// -----

func.func @kernel_writes_twice(%x: tensor<4xf32>, %y: memref<4xf32>) {
  te.kernel "k" (%a = %x) into (%y, %y) : (tensor<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
    te.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found a buffer twice among the destinations, expected each once; give each result its own

// -----

func.func @kernel_destination_of_another_shape(%x: memref<4xf32>, %y: memref<5xf32>) {
  te.kernel "k" (%a = %x) into (%y) : (memref<4xf32>) -> memref<5xf32> {
    te.yield %a : tensor<4xf32>
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found a body that yields (tensor<4xf32>), expected (tensor<5xf32>), the types of the results; make them agree

// -----

func.func @used_before_its_definition(%x: tensor<4xf32>) {
  %r = te.compute [%i = 4] (%a = %y[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  %y = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: 'te.compute' uses %y, the result of 'te.compute' ({{.*}}:8), before its definition; move the definition up

// -----

func.func @few_yielded(%x: tensor<4xf32>) {
  %r, %s = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    te.yield %a : f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:12: found a body that yields (f32), expected 2 values for the 2 results; yield what is missing

// -----

func.func @few_combiners(%x: tensor<4xf32>) {
  %r, %s = te.compute [] add [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
    te.yield %a, %a : f32, f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:12: found 1 combiners for 2 results, expected one for each; make them agree

// -----

func.func @no_combiner(%x: tensor<4xf32>) {
  %r, %s = te.compute [] add, [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
    te.yield %a, %a : f32, f32
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:31: found a comma, expected a combiner after it; drop it

// -----

func.func @loops_write_operand(%x: tensor<4xf32>) {
  %r = te.loops "update" (%a = %x) -> (%out) : (tensor<4xf32>) -> tensor<4xf32> {
    %c = arith.constant 1.0 : f32
    loop.store %c, %a[2] : memref<4xf32>
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:8: found a store to %a, which is only read, expected one to a result; give it a result that starts with the operand

// -----

func.func @loops_start(%x: tensor<4xf32>) {
  %r = te.loops "update" () -> (%out, %other = %x) : () -> (tensor<4xf32>, tensor<4xf32>) {
  }
  func.return
}
// CHECK: invalid.mlir:{{[0-9]+}}:{{[0-9]+}}: found an operand without a value, expected '%name = %value' for each, and results that start with a value before the others

// -----

func.func @yield_of_a_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  te.yield %x : tensor<4xf32>
}
// CHECK: invalid.mlir:{{[0-9]+}}:3: found 'te.yield' at the end of a block of 'func.func', expected it in an operation of te; end a function with func.return

// RUN: stepwell-opt %s -p convert-te-to-loop | filecheck %s

// Constants stand first.
// CHECK:       "memref.global"() <{sym_name = "constant_c", type = memref<4xf32>, initial_value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
// CHECK-NEXT:  "memref.global"() <{sym_name = "constant"

// A returned tensor is computed in its argument, though it is read again; the second time it is copied.
// So is an argument, and a constant.
// CHECK-LABEL: func.func @results(
// CHECK-SAME:    %x: memref<4xf32> {note = "kept"}, %a: memref<4xf32> {stepwell.result, also = "kept"}, %a_1: memref<4xf32> {stepwell.result, stepwell.name = "a_1"}, %x_1: memref<4xf32> {stepwell.result, stepwell.name = "x_1"}, %c: memref<4xf32> {stepwell.result}, %b: memref<4xf32> {stepwell.result}) attributes {of = "the function"} {
// CHECK:           loop.store %{{.*}}, %a[
// CHECK:         %c_1 = memref.get_global @constant_c
// CHECK:           loop.load %a[
// CHECK:           loop.store %{{.*}}, %b[
// CHECK:         "memref.copy"(%a, %a_1)
// CHECK-NEXT:    "memref.copy"(%x, %x_1)
// CHECK-NEXT:    "memref.copy"(%c_1, %c)
// CHECK-NEXT:    func.return
func.func @results(%x: tensor<4xf32> {note = "kept"}) -> (tensor<4xf32> {also = "kept"}, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {of = "the function"} {
  %a = te.compute [%i = 4] (%v = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = te.compute [%i = 4] (%v = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  func.return %a, %a, %x, %c, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Equal constants are one global, whatever they are called.
// CHECK-LABEL: func.func @constants(
// CHECK:         memref.get_global @constant_c : memref<4xf32>
// CHECK:         memref.get_global @constant : memref<2x2xf32>
func.func @constants() -> (tensor<4xf32>, tensor<2x2xf32>) {
  %d = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  func.return %d, %0 : tensor<4xf32>, tensor<2x2xf32>
}

// Kernels are private functions with names of their own, one for those that are equal; scalars pass through; sizes are known.
// CHECK:       func.func private @kernels.k(%a: memref<4xf32>, %n2: index, %s: memref<4xf32> {stepwell.result}, %a_1: memref<4xf32> {stepwell.result, stepwell.name = "a_1"}) attributes {note = "kept"} {
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// CHECK:         "memref.copy"(%a, %a_1)
// CHECK:       func.func private @kernels.k_1(
// CHECK:       func.func private @"kernels.a b"(
// CHECK-LABEL: func.func @kernels(
// CHECK-SAME:    %x: memref<4xf32>, %n: index, %m: memref<4xf32> {stepwell.result}) -> (index {note = "kept"}) {
// CHECK-NEXT:    %k = loop.alloc arena : memref<4xf32>
// CHECK-NEXT:    %k_1 = loop.alloc arena : memref<4xf32>
// CHECK-NEXT:    func.call @kernels.k(%x, %n, %k, %k_1)
// CHECK:         func.call @kernels.k_1(%k, %l)
// CHECK:         func.call @kernels.k_1(%l, %same)
// CHECK:         func.call @"kernels.a b"(%same, %m)
// CHECK:         %d = memref.dim %x, %zero
// CHECK-NEXT:    func.return %d : index
func.func @kernels(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, index {note = "kept"}) {
  %k:2 = te.kernel "k" (%a = %x, %n2 = %n) : (tensor<4xf32>, index) -> (tensor<4xf32>, tensor<4xf32>) attributes {note = "kept"} {
    %s = te.compute [%i = 4] (%v = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
    te.yield %s, %a : tensor<4xf32>, tensor<4xf32>
  }
  %l = te.kernel "k" (%a = %k#0) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %a : tensor<4xf32> }
  %same = te.kernel "another name" (%v = %l) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : tensor<4xf32> }
  %m = te.kernel "a b" (%a = %same) : (tensor<4xf32>) -> tensor<4xf32> attributes {note = "other"} { te.yield %a : tensor<4xf32> }
  %zero = arith.constant 0 : index
  %d = tensor.dim %x, %zero : tensor<4xf32>
  func.return %m, %d : tensor<4xf32>, index
}

// CHECK:       func.func private @nested.outer.inner(
// CHECK:       func.func private @nested.outer(
// CHECK-LABEL: func.func @nested(
// CHECK:         func.call @nested.outer(
func.func @nested(%x: tensor<4xf32>) -> tensor<4xf32> {
  %k = te.kernel "outer" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %l = te.kernel "inner" (%b = %a) : (tensor<4xf32>) -> tensor<4xf32> attributes {note = "inner"} { te.yield %b : tensor<4xf32> }
    te.yield %l : tensor<4xf32>
  }
  func.return %k : tensor<4xf32>
}

// Calls pass buffers for the results.
// CHECK-LABEL: func.func private @callee(memref<4xf32>, memref<2xf32>) -> f32
// CHECK-LABEL: func.func @caller(
// CHECK-SAME:    %x: memref<4xf32>, %r: memref<2xf32> {stepwell.result}) -> f32 {
// CHECK-NEXT:    %s = func.call @callee(%x, %r) : (memref<4xf32>, memref<2xf32>) -> f32
// CHECK-NEXT:    func.return %s : f32
func.func private @callee(tensor<4xf32>) -> (tensor<2xf32>, f32)
func.func @caller(%x: tensor<4xf32>) -> (tensor<2xf32>, f32) {
  %r, %s = func.call @callee(%x) : (tensor<4xf32>) -> (tensor<2xf32>, f32)
  func.return %r, %s : tensor<2xf32>, f32
}

// A function without tensors stays as it is.
func.func @core(%c: i1) {
  cf.cond_br %c, ^a, ^b
^a:
  func.return
^b:
  func.return
}

// Constants inside of kernels, and those that are passed to them, are arguments, so that kernels do not differ in them.
// CHECK-LABEL: func.func private @weights.scaled(%a: memref<4xf32>, %given: memref<4xf32> {stepwell.constant}, %e: memref<4xf32> {stepwell.constant}, %r: memref<4xf32> {stepwell.result}) {
// CHECK-NEXT:    loop.for
// CHECK-LABEL: func.func @weights(
// CHECK-NEXT:    %c = memref.get_global @constant_c : memref<4xf32>
// CHECK-NEXT:    %e = memref.get_global @constant_e : memref<4xf32>
// CHECK-NEXT:    func.call @weights.scaled(%x, %c, %e, %y)
func.func @weights(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y = te.kernel "scaled" (%a = %x, %given = %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %e = arith.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
    %r = te.compute [%i = 4] (%u = %a[%i], %v = %given[%i], %w = %e[%i]) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      %p = arith.mulf %u, %v : f32
      %q = arith.addf %p, %w : f32
      te.yield %q : f32
    }
    te.yield %r : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

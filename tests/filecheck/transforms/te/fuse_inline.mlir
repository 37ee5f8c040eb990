// RUN: stepwell-opt %s -p te-fuse | filecheck %s
// RUN: stepwell-opt %s -p te-fuse,te-fuse | filecheck %s

// A chain becomes one compute; what nothing reads any more is gone.
// CHECK-LABEL: func.func @chain(
// CHECK:         %relu_1 = te.compute [%i = 4] (%e = %x_1[%i], %f = %y_1[%i]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:      %s = arith.addf %e, %f : f32
// CHECK-NEXT:      %m = arith.mulf %s, %s : f32
// CHECK-NEXT:      te.yield %m : f32
// CHECK:         func.return %relu
func.func @chain(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %sum = te.compute [%i = 4] (%e = %x[%i], %f = %y[%i]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.addf %e, %f : f32
    te.yield %s : f32
  }
  %relu = te.compute [%i = 4] (%e = %sum[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %m = arith.mulf %e, %e : f32
    te.yield %m : f32
  }
  func.return %relu : tensor<4xf32>
}

// Equal reads of one producer share its computation.
// CHECK-LABEL: func.func @twice(
// CHECK:         te.compute [%i = 4] (%e = %x_1[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:      %a = math.exp %e : f32
// CHECK-NEXT:      %s = arith.addf %a, %a : f32
// CHECK-NEXT:      te.yield %s : f32
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %exp = te.compute [%i = 4] (%e = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %a = math.exp %e : f32
    te.yield %a : f32
  }
  %sum = te.compute [%i = 4] (%e = %exp[%i], %f = %exp[%i]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.addf %e, %f : f32
    te.yield %s : f32
  }
  func.return %sum : tensor<4xf32>
}

// CHECK-LABEL: func.func @composed_subscripts(
// CHECK:         te.compute [%i = 2, %j = 3] (%e = %x_1[-%i - %j * 2 + 5]) : (tensor<6xf32>) -> tensor<2x3xf32> {
func.func @composed_subscripts(%x: tensor<6xf32>) -> tensor<2x3xf32> {
  %reversed = te.compute [%i = 6] (%e = %x[5 - %i]) : (tensor<6xf32>) -> tensor<6xf32> {
    te.yield %e : f32
  }
  %r = te.compute [%i = 2, %j = 3] (%e = %reversed[%i + 2 * %j]) : (tensor<6xf32>) -> tensor<2x3xf32> {
    te.yield %e : f32
  }
  func.return %r : tensor<2x3xf32>
}

// A reshape of what is stored is a view of it: nothing is evaluated there. One that is read is read through.
// CHECK-LABEL: func.func @reshaped(
// CHECK:         %exp = te.kernel "exp"
// CHECK:         %reshape = te.kernel "reshape"
// CHECK-NEXT:      %{{.*}} = te.compute [%i = 2, %j = 3] (%e = %exp_1[%i * 3 + %j])
// CHECK:         %s = te.kernel "s"
// CHECK-NEXT:      %{{.*}} = te.compute [%i = 2, %j = 3] (%e = %x_1[%i * 3 + %j])
func.func @reshaped(%x: tensor<6xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %exp = te.compute [%i = 6] (%e = %x[%i]) : (tensor<6xf32>) -> tensor<6xf32> {
    %a = math.exp %e : f32
    te.yield %a : f32
  }
  %reshape = te.compute [%i = 2, %j = 3] (%e = %exp[3 * %i + %j]) : (tensor<6xf32>) -> tensor<2x3xf32> {
    te.yield %e : f32
  }
  %read = te.compute [%i = 2, %j = 3] (%e = %x[3 * %i + %j]) : (tensor<6xf32>) -> tensor<2x3xf32> {
    te.yield %e : f32
  }
  %s = te.compute [%i = 2, %j = 3] (%e = %read[%i, %j]) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
    %a = math.sin %e : f32
    te.yield %a : f32
  }
  func.return %reshape, %s : tensor<2x3xf32>, tensor<2x3xf32>
}

// The producer's iterators become the subscripts of the read.
// CHECK-LABEL: func.func @iterators(
// CHECK:         te.compute [%i = 3, %j = 4] () : () -> tensor<3x4xf32> {
// CHECK-NEXT:      %0 = affine.apply affine_map<(d0, d1) -> ((d0 + 2))> (%i, %j)
// CHECK-NEXT:      %a = arith.index_cast %0 : index to i64
// CHECK-NEXT:      %b = arith.index_cast %j : index to i64
// CHECK-NEXT:      %s = arith.addi %a, %b : i64
func.func @iterators() -> tensor<3x4xf32> {
  %iota = te.compute [%i = 5, %j = 4] () : () -> tensor<5x4xi64> {
    %a = arith.index_cast %i : index to i64
    %b = arith.index_cast %j : index to i64
    %s = arith.addi %a, %b : i64
    te.yield %s : i64
  }
  %r = te.compute [%i = 3, %j = 4] (%n = %iota[%i + 2, %j]) : (tensor<5x4xi64>) -> tensor<3x4xf32> {
    %f = arith.sitofp %n : i64 to f32
    te.yield %f : f32
  }
  func.return %r : tensor<3x4xf32>
}

// Into a reduction, where nothing is computed more often than before.
// CHECK-LABEL: func.func @into_reduction(
// CHECK:         te.compute [] add [%k = 4] (%e = %x_1[%k]) : (tensor<4xf32>) -> tensor<f32> {
// CHECK-NEXT:      %a = math.exp %e : f32
// CHECK-NEXT:      te.yield %a : f32
func.func @into_reduction(%x: tensor<4xf32>) -> tensor<f32> {
  %exp = te.compute [%i = 4] (%e = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %a = math.exp %e : f32
    te.yield %a : f32
  }
  %sum = te.compute [] add [%k = 4] (%e = %exp[%k]) : (tensor<4xf32>) -> tensor<f32> {
    te.yield %e : f32
  }
  func.return %sum : tensor<f32>
}

// A padded read through a transpose is outside where the composed read is.
// CHECK-LABEL: func.func @padded_read_of_transpose(
// CHECK:         te.compute [%i = 6, %j = 2] (%e = %x_1[%j, %i - 1] else 0.000000e+00 : f32) : (tensor<2x4xf32>) -> tensor<6x2xf32> {
func.func @padded_read_of_transpose(%x: tensor<2x4xf32>) -> tensor<6x2xf32> {
  %t = te.compute [%i = 4, %j = 2] (%e = %x[%j, %i]) : (tensor<2x4xf32>) -> tensor<4x2xf32> {
    te.yield %e : f32
  }
  %p = te.compute [%i = 6, %j = 2] (%e = %t[%i - 1, %j] else 0.0 : f32) : (tensor<4x2xf32>) -> tensor<6x2xf32> {
    %d = arith.addf %e, %e : f32
    te.yield %d : f32
  }
  func.return %p : tensor<6x2xf32>
}

// What is only padded is transposed without a condition for each element: it is written inside of the border.
// CHECK-LABEL: func.func @pad_of_transpose(
// CHECK:         te.compute [%i = 4, %j = 2] (%e = %x_1[%j, %i]) : (tensor<2x4xf32>) -> tensor<4x2xf32> {
// CHECK:         te.compute [%i = 6, %j = 2] (%e = %t_1[%i - 1, %j] else 0.000000e+00 : f32) : (tensor<4x2xf32>) -> tensor<6x2xf32> {
func.func @pad_of_transpose(%x: tensor<2x4xf32>) -> tensor<6x2xf32> {
  %t = te.compute [%i = 4, %j = 2] (%e = %x[%j, %i]) : (tensor<2x4xf32>) -> tensor<4x2xf32> {
    te.yield %e : f32
  }
  %p = te.compute [%i = 6, %j = 2] (%e = %t[%i - 1, %j] else 0.0 : f32) : (tensor<4x2xf32>) -> tensor<6x2xf32> {
    te.yield %e : f32
  }
  func.return %p : tensor<6x2xf32>
}

// The axis that is padded is passed on; the others are never outside.
// CHECK-LABEL: func.func @pad_of_slice_elsewhere(
// CHECK:         te.compute [%i = 6, %j = 2] (%e = %x_1[%i - 1, %j + 3] else 0.000000e+00 : f32) : (tensor<4x9xf32>) -> tensor<6x2xf32> {
func.func @pad_of_slice_elsewhere(%x: tensor<4x9xf32>) -> tensor<6x2xf32> {
  %s = te.compute [%i = 4, %j = 2] (%e = %x[%i, %j + 3]) : (tensor<4x9xf32>) -> tensor<4x2xf32> {
    te.yield %e : f32
  }
  %p = te.compute [%i = 6, %j = 2] (%e = %s[%i - 1, %j] else 0.0 : f32) : (tensor<4x2xf32>) -> tensor<6x2xf32> {
    te.yield %e : f32
  }
  func.return %p : tensor<6x2xf32>
}

// What is read outside of it too is computed everywhere, and chosen where the read is inside. What it reads may be anything elsewhere.
// CHECK-LABEL: func.func @padded_read_of_sum(
// CHECK:         te.compute [%i = 6] (%a = %x_1[%i], %d = %x_1[%i - 1] else 0.000000e+00 : f32) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32> {
// CHECK-NEXT:      %v = arith.addf %d, %a : f32
// CHECK-NEXT:      %0 = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:      %1 = affine.apply affine_map<(d0) -> ((d0 + -1))> (%i)
// CHECK-NEXT:      %2 = arith.constant 0 : index
// CHECK-NEXT:      %3 = arith.cmpi sge, %1, %2 : index
// CHECK-NEXT:      %4 = arith.select %3, %v, %0 : f32
func.func @padded_read_of_sum(%x: tensor<6xf32>) -> tensor<6xf32> {
  %s = te.compute [%i = 5] (%d = %x[%i], %e = %x[%i + 1]) : (tensor<6xf32>, tensor<6xf32>) -> tensor<5xf32> {
    %v = arith.addf %d, %e : f32
    te.yield %v : f32
  }
  %p = te.compute [%i = 6] (%a = %x[%i], %b = %s[%i - 1] else 1.0 : f32) : (tensor<6xf32>, tensor<5xf32>) -> tensor<6xf32> {
    %v = arith.mulf %a, %b : f32
    te.yield %v : f32
  }
  func.return %p : tensor<6xf32>
}

// A mask made of indices is made where it is needed, though that is at many elements.
// CHECK-LABEL: func.func @mask(
// CHECK:         te.compute [%i = 3, %j = 4] (%e = %x_1[%i, %j]) : (tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK-NEXT:      %two = arith.constant 2 : index
// CHECK-NEXT:      %v = arith.cmpi slt, %j, %two : index
func.func @mask(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %m = te.compute [%i = 4] () : () -> tensor<4xi1> {
    %two = arith.constant 2 : index
    %v = arith.cmpi slt, %i, %two : index
    te.yield %v : i1
  }
  %p = te.compute [%i = 3, %j = 4] (%e = %x[%i, %j], %c = %m[%j]) : (tensor<3x4xf32>, tensor<4xi1>) -> tensor<3x4xf32> {
    %n = arith.negf %e : f32
    %v = arith.select %c, %e, %n : f32
    te.yield %v : f32
  }
  func.return %p : tensor<3x4xf32>
}

// A reader that stays inside of what was padded has no pad.
// CHECK-LABEL: func.func @slice_of_pad(
// CHECK:         te.compute [%i = 2] (%e = %x_1[%i]) : (tensor<4xf32>) -> tensor<2xf32> {
func.func @slice_of_pad(%x: tensor<4xf32>) -> tensor<2xf32> {
  %p = te.compute [%i = 6] (%e = %x[%i - 1] else 1.0 : f32) : (tensor<4xf32>) -> tensor<6xf32> {
    te.yield %e : f32
  }
  %s = te.compute [%i = 2] (%e = %p[%i + 1]) : (tensor<6xf32>) -> tensor<2xf32> {
    te.yield %e : f32
  }
  func.return %s : tensor<2xf32>
}

// A whole-tensor read goes along; a value from around the computes does too.
// CHECK-LABEL: func.func @whole_tensor(
// CHECK:         te.compute [%i = 3] (%t = %x_1, %n = %at_1[%i]) : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32> {
// CHECK-NEXT:      %p = arith.index_cast %n : i64 to index
// CHECK-NEXT:      %v = tensor.extract %t[%p] : tensor<8xf32>
// CHECK-NEXT:      %s = arith.mulf %v, %alpha_1 : f32
func.func @whole_tensor(%x: tensor<8xf32>, %at: tensor<3xi64>, %alpha: f32) -> tensor<3xf32> {
  %gather = te.compute [%i = 3] (%t = %x, %n = %at[%i]) : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32> {
    %p = arith.index_cast %n : i64 to index
    %v = tensor.extract %t[%p] : tensor<8xf32>
    te.yield %v : f32
  }
  %scaled = te.compute [%i = 3] (%e = %gather[%i]) : (tensor<3xf32>) -> tensor<3xf32> {
    %s = arith.mulf %e, %alpha : f32
    te.yield %s : f32
  }
  func.return %scaled : tensor<3xf32>
}

// What is returned and read by others over the same elements is one nest with them.
// CHECK-LABEL: func.func @cheap_and_returned(
// CHECK:         %sum_1, %a_1, %b_1 = te.compute [%i = 4] (%e = %x_1[%i])
// CHECK-NEXT:      %s = arith.addf %e, %e
// CHECK-NEXT:      %s_1 = arith.negf %s
// CHECK-NEXT:      %s_2 = arith.mulf %s, %s
// CHECK-NEXT:      te.yield %s, %s_1, %s_2
func.func @cheap_and_returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %sum = te.compute [%i = 4] (%e = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.addf %e, %e : f32
    te.yield %s : f32
  }
  %a = te.compute [%i = 4] (%e = %sum[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.negf %e : f32
    te.yield %s : f32
  }
  %b = te.compute [%i = 4] (%e = %sum[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
    %s = arith.mulf %e, %e : f32
    te.yield %s : f32
  }
  func.return %sum, %a, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// With extents that are values. Kernels that are formed already stay as they are.
// CHECK-LABEL: func.func @formed(
// CHECK:         te.kernel "neg" (%k_1 = %k, %n_1 = %n)
// CHECK:           %neg_1 = te.compute [%i = %n_1] (%e = %k_1[%i])
func.func @formed(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %k = te.kernel "k" (%a = %x, %m = %n) : (tensor<?xf32>, index) -> tensor<?xf32> {
    %sum = te.compute [%i = %m] (%e = %a[%i]) : (tensor<?xf32>) -> tensor<?xf32> {
      %s = arith.addf %e, %e : f32
      te.yield %s : f32
    }
    te.yield %sum : tensor<?xf32>
  }
  %abs = te.compute [%i = %n] (%e = %k[%i]) : (tensor<?xf32>) -> tensor<?xf32> {
    %s = math.absf %e : f32
    te.yield %s : f32
  }
  %neg = te.compute [%i = %n] (%e = %abs[%i]) : (tensor<?xf32>) -> tensor<?xf32> {
    %s = arith.negf %e : f32
    te.yield %s : f32
  }
  func.return %neg : tensor<?xf32>
}

// What is joined is written part by part, and then transposed without a condition for each element.
// CHECK-LABEL: func.func @transpose_of_join(
// CHECK:         te.compute [%i = 5, %j = 3] (%e = %x_1[%i, %j] else 0.000000e+00 : f32, %f = %y_1[%i - 2, %j] else 0.000000e+00 : f32)
// CHECK:         te.compute [%i = 3, %j = 5] (%e = %c_1[%j, %i]) : (tensor<5x3xf32>) -> tensor<3x5xf32> {
func.func @transpose_of_join(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) -> tensor<3x5xf32> {
  %c = te.compute [%i = 5, %j = 3] (%e = %x[%i, %j] else 0.0 : f32, %f = %y[%i - 2, %j] else 0.0 : f32) : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32> {
    %two = arith.constant 2 : index
    %first = arith.cmpi slt, %i, %two : index
    %v = arith.select %first, %e, %f : f32
    te.yield %v : f32
  }
  %t = te.compute [%i = 3, %j = 5] (%e = %c[%j, %i]) : (tensor<5x3xf32>) -> tensor<3x5xf32> {
    te.yield %e : f32
  }
  func.return %t : tensor<3x5xf32>
}

// What costs little is computed again by each of several readers, reductions too, rather than stored and read.
// CHECK-LABEL: func.func @cheap_for_reductions(
// CHECK:         te.kernel "min_max" (%x_1 = %x)
// CHECK-NEXT:      te.compute [] min, max [%k = 5] (%e = %x_1[%k])
// CHECK-NEXT:        math.absf
// CHECK:         te.kernel "r" ({{.*}}%x_1 = %x
// CHECK:           math.absf
func.func @cheap_for_reductions(%x: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %abs = te.compute [%i = 5] (%e = %x[%i]) : (tensor<5xf32>) -> tensor<5xf32> {
    %a = math.absf %e : f32
    te.yield %a : f32
  }
  %min = te.compute [] min [%k = 5] (%e = %abs[%k]) : (tensor<5xf32>) -> tensor<f32> {
    te.yield %e : f32
  }
  %max = te.compute [] max [%k = 5] (%e = %abs[%k]) : (tensor<5xf32>) -> tensor<f32> {
    te.yield %e : f32
  }
  %r = te.compute [%i = 5] (%e = %abs[%i], %s = %max[]) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32> {
    %d = arith.divf %e, %s : f32
    te.yield %d : f32
  }
  func.return %min, %r : tensor<f32>, tensor<5xf32>
}

// Long rows between ends that are held are computed with these: written to their place, each vector would lie across two lines.

// CHECK-LABEL: func.func @held_ends(
// CHECK-NEXT:    %r = te.kernel
// CHECK-NEXT:      te.compute [%i = 302]
// CHECK:             math.exp
// CHECK-NOT:     te.kernel
func.func @held_ends(%x: tensor<300xf32>, %e: tensor<1xf32>) -> tensor<302xf32> {
  %y = te.compute [%i = 300] (%a = %x[%i]) : (tensor<300xf32>) -> tensor<300xf32> {
    %v = math.exp %a : f32
    te.yield %v : f32
  }
  %r = te.compute [%i = 302] (%a = %e[%i] else 0.0 : f32, %b = %y[%i - 1] else 0.0 : f32, %c = %e[%i - 301] else 0.0 : f32) : (tensor<1xf32>, tensor<300xf32>, tensor<1xf32>) -> tensor<302xf32> {
    %one = arith.constant 1 : index
    %last = arith.constant 301 : index
    %first = arith.cmpi slt, %i, %one : index
    %inside = arith.cmpi slt, %i, %last : index
    %s = arith.select %inside, %b, %c : f32
    %v = arith.select %first, %a, %s : f32
    te.yield %v : f32
  }
  func.return %r : tensor<302xf32>
}

// Behind a whole line of others they begin with a line, in their place.

// CHECK-LABEL: func.func @behind_a_line(
// CHECK:         te.compute [%i = 300]
// CHECK:         te.compute [%i = 316]
func.func @behind_a_line(%x: tensor<300xf32>, %e: tensor<16xf32>) -> tensor<316xf32> {
  %y = te.compute [%i = 300] (%a = %x[%i]) : (tensor<300xf32>) -> tensor<300xf32> {
    %v = math.exp %a : f32
    te.yield %v : f32
  }
  %r = te.compute [%i = 316] (%a = %e[%i] else 0.0 : f32, %b = %y[%i - 16] else 0.0 : f32) : (tensor<16xf32>, tensor<300xf32>) -> tensor<316xf32> {
    %line = arith.constant 16 : index
    %first = arith.cmpi slt, %i, %line : index
    %v = arith.select %first, %a, %b : f32
    te.yield %v : f32
  }
  func.return %r : tensor<316xf32>
}

// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt - | filecheck %s
// RUN: stepwell-opt %s --print-op-generic | stepwell-opt - | filecheck %s

// CHECK-LABEL: func.func @matmul(
// CHECK-NEXT:    %r = te.compute [%i = 8, %j = 10] add [%k = 64] (%a = %x[%i, %k], %b = %w[%k, %j]) : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32> {
// CHECK-NEXT:      %p = arith.mulf %a, %b : f32
// CHECK-NEXT:      te.yield %p : f32
// CHECK-NEXT:    }
func.func @matmul(%x: tensor<8x64xf32>, %w: tensor<64x10xf32>) -> tensor<8x10xf32> {
  %r = te.compute [%i = 8, %j = 10] add [%k = 64] (%a = %x[%i, %k], %b = %w[%k, %j])
      : (tensor<8x64xf32>, tensor<64x10xf32>) -> tensor<8x10xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %r : tensor<8x10xf32>
}

// Subscripts keep the form the parser gives them: numbers on the right, differences as differences.
// CHECK-LABEL: func.func @subscripts(
// CHECK:         te.compute [%i = 4, %j = 5] (
// CHECK-SAME:      %a = %x[-%i + 3], %b = %x[%i * 2 + 1 + %j], %c = %x[(%i + %j) floordiv 3 * 2 + %j mod 2],
// CHECK-SAME:      %d = %x[%j - %i + 3], %e = %x[(%i * 5 + %j) ceildiv 4], %f = %x[2], %g = %x[%i - (%i - %j) floordiv 2 + 2]
func.func @subscripts(%x: tensor<20xf32>) -> tensor<4x5xf32> {
  %r = te.compute [%i = 4, %j = 5] (%a = %x[3 - %i], %b = %x[1 + 2 * %i + %j], %c = %x[((%i + %j) floordiv 3) * 2 + %j mod 2], %d = %x[%j - %i + 3], %e = %x[(%i * 5 + %j) ceildiv 4], %f = %x[2], %g = %x[%i - (%i - %j) floordiv 2 + 2])
      : (tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>, tensor<20xf32>) -> tensor<4x5xf32> {
    te.yield %a : f32
  }
  func.return %r : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @padded(
// CHECK:         %p = te.compute [%i = 6] (%a = %x[%i - 1] else -1.500000e+00 : f32, %b = %y[%i] else -1 : i8, %c = %z[%i - 2] else true)
func.func @padded(%x: tensor<4xf32>, %y: tensor<4xi8>, %z: tensor<4xi1>) -> tensor<6xf32> {
  %p = te.compute [%i = 6] (%a = %x[%i - 1] else -1.5 : f32, %b = %y[%i] else -1 : i8, %c = %z[%i - 2] else true)
      : (tensor<4xf32>, tensor<4xi8>, tensor<4xi1>) -> tensor<6xf32> {
    te.yield %a : f32
  }
  func.return %p : tensor<6xf32>
}

// CHECK-LABEL: func.func @whole_tensor(
// CHECK:         %g = te.compute [%i = 3] (%t = %x, %n = %at[%i]) : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32> {
// CHECK-NEXT:      %p = arith.index_cast %n : i64 to index
// CHECK-NEXT:      %v = tensor.extract %t[%p] : tensor<8xf32>
func.func @whole_tensor(%x: tensor<8xf32>, %at: tensor<3xi64>) -> tensor<3xf32> {
  %g = te.compute [%i = 3] (%t = %x, %n = %at[%i]) : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32> {
    %p = arith.index_cast %n : i64 to index
    %v = tensor.extract %t[%p] : tensor<8xf32>
    te.yield %v : f32
  }
  func.return %g : tensor<3xf32>
}

// CHECK-LABEL: func.func @arg_reduction(
// CHECK:         %m = te.compute [%i = 4] argmax [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xi64> {
// CHECK-NEXT:      %n = arith.index_cast %k : index to i64
// CHECK-NEXT:      te.yield %a, %n : f32, i64
func.func @arg_reduction(%x: tensor<4x3xf32>) -> tensor<4xi64> {
  %m = te.compute [%i = 4] argmax [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xi64> {
    %n = arith.index_cast %k : index to i64
    te.yield %a, %n : f32, i64
  }
  func.return %m : tensor<4xi64>
}

// CHECK-LABEL: func.func @combiners(
// CHECK:         te.compute [] add [
// CHECK:         te.compute [] mul [
// CHECK:         te.compute [] max [
// CHECK:         te.compute [] min [
// CHECK:         te.compute [] umax [
// CHECK:         te.compute [] umin [
// CHECK:         te.compute [] and [
// CHECK:         te.compute [] or [
// CHECK:         te.compute [] argmin [
func.func @combiners(%x: tensor<3xi32>) {
  %0 = te.compute [] add [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %1 = te.compute [] mul [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %2 = te.compute [] max [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %3 = te.compute [] min [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %4 = te.compute [] umax [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %5 = te.compute [] umin [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %6 = te.compute [] and [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %7 = te.compute [] or [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a : i32 }
  %8 = te.compute [] argmin [%k = 3] (%a = %x[%k]) : (tensor<3xi32>) -> tensor<i32> { te.yield %a, %a : i32, i32 }
  func.return
}

// Extents may be values; several reduction iterators; no operands; rank 0; extent 0.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         %d = te.compute [%i = %n, %j = 3] add [%k = %m, %l = 2] (%a = %x[%i, %k]) : (tensor<?x?xf32>) -> tensor<?x3xf32> {
// CHECK:         %e = te.compute [] () : () -> tensor<f32> {
// CHECK:         %f = te.compute [%i_1 = 0] (%a_1 = %x[%i_1, 5]) : (tensor<?x?xf32>) -> tensor<0xf32> {
func.func @dynamic(%x: tensor<?x?xf32>, %n: index, %m: index) {
  %d = te.compute [%i = %n, %j = 3] add [%k = %m, %l = 2] (%a = %x[%i, %k]) : (tensor<?x?xf32>) -> tensor<?x3xf32> {
    te.yield %a : f32
  }
  %e = te.compute [] () : () -> tensor<f32> {
    %c = arith.constant 1.0 : f32
    te.yield %c : f32
  }
  %f = te.compute [%i = 0] (%a = %x[%i, 5]) : (tensor<?x?xf32>) -> tensor<0xf32> {
    te.yield %a : f32
  }
  func.return
}

// CHECK-LABEL: func.func @kernel(
// CHECK-NEXT:    %k, %k_1 = te.kernel "two results" (%a = %x, %n = %m) : (tensor<4xf32>, index) -> (tensor<4xf32>, tensor<4xf32>) attributes {note = "kept"} {
// CHECK-NEXT:      %s = te.compute [%i = 4] (%e = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> attributes {note = "kept too"} {
// CHECK-NEXT:        te.yield %e : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      te.yield %s, %a : tensor<4xf32>, tensor<4xf32>
// CHECK-NEXT:    }
func.func @kernel(%x: tensor<4xf32>, %m: index) {
  %k:2 = te.kernel "two results" (%a = %x, %n = %m) : (tensor<4xf32>, index) -> (tensor<4xf32>, tensor<4xf32>) attributes {note = "kept"} {
    %s = te.compute [%i = 4] (%e = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> attributes {note = "kept too"} {
      te.yield %e : f32
    }
    te.yield %s, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return
}

// Several results over one space: each has its combiner, and what is yielded for it in its place.
// CHECK-LABEL: func.func @several_results(
// CHECK-NEXT:    %c, %d, %g = te.compute [%i = 7] add, max, argmax [%k = 9] (%e = %x[%i, %k]) : (tensor<7x9xf32>) -> (tensor<7xf32>, tensor<7xf32>, tensor<7xi64>) {
// CHECK:           te.yield %p, %e, %e, %n : f32, f32, f32, i64
func.func @several_results(%x: tensor<7x9xf32>) -> (tensor<7xf32>, tensor<7xf32>, tensor<7xi64>) {
  %c, %d, %g = te.compute [%i = 7] add, max, argmax [%k = 9] (%e = %x[%i, %k]) : (tensor<7x9xf32>) -> (tensor<7xf32>, tensor<7xf32>, tensor<7xi64>) {
    %n = arith.index_cast %k : index to i64
    %p = arith.mulf %e, %e : f32
    te.yield %p, %e, %e, %n : f32, f32, f32, i64
  }
  func.return %c, %d, %g : tensor<7xf32>, tensor<7xf32>, tensor<7xi64>
}

// RUN: stepwell-opt %s -p te-fuse | filecheck %s

// What extends the elements of an operand is a part of the product, whose plan does it while it packs them. What computes
// more is a nest of its own in the product's kernel, as each element would be computed many times.
// CHECK-LABEL: func.func @product(
// CHECK:         te.kernel "b_r"
// CHECK:         te.compute [%i = 32, %j = 24]
// CHECK:         te.compute [%{{.*}} = 16, %{{.*}} = 24] add [%{{.*}} = 32] (%m = %b[%{{.*}}, %{{.*}}], %{{.*}} = %{{.*}}[%{{.*}}, %{{.*}}]) : (tensor<32x24xi32>, tensor<16x32xi8>) -> tensor<16x24xi32> {
// CHECK-NEXT:      arith.extsi %{{.*}} : i8 to i32
// CHECK-NEXT:      arith.muli %{{.*}}, %m : i32
func.func @product(%x: tensor<16x32xi8>, %y: tensor<32x24xi8>) -> tensor<16x24xi32> {
  %a = te.compute [%i = 16, %j = 32] (%e = %x[%i, %j]) : (tensor<16x32xi8>) -> tensor<16x32xi32> {
    %w = arith.extsi %e : i8 to i32
    te.yield %w : i32
  }
  %b = te.compute [%i = 32, %j = 24] (%e = %y[%i, %j]) : (tensor<32x24xi8>) -> tensor<32x24xi32> {
    %w = arith.extsi %e : i8 to i32
    %v = arith.addi %w, %w : i32
    te.yield %v : i32
  }
  %r = te.compute [%i = 16, %j = 24] add [%k = 32] (%l = %a[%i, %k], %m = %b[%k, %j]) : (tensor<16x32xi32>, tensor<32x24xi32>) -> tensor<16x24xi32> {
    %p = arith.muli %l, %m : i32
    te.yield %p : i32
  }
  func.return %r : tensor<16x24xi32>
}

// Nor is it a part of a sum that reads each element several times, and packs none.
// CHECK-LABEL: func.func @window(
// CHECK:         te.kernel "a"
// CHECK:           arith.extf
// CHECK:         te.compute [%i = 30] add [%k = 3] (%l = %{{.*}}[%i + %k]) : (tensor<32xf32>) -> tensor<30xf32> {
// CHECK-NEXT:      te.yield %l : f32
func.func @window(%x: tensor<32xbf16>) -> tensor<30xf32> {
  %a = te.compute [%i = 32] (%e = %x[%i]) : (tensor<32xbf16>) -> tensor<32xf32> {
    %w = arith.extf %e : bf16 to f32
    te.yield %w : f32
  }
  %r = te.compute [%i = 30] add [%k = 3] (%l = %a[%i + %k]) : (tensor<32xf32>) -> tensor<30xf32> {
    te.yield %l : f32
  }
  func.return %r : tensor<30xf32>
}

// A condition that is stored is summed up and counted by loops as it is, not as numbers of 64 bits beside it.
// CHECK-LABEL: func.func @stored_condition(
// CHECK:         %c_1 = te.compute [%i = 4] (%e = %x_1[%i]) : (tensor<4xf32>) -> tensor<4xi1> {
// CHECK:         te.kernel "w" (%c_1 = %c) : (tensor<4xi1>) -> tensor<4xi64> {
// CHECK:         te.kernel "s" (%c_1 = %c) : (tensor<4xi1>) -> tensor<i64> {
func.func @stored_condition(%x: tensor<4xf32>) -> (tensor<4xi1>, tensor<4xi64>, tensor<i64>) {
  %c = te.compute [%i = 4] (%e = %x[%i]) : (tensor<4xf32>) -> tensor<4xi1> {
    %z = arith.constant 0.0 : f32
    %v = arith.cmpf olt, %e, %z : f32
    te.yield %v : i1
  }
  %w = te.compute [%i = 4] (%e = %c[%i]) : (tensor<4xi1>) -> tensor<4xi64> {
    %v = arith.extui %e : i1 to i64
    te.yield %v : i64
  }
  %l = te.loops "copy" (%a = %w) -> (%o) : (tensor<4xi64>) -> tensor<4xi64> {
    loop.for serial "k" %k = 0 to 4 {
      %v = loop.load %a[%k] : memref<4xi64>
      loop.store %v, %o[%k] : memref<4xi64>
    }
  }
  %s = te.compute [] add [%i = 4] (%e = %w[%i]) : (tensor<4xi64>) -> tensor<i64> {
    te.yield %e : i64
  }
  func.return %c, %l, %s : tensor<4xi1>, tensor<4xi64>, tensor<i64>
}

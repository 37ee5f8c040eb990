// RUN: stepwell-opt %s -p convert-te-to-loop | filecheck %s
// RUN: stepwell-opt %s -p "convert-te-to-loop{fp=strict}" | filecheck %s --check-prefix=STRICT

// A kernel of several reductions: one perfect nest after the other, buffers first, loops named after what
// they compute, and none for an extent of 1.
// CHECK-LABEL: func.func private @softmax.s(
// CHECK-SAME:    %x: memref<3x5xf32>, %y: memref<3x5xf32> {stepwell.result}) {
// CHECK-NEXT:    %max = loop.alloc arena : memref<3x1xf32>
// CHECK-NEXT:    %sum = loop.alloc arena : memref<3xf32>
// CHECK-NEXT:    loop.for parallel "max.i.init" %i = 0 to 3 {
// CHECK-NEXT:      %0 = arith.constant 0xff800000 : f32
// CHECK-NEXT:      loop.store %0, %max[%i, 0] : memref<3x1xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.for parallel "max.i" %i_1 = 0 to 3 {
// CHECK-NEXT:      loop.for reduction "max.j" %j = 0 to 5 {
// CHECK-NEXT:        %a = loop.load %x[%i_1, %j] : memref<3x5xf32>
// CHECK-NEXT:        %1 = loop.load %max[%i_1, 0] : memref<3x1xf32>
// CHECK-NEXT:        %2 = arith.maximumf %a, %1 fastmath<reassoc,nsz,contract> : f32
// CHECK-NEXT:        loop.store %2, %max[%i_1, 0] : memref<3x1xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.for parallel "sum.i.init" %i_2 = 0 to 3 {
// CHECK:         loop.for parallel "sum.i" %i_3 = 0 to 3 {
// CHECK-NEXT:      loop.for reduction "sum.j" %j_1 = 0 to 5 {
// CHECK-NEXT:        loop.load %x[%i_3, %j_1]
// CHECK-NEXT:        loop.load %max[%i_3, 0]
// CHECK:             loop.store %{{.*}}, %sum[%i_3] : memref<3xf32>
// CHECK:         loop.for parallel "y.i" %i_4 = 0 to 3 {
// CHECK-NEXT:      loop.for parallel "y.j" %j_2 = 0 to 5 {
// CHECK:             loop.store %{{.*}}, %y[%i_4, %j_2] : memref<3x5xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @softmax(%arg: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %s = te.kernel "s" (%x = %arg) : (tensor<3x5xf32>) -> tensor<3x5xf32> {
    %max = te.compute [%i = 3, %u = 1] max [%j = 5] (%a = %x[%i, %j]) : (tensor<3x5xf32>) -> tensor<3x1xf32> { te.yield %a : f32 }
    %sum = te.compute [%i = 3] add [%j = 5] (%a = %x[%i, %j], %b = %max[%i, 0]) : (tensor<3x5xf32>, tensor<3x1xf32>) -> tensor<3xf32> {
      %d = arith.subf %a, %b : f32
      te.yield %d : f32
    }
    %y = te.compute [%i = 3, %j = 5] (%a = %x[%i, %j], %b = %sum[%i]) : (tensor<3x5xf32>, tensor<3xf32>) -> tensor<3x5xf32> {
      %d = arith.divf %a, %b : f32
      te.yield %d : f32
    }
    te.yield %y : tensor<3x5xf32>
  }
  func.return %s : tensor<3x5xf32>
}

// What stands on an iterator of extent 1 stands on 0; where a read can leave its tensor is tested without it.
// CHECK-LABEL: func.func private @one.k(
// CHECK:         loop.for parallel "s.i" %i_1 = 0 to 3 {
// CHECK-NEXT:      loop.for reduction "s.j" %j = 0 to 4 {
// CHECK-NEXT:        %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:        %a = loop.if (%i_1 + %j - 1 >= 0, -%i_1 - %j + 4 >= 0) -> (f32) {
// CHECK-NEXT:          loop.load %x[%i_1 + %j - 1]
// CHECK:             arith.index_cast %[[ZERO]] : index to i32
func.func @one(%arg: tensor<4xf32>) -> tensor<3x1xf32> {
  %r = te.kernel "k" (%x = %arg) : (tensor<4xf32>) -> tensor<3x1xf32> {
    %s = te.compute [%i = 3, %u = 1] add [%j = 4] (%a = %x[%i + %j + 2 * %u - 1] else 0.0 : f32) : (tensor<4xf32>) -> tensor<3x1xf32> {
      %n = arith.index_cast %u : index to i32
      %f = arith.sitofp %n : i32 to f32
      %t = arith.addf %a, %f : f32
      te.yield %t : f32
    }
    %t = te.compute [%i = 3, %u = 1] max [%j = 4] (%a = %x[%j], %b = %s[%i, %u]) : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x1xf32> {
      %p = arith.mulf %a, %b : f32
      te.yield %p : f32
    }
    te.yield %t : tensor<3x1xf32>
  }
  func.return %r : tensor<3x1xf32>
}

// A large contraction with its epilogue. The order of a sum is that of its iterators.
// CHECK-LABEL: func.func @large(
// CHECK-NEXT:    %m = loop.alloc arena : memref<1x33x31xf32>
// CHECK-NEXT:    loop.for parallel "i.init" %i = 0 to 33 {
// CHECK-NEXT:      loop.for parallel "j.init" %j = 0 to 31 {
// CHECK-NEXT:        %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        loop.store %0, %m[0, %i, %j]
// CHECK:         loop.for parallel "i" %i_1 = 0 to 33 {
// CHECK-NEXT:      loop.for parallel "j" %j_1 = 0 to 31 {
// CHECK-NEXT:        loop.for reduction "k" %k = 0 to 35 {
// CHECK-NEXT:          %a = loop.load %x[0, %i_1, %k]
// CHECK-NEXT:          %c = loop.load %w[%k, %j_1]
// CHECK-NEXT:          %p = arith.mulf %a, %c fastmath<contract> : f32
// CHECK-NEXT:          %1 = loop.load %m[0, %i_1, %j_1]
// CHECK-NEXT:          %2 = arith.addf %1, %p fastmath<reassoc,contract> : f32
// CHECK-NEXT:          loop.store %2, %m[0, %i_1, %j_1]
// CHECK:         loop.for parallel "i.finish" %i_2 = 0 to 33 {
// CHECK-NEXT:      loop.for parallel "j.finish" %j_2 = 0 to 31 {
// CHECK-NEXT:        %3 = loop.load %m[0, %i_2, %j_2]
// CHECK-NEXT:        %n = arith.negf %3 : f32
// CHECK-NEXT:        loop.store %n, %y[0, %i_2, %j_2]
// STRICT-LABEL: func.func @large(
// STRICT:           loop.for parallel "j" %j_1 = 0 to 31 {
// STRICT-NEXT:        loop.for reduction "k" %k = 0 to 35 {
// STRICT:               arith.addf %1, %p : f32
func.func @large(%x: tensor<1x33x35xf32>, %w: tensor<35x31xf32>) -> tensor<1x33x31xf32> {
  %m = te.compute [%b = 1, %i = 33, %j = 31] add [%k = 35] (%a = %x[%b, %i, %k], %c = %w[%k, %j]) : (tensor<1x33x35xf32>, tensor<35x31xf32>) -> tensor<1x33x31xf32> {
    %p = arith.mulf %a, %c : f32
    te.yield %p : f32
  }
  %y = te.compute [%b = 1, %i = 33, %j = 31] (%a = %m[%b, %i, %j]) : (tensor<1x33x31xf32>) -> tensor<1x33x31xf32> {
    %n = arith.negf %a : f32
    te.yield %n : f32
  }
  func.return %y : tensor<1x33x31xf32>
}

// Without an epilogue the result accumulates. A sum of squares this large is no contraction.
// CHECK-LABEL: func.func @large_alone(
// CHECK-NEXT:    loop.for parallel "d.i.init" %i = 0 to 2 {
// CHECK:           loop.store %{{.*}}, %d[%i]
// CHECK:         loop.for parallel "d.i" %i_1 = 0 to 2 {
// CHECK-NEXT:      loop.for reduction "d.k" %k = 0 to 16384 {
// CHECK:             loop.store %{{.*}}, %d[%i_1]
// CHECK:         loop.for parallel "s.i" %i_2 = 0 to 2 {
// CHECK-NEXT:      %acc = loop.alloc register
func.func @large_alone(%x: tensor<2x16384xf32>, %y: tensor<16384xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %d = te.compute [%i = 2] add [%k = 16384] (%a = %x[%i, %k], %b = %y[%k]) : (tensor<2x16384xf32>, tensor<16384xf32>) -> tensor<2xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %s = te.compute [%i = 2] add [%k = 16384] (%a = %x[%i, %k]) : (tensor<2x16384xf32>) -> tensor<2xf32> {
    %p = arith.mulf %a, %a : f32
    te.yield %p : f32
  }
  func.return %d, %s : tensor<2xf32>, tensor<2xf32>
}

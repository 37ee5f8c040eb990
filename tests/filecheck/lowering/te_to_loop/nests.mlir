// RUN: stepwell-opt %s -p convert-te-to-loop | filecheck %s

// Most accesses are contiguous along j: it goes innermost, and the result accumulates.
// CHECK-LABEL: func.func @contiguous_innermost(
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// CHECK-NEXT:      loop.for parallel "j.init" %j = 0 to 5 {
// CHECK-NEXT:        %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        loop.store %0, %matmul[%i, %j] : memref<4x5xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      loop.for reduction "k" %k = 0 to 3 {
// CHECK-NEXT:        loop.for parallel "j" %j_1 = 0 to 5 {
// CHECK-NEXT:          %a = loop.load %x[%i, %k] : memref<4x3xf32>
// CHECK-NEXT:          %b = loop.load %w[%k, %j_1] : memref<3x5xf32>
// CHECK-NEXT:          %p = arith.mulf %a, %b fastmath<contract> : f32
// CHECK-NEXT:          %1 = loop.load %matmul[%i, %j_1] : memref<4x5xf32>
// CHECK-NEXT:          %2 = arith.addf %1, %p fastmath<reassoc,contract> : f32
// CHECK-NEXT:          loop.store %2, %matmul[%i, %j_1] : memref<4x5xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @contiguous_innermost(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %matmul = te.compute [%i = 4, %j = 5] add [%k = 3] (%a = %x[%i, %k], %b = %w[%k, %j]) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %matmul : tensor<4x5xf32>
}

// With the second operand transposed the reduction is contiguous: it stays innermost, with one scalar.
// CHECK-LABEL: func.func @reduction_innermost(
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// CHECK-NEXT:      loop.for parallel "j" %j = 0 to 5 {
// CHECK-NEXT:        %acc = loop.alloc register : memref<f32>
// CHECK-NEXT:        %0 = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:        loop.store %0, %acc[] : memref<f32>
// CHECK-NEXT:        loop.for reduction "k" %k = 0 to 3 {
// CHECK:             %3 = loop.load %acc[] : memref<f32>
// CHECK-NEXT:        loop.store %3, %matmul[%i, %j] : memref<4x5xf32>
func.func @reduction_innermost(%x: tensor<4x3xf32>, %w: tensor<5x3xf32>) -> tensor<4x5xf32> {
  %matmul = te.compute [%i = 4, %j = 5] add [%k = 3] (%a = %x[%i, %k], %b = %w[%j, %k]) : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  func.return %matmul : tensor<4x5xf32>
}

// Of two reduction loops the contiguous one goes innermost.
// CHECK-LABEL: func.func @two_reductions(
// CHECK:         loop.for reduction "l" %l = 0 to 7 {
// CHECK-NEXT:      loop.for reduction "k" %k = 0 to 3 {
// CHECK-NEXT:        loop.load %x[%l, %k]
func.func @two_reductions(%x: tensor<7x3xi32>) -> tensor<i32> {
  %sum = te.compute [] add [%k = 3, %l = 7] (%a = %x[%l, %k]) : (tensor<7x3xi32>) -> tensor<i32> {
    te.yield %a : i32
  }
  func.return %sum : tensor<i32>
}

// The epilogue is computed as soon as its row is: no tensor between them.
// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME:    %neg: memref<4x5xf32> {stepwell.result}) {
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// CHECK-NEXT:      %acc = loop.alloc stack : memref<5xf32>
// CHECK-NEXT:      loop.for parallel "j.init" %j = 0 to 5 {
// CHECK:           loop.for reduction "k" %k = 0 to 3 {
// CHECK-NEXT:        loop.for parallel "j" %j_1 = 0 to 5 {
// CHECK:               loop.store %{{.*}}, %acc[%j_1] : memref<5xf32>
// CHECK:           loop.for parallel "j.finish" %j_2 = 0 to 5 {
// CHECK-NEXT:        %3 = loop.load %acc[%j_2] : memref<5xf32>
// CHECK-NEXT:        %c = loop.load %bias[%j_2] : memref<5xf32>
// CHECK-NEXT:        %s = arith.addf %3, %c fastmath<contract> : f32
// CHECK-NEXT:        loop.store %s, %neg[%i, %j_2] : memref<4x5xf32>
func.func @epilogue(%x: tensor<4x3xf32>, %w: tensor<3x5xf32>, %bias: tensor<5xf32>) -> tensor<4x5xf32> {
  %matmul = te.compute [%i = 4, %j = 5] add [%k = 3] (%a = %x[%i, %k], %b = %w[%k, %j]) : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32> {
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }
  %neg = te.compute [%i = 4, %j = 5] (%m = %matmul[%i, %j], %c = %bias[%j]) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32> {
    %s = arith.addf %m, %c : f32
    te.yield %s : f32
  }
  func.return %neg : tensor<4x5xf32>
}

// A row of accumulators too long for the stack: the reduction is stored, then read again.
// CHECK-LABEL: func.func @long_row(
// CHECK-NEXT:    %sum = loop.alloc arena : memref<4097xf32>
// CHECK-NEXT:    loop.for parallel "j.init" %j = 0 to 4097 {
// CHECK:         loop.for parallel "j_1" %j_2 = 0 to 4097 {
// CHECK-NEXT:      loop.load %sum[%j_2]
func.func @long_row(%x: tensor<17x4097xf32>) -> tensor<4097xf32> {
  %sum = te.compute [%j = 4097] add [%k = 17] (%a = %x[%k, %j]) : (tensor<17x4097xf32>) -> tensor<4097xf32> {
    te.yield %a : f32
  }
  %neg = te.compute [%j = 4097] (%a = %sum[%j]) : (tensor<4097xf32>) -> tensor<4097xf32> {
    %n = arith.negf %a : f32
    te.yield %n : f32
  }
  func.return %neg : tensor<4097xf32>
}

// The extreme value and its index are kept together.
// CHECK-LABEL: func.func @arg_reduction(
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// CHECK-NEXT:      %best = loop.alloc register : memref<f32>
// CHECK-NEXT:      %best_index = loop.alloc register : memref<i64>
// CHECK-NEXT:      %0 = arith.constant 0xff800000 : f32
// CHECK-NEXT:      %1 = arith.constant 9223372036854775807 : i64
// CHECK:           loop.for reduction "k" %k = 0 to 3 {
// CHECK:             arith.cmpf ogt, %a, %2 : f32
// CHECK:             arith.cmpi slt, %n, %3 : i64
// CHECK:             loop.store %17, %best[] : memref<f32>
// CHECK-NEXT:        loop.store %18, %best_index[] : memref<i64>
// CHECK-NEXT:      }
// CHECK-NEXT:      %19 = loop.load %best_index[] : memref<i64>
// CHECK-NEXT:      loop.store %19, %m[%i] : memref<4xi64>
func.func @arg_reduction(%x: tensor<4x3xf32>) -> tensor<4xi64> {
  %m = te.compute [%i = 4] argmax [%k = 3] (%a = %x[%i, %k]) : (tensor<4x3xf32>) -> tensor<4xi64> {
    %n = arith.index_cast %k : index to i64
    te.yield %a, %n : f32, i64
  }
  func.return %m : tensor<4xi64>
}

// CHECK-LABEL: func.func @empty_arg_reduction(
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// CHECK-NEXT:      %0 = arith.constant 0 : i64
// CHECK-NEXT:      loop.store %0, %m[%i] : memref<4xi64>
// CHECK-NEXT:    }
func.func @empty_arg_reduction(%x: tensor<4x0xf32>) -> tensor<4xi64> {
  %m = te.compute [%i = 4] argmax [%k = 0] (%a = %x[%i, %k]) : (tensor<4x0xf32>) -> tensor<4xi64> {
    %n = arith.index_cast %k : index to i64
    te.yield %a, %n : f32, i64
  }
  func.return %m : tensor<4xi64>
}

// Only the sides on which the read can leave its tensor are tested.
// CHECK-LABEL: func.func @padded(
// CHECK:         %e = loop.if (%i - 1 >= 0, -%i + 4 >= 0) -> (f32) {
// CHECK-NEXT:      %0 = loop.load %x[%i - 1, %j] : memref<4x4xf32>
// CHECK-NEXT:      loop.yield %0 : f32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %1 = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:      loop.yield %1 : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    %f = loop.load %x[%j, %j] : memref<4x4xf32>
// CHECK-NEXT:    %g = loop.if (-(%i mod 5) + 3 >= 0) -> (f32) {
func.func @padded(%x: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %p = te.compute [%i = 6, %j = 4] (%e = %x[%i - 1, %j] else 0.5 : f32, %f = %x[%j, %j] else 0.5 : f32, %g = %x[%i mod 5, %i mod 4] else 0.5 : f32) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32> {
    te.yield %e : f32
  }
  func.return %p : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @whole_tensor(
// CHECK:           %n = loop.load %at[%i] : memref<3xi64>
// CHECK-NEXT:      %p = arith.index_cast %n : i64 to index
// CHECK-NEXT:      %v = memref.load %x[%p] : memref<8xf32>
// CHECK-NEXT:      loop.store %v, %g[%i] : memref<3xf32>
func.func @whole_tensor(%x: tensor<8xf32>, %at: tensor<3xi64>) -> tensor<3xf32> {
  %g = te.compute [%i = 3] (%t = %x, %n = %at[%i]) : (tensor<8xf32>, tensor<3xi64>) -> tensor<3xf32> {
    %p = arith.index_cast %n : i64 to index
    %v = tensor.extract %t[%p] : tensor<8xf32>
    te.yield %v : f32
  }
  func.return %g : tensor<3xf32>
}

// Rank 0: no loop at all. A dynamic reduction is one to that value.
// CHECK-LABEL: func.func @few_loops(
// CHECK-NEXT:    %a = loop.load %x[] : memref<f32>
// CHECK-NEXT:    loop.store %a, %r[] : memref<f32>
// CHECK:         loop.for reduction "k" %k = 0 to %n {
func.func @few_loops(%x: tensor<f32>, %y: tensor<4xf32>, %n: index) -> (tensor<f32>, tensor<f32>) {
  %r = te.compute [] (%a = %x[]) : (tensor<f32>) -> tensor<f32> { te.yield %a : f32 }
  %s = te.compute [] add [%k = %n] (%a = %y[%k]) : (tensor<4xf32>) -> tensor<f32> { te.yield %a : f32 }
  func.return %r, %s : tensor<f32>, tensor<f32>
}

// Names of loops are unique in a function, whatever those of the iterators are.
// CHECK-LABEL: func.func @loop_names(
// CHECK:         loop.for parallel "i" %i
// CHECK:         loop.for parallel "i_1" %i
// CHECK:         loop.for parallel "i1" %
// CHECK:         loop.for parallel "i1_1" %
func.func @loop_names(%x: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %a = te.compute [%i = 4] (%v = %x[%i, 0]) : (tensor<4x4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %b = te.compute [%i = 4] (%v = %x[%i, 1]) : (tensor<4x4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %c = te.compute [%i1 = 4, %0 = 4] (%v = %x[%i1, %0]) : (tensor<4x4xf32>) -> tensor<4x4xf32> { te.yield %v : f32 }
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}

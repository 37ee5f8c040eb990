// RUN: stepwell-opt %s -p te-fuse,te-compute-in-loops | filecheck %s
// RUN: stepwell-opt %s --remarks -p te-fuse,te-compute-in-loops 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// What costs little is computed where it is read.

// CHECK-LABEL: func.func @cheap
// CHECK-NEXT:    te.kernel "write" (%x_1 = %x) : (tensor<5xf32>) -> tensor<5xf32> {
// CHECK-NEXT:      te.loops "write" (%x_2 = %x_1) -> (%out) : (tensor<5xf32>) -> tensor<5xf32> {
// CHECK-NEXT:        loop.for serial "s" %s = 0 to 5 {
// CHECK-NEXT:          %a = loop.load %x_2[%s] : memref<5xf32>
// CHECK-NEXT:          %v = arith.addf %a, %a : f32
// CHECK-NEXT:          loop.store %v, %out[%s] : memref<5xf32>
func.func @cheap(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = te.compute [%i = 5] (%a = %x[%i]) : (tensor<5xf32>) -> tensor<5xf32> {
    %v = arith.addf %a, %a : f32
    te.yield %v : f32
  }
  %r = te.loops "write" (%in = %y) -> (%out) : (tensor<5xf32>) -> tensor<5xf32> {
    loop.for serial "s" %s = 0 to 5 {
      %v = loop.load %in[%s] : memref<5xf32>
      loop.store %v, %out[%s] : memref<5xf32>
    }
  }
  func.return %r : tensor<5xf32>
}

// What costs more is computed a block ahead, and what is no whole block by itself.

// CHECK-LABEL: func.func @ahead
// CHECK:         te.loops "write" (%x_2 = %x_1) -> (%out) : (tensor<2063xf32>) -> tensor<2063xf32> {
// CHECK-NEXT:      %y = loop.alloc stack : memref<64xf32>
// CHECK-NEXT:      loop.for serial "s.block" %s_block = 0 to 32 {
// CHECK-NEXT:        loop.for parallel "s.ahead" %s_ahead = 0 to 64 {
// CHECK-NEXT:          %a = loop.load %x_2[%s_ahead + %s_block * 64]
// CHECK-NEXT:          math.exp
// CHECK-NEXT:          loop.store {{.*}}, %y[%s_ahead] : memref<64xf32>
// CHECK:             loop.for serial "s" %s = %s_block * 64 to %s_block * 64 + 64 {
// CHECK-NEXT:          loop.load %y[%s - %s_block * 64]
// CHECK:           loop.for parallel "s.ahead.rest" %s_ahead_rest = 0 to 15 {
// CHECK-NEXT:        loop.load %x_2[%s_ahead_rest + 2048]
// CHECK:           loop.for serial "s.rest" %s_rest = 2048 to 2063 {
func.func @ahead(%x: tensor<2063xf32>) -> tensor<2063xf32> {
  %y = te.compute [%i = 2063] (%a = %x[%i]) : (tensor<2063xf32>) -> tensor<2063xf32> {
    %v = math.exp %a : f32
    te.yield %v : f32
  }
  %r = te.loops "write" (%in = %y) -> (%out) : (tensor<2063xf32>) -> tensor<2063xf32> {
    loop.for serial "s" %s = 0 to 2063 {
      %v = loop.load %in[%s] : memref<2063xf32>
      loop.store %v, %out[%s] : memref<2063xf32>
    }
  }
  func.return %r : tensor<2063xf32>
}

// What is read twice, or is short, is stored.

// CHECK-LABEL: func.func @stored
// CHECK:         te.kernel "y"
// CHECK:         te.kernel "z"
// WHY: not one kernel, 'y' and 'twice': the loops read its elements more than once
// WHY: not one kernel, 'z' and 'short': the loop that reads it is short
func.func @stored(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %y = te.compute [%i = 5] (%a = %x[%i]) : (tensor<5xf32>) -> tensor<5xf32> {
    %v = arith.addf %a, %a : f32
    te.yield %v : f32
  }
  %r = te.loops "twice" (%in = %y) -> (%out) : (tensor<5xf32>) -> tensor<5xf32> {
    loop.for serial "t" %t = 0 to 2 {
      loop.for serial "s" %s = 0 to 5 {
        %v = loop.load %in[%s] : memref<5xf32>
        loop.store %v, %out[%s] : memref<5xf32>
      }
    }
  }
  %z = te.compute [%i = 5] (%a = %r[%i]) : (tensor<5xf32>) -> tensor<5xf32> {
    %v = math.exp %a : f32
    te.yield %v : f32
  }
  %w = te.loops "short" (%in = %z) -> (%out) : (tensor<5xf32>) -> tensor<5xf32> {
    loop.for serial "s" %s = 0 to 5 {
      %v = loop.load %in[%s] : memref<5xf32>
      loop.store %v, %out[%s] : memref<5xf32>
    }
  }
  func.return %r, %w : tensor<5xf32>, tensor<5xf32>
}

// What is outside of an operand is its pad: elements of a join are computed where they are read.

// CHECK-LABEL: func.func @shifted
// CHECK-NEXT:    te.kernel "write"
// CHECK:           loop.for serial "s" %s = 0 to 6 {
// CHECK-NEXT:        loop.if (%s - 1 >= 0) -> (f32) {
// CHECK-NEXT:          loop.load %{{.*}}[%s - 1] : memref<5xf32>
// CHECK:             } else {
// CHECK-NEXT:          arith.constant 2.000000e+00 : f32
func.func @shifted(%x: tensor<5xf32>) -> tensor<6xf32> {
  %y = te.compute [%i = 6] (%a = %x[%i - 1] else 2.0 : f32) : (tensor<5xf32>) -> tensor<6xf32> {
    %v = arith.addf %a, %a : f32
    te.yield %v : f32
  }
  %r = te.loops "write" (%in = %y) -> (%out) : (tensor<6xf32>) -> tensor<6xf32> {
    loop.for serial "s" %s = 0 to 6 {
      %v = loop.load %in[%s] : memref<6xf32>
      loop.store %v, %out[%s] : memref<6xf32>
    }
  }
  func.return %r : tensor<6xf32>
}

// What costs more is computed ahead in the same blocks, of all operands that a loop reads.

// CHECK-LABEL: func.func @two_ahead
// CHECK-NEXT:    te.kernel "write" (%x_1 = %x, %i_1 = %i)
// CHECK:           loop.for serial "s.block"
// CHECK-NEXT:        loop.for parallel "s.ahead"
// CHECK:               loop.store {{.*}}, %[[Y:.*]][%s_ahead]
// CHECK:               memref.load
// CHECK:               loop.store {{.*}}, %[[Z:.*]][%s_ahead]
// CHECK-NOT:         loop.for parallel
// CHECK:             loop.for serial "s"
// CHECK-NEXT:          loop.load %[[Y]][%s - %s_block * 64]
// CHECK-NEXT:          loop.load %[[Z]][%s - %s_block * 64]
func.func @two_ahead(%x: tensor<4096xf32>, %i: tensor<4096xi64>) -> tensor<4096xf32> {
  %y = te.compute [%i0 = 4096] (%a = %x[%i0]) : (tensor<4096xf32>) -> tensor<4096xf32> {
    %v = math.exp %a : f32
    te.yield %v : f32
  }
  %z = te.compute [%i0 = 4096] (%a = %x, %b = %i[%i0]) : (tensor<4096xf32>, tensor<4096xi64>) -> tensor<4096xf32> {
    %at = arith.index_cast %b : i64 to index
    %v = tensor.extract %a[%at] : tensor<4096xf32>
    %e = math.exp %v : f32
    te.yield %e : f32
  }
  %r = te.loops "write" (%one = %y, %other = %z) -> (%out) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> {
    loop.for serial "s" %s = 0 to 4096 {
      %v = loop.load %one[%s] : memref<4096xf32>
      %w = loop.load %other[%s] : memref<4096xf32>
      %q = arith.divf %v, %w : f32
      loop.store %q, %out[%s] : memref<4096xf32>
    }
  }
  func.return %r : tensor<4096xf32>
}

// What loops read in another shape they compute at each step, if that waits for a sum of floats; others store it.

// CHECK-LABEL: func.func @seen
// CHECK-NEXT:    te.kernel "sums" (%x_1 = %x) : (tensor<3x2xf32>) -> tensor<6xf32> {
// CHECK:             loop.for serial "s" %s = 0 to 6 {
// CHECK:               %a = loop.load %x_2[%s floordiv 2, %s mod 2] : memref<3x2xf32>
// CHECK-NEXT:          arith.addf %a, %a : f32
func.func @seen(%x: tensor<3x2xf32>) -> tensor<6xf32> {
  %y = te.compute [%i = 3, %j = 2] (%a = %x[%i, %j]) : (tensor<3x2xf32>) -> tensor<3x2xf32> {
    %v = arith.addf %a, %a : f32
    te.yield %v : f32
  }
  %z = te.compute [%i = 6] (%a = %y[%i floordiv 2, %i mod 2]) : (tensor<3x2xf32>) -> tensor<6xf32> {
    te.yield %a : f32
  }
  %r = te.loops "sums" (%in = %z) -> (%out) : (tensor<6xf32>) -> tensor<6xf32> {
    %zero = arith.constant 0.0 : f32
    %sum = loop.alloc register : memref<f32>
    loop.store %zero, %sum[] : memref<f32>
    loop.for serial "s" %s = 0 to 6 {
      %v = loop.load %in[%s] : memref<6xf32>
      %before = loop.load %sum[] : memref<f32>
      %now = arith.addf %before, %v : f32
      loop.store %now, %sum[] : memref<f32>
      loop.store %now, %out[%s] : memref<6xf32>
    }
  }
  func.return %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @not_waiting
// CHECK:         te.kernel "y" (
func.func @not_waiting(%x: tensor<3x2xi32>) -> tensor<6xi32> {
  %y = te.compute [%i = 3, %j = 2] (%a = %x[%i, %j]) : (tensor<3x2xi32>) -> tensor<3x2xi32> {
    %v = arith.addi %a, %a : i32
    te.yield %v : i32
  }
  %z = te.compute [%i = 6] (%a = %y[%i floordiv 2, %i mod 2]) : (tensor<3x2xi32>) -> tensor<6xi32> {
    te.yield %a : i32
  }
  %r = te.loops "copies" (%in = %z) -> (%out) : (tensor<6xi32>) -> tensor<6xi32> {
    loop.for serial "s" %s = 0 to 6 {
      %v = loop.load %in[%s] : memref<6xi32>
      loop.store %v, %out[%s] : memref<6xi32>
    }
  }
  func.return %r : tensor<6xi32>
}

// RUN: stepwell-opt %s -p te-bufferize | filecheck %s

// What is needed no more is overwritten element for element: one operand, which is read and written.
// CHECK-LABEL: func.func @in_place(
// CHECK-NEXT:    %a = loop.alloc arena : memref<4x6xf32>
// CHECK-NEXT:    te.kernel "matmul" (%y = %x, %v = %w) into (%a)
// CHECK:         te.kernel "exp" (%y = %a) into (%a) : (memref<4x6xf32>) -> memref<4x6xf32> {
// CHECK:         te.kernel "sum" (%y = %a) into (%c)
// CHECK:         te.kernel "sum" (%y = %a) into (%d)
func.func @in_place(%x: tensor<4x6xf32>, %w: tensor<6x6xf32>) -> (tensor<4xf32>, tensor<6xf32>) {
  %a = te.kernel "matmul" (%y = %x, %v = %w) : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] add [%k = 6] (%p = %y[%i, %k], %q = %v[%k, %j]) : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32> {
      %m = arith.mulf %p, %q : f32
      te.yield %m : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "exp" (%y = %a) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %c = te.kernel "sum" (%y = %b) : (tensor<4x6xf32>) -> tensor<4xf32> {
    %z = te.compute [%i = 4] add [%j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4xf32>
  }
  %d = te.kernel "sum" (%y = %b) : (tensor<4x6xf32>) -> tensor<6xf32> {
    %z = te.compute [%j = 6] add [%i = 4] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<6xf32>
  }
  func.return %c, %d : tensor<4xf32>, tensor<6xf32>
}

// An argument is never overwritten, and a result is written where it is returned.
// CHECK-LABEL: func.func @arguments(
// CHECK-NEXT:    %a = loop.alloc arena : memref<4x6xf32>
// CHECK-NEXT:    te.kernel "exp" (%y = %x) into (%a)
// CHECK:         te.kernel "log" (%y = %a) into (%b)
func.func @arguments(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = te.kernel "exp" (%y = %x) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "log" (%y = %a) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.log %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  func.return %b : tensor<4x6xf32>
}

// What is needed later stays; so does what is read at other points than the one that is written.
// CHECK-LABEL: func.func @needed(
// CHECK:         te.kernel "exp" (%y = %x) into (%a)
// CHECK:         %b = loop.alloc arena : memref<4x6xf32>
// CHECK-NEXT:    te.kernel "log" (%y = %a) into (%b)
// CHECK:         te.kernel "first" (%y = %b) into (%c1)
// CHECK:         te.kernel "sin" (%y = %a) into (%a)
// CHECK:         te.kernel "cos" (%y = %a) into (%e)
func.func @needed(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %a = te.kernel "exp" (%y = %x) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "log" (%y = %a) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.log %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %c1 = te.kernel "first" (%y = %b) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, 0]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %d = te.kernel "sin" (%y = %a) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.sin %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %e = te.kernel "cos" (%y = %d) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.cos %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %c = te.kernel "last" (%y = %c1) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %r = math.sin %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  func.return %c, %e : tensor<4x6xf32>, tensor<4x6xf32>
}

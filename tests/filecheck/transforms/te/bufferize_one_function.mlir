// RUN: stepwell-opt %s -p te-bufferize | filecheck %s
// RUN: stepwell-opt %s --remarks -p te-bufferize 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// WHY: 'layer' is not in place: an equal kernel cannot, and the two are one function
// WHY: 'exp' writes its result in place of 'a'

// Two layers `x + w @ w` that are equal but for their constants: the first cannot overwrite its operand, which is
// an argument, so that the second does not either. Both are one function then, which waits for its arithmetic.
// CHECK-LABEL: func.func @layers(
// CHECK:         te.kernel "layer" (%p = %x{{.*}} into (%a)
// CHECK:         te.kernel "layer" (%p = %a{{.*}} into (%b)
func.func @layers(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %a = te.kernel "layer" (%p = %x) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
    %w = arith.constant dense<1.0> : tensor<128x128xf32>
    %z = te.compute [%i = 128, %j = 128] add [%k = 128] (%v = %w[%i, %k], %u = %w[%k, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.mulf %v, %u : f32
      te.yield %m : f32
    }
    %s = te.compute [%i = 128, %j = 128] (%v = %p[%i, %j], %u = %z[%i, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.addf %v, %u : f32
      te.yield %m : f32
    }
    te.yield %s : tensor<128x128xf32>
  }
  %b = te.kernel "layer" (%p = %a) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
    %w = arith.constant dense<2.0> : tensor<128x128xf32>
    %z = te.compute [%i = 128, %j = 128] add [%k = 128] (%v = %w[%i, %k], %u = %w[%k, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.mulf %v, %u : f32
      te.yield %m : f32
    }
    %s = te.compute [%i = 128, %j = 128] (%v = %p[%i, %j], %u = %z[%i, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.addf %v, %u : f32
      te.yield %m : f32
    }
    te.yield %s : tensor<128x128xf32>
  }
  %c = te.kernel "exp" (%y = %b) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
    %z = te.compute [%i = 128, %j = 128] (%v = %y[%i, %j]) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<128x128xf32>
  }
  func.return %c : tensor<128x128xf32>
}

// Element-wise kernels wait for memory: the second overwrites its operand, and is a function of its own.
// CHECK-LABEL: func.func @elements(
// CHECK:         te.kernel "exp" (%y = %x) into (%a)
// CHECK:         te.kernel "exp" (%y = %a) into (%a)
func.func @elements(%x: tensor<64x64xf32>) -> tensor<64xf32> {
  %a = te.kernel "exp" (%y = %x) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    %z = te.compute [%i = 64, %j = 64] (%v = %y[%i, %j]) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<64x64xf32>
  }
  %b = te.kernel "exp" (%y = %a) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    %z = te.compute [%i = 64, %j = 64] (%v = %y[%i, %j]) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<64x64xf32>
  }
  %c = te.kernel "sum" (%y = %b) : (tensor<64x64xf32>) -> tensor<64xf32> {
    %z = te.compute [%i = 64] add [%j = 64] (%v = %y[%i, %j]) : (tensor<64x64xf32>) -> tensor<64xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<64xf32>
  }
  func.return %c : tensor<64xf32>
}

// One such layer alone overwrites its operand. In what is repeated it does not: the program that repeats it may have an
// equal kernel outside, where a layer differs from the others.
// CHECK-LABEL: func.func @alone(
// CHECK:         te.kernel "layer" (%p = %a{{.*}} into (%a)
func.func @alone(%x: tensor<128x128xf32>) -> tensor<128xf32> {
  %a = te.kernel "exp" (%y = %x) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
    %z = te.compute [%i = 128, %j = 128] (%v = %y[%i, %j]) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<128x128xf32>
  }
  %b = te.kernel "layer" (%p = %a) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
    %w = arith.constant dense<2.0> : tensor<128x128xf32>
    %z = te.compute [%i = 128, %j = 128] add [%k = 128] (%v = %w[%i, %k], %u = %w[%k, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.mulf %v, %u : f32
      te.yield %m : f32
    }
    %s = te.compute [%i = 128, %j = 128] (%v = %p[%i, %j], %u = %z[%i, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.addf %v, %u : f32
      te.yield %m : f32
    }
    te.yield %s : tensor<128x128xf32>
  }
  %c = te.kernel "sum" (%y = %b) : (tensor<128x128xf32>) -> tensor<128xf32> {
    %z = te.compute [%i = 128] add [%j = 128] (%v = %y[%i, %j]) : (tensor<128x128xf32>) -> tensor<128xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<128xf32>
  }
  func.return %c : tensor<128xf32>
}

// CHECK-LABEL: func.func @part(
// CHECK:         te.kernel "layer" (%p = %a{{.*}} into (%b)
func.func @part(%x: tensor<128x128xf32>) -> tensor<128xf32> attributes {stepwell.repeated} {
  %a = te.kernel "exp" (%y = %x) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
    %z = te.compute [%i = 128, %j = 128] (%v = %y[%i, %j]) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
      %r = math.exp %v : f32
      te.yield %r : f32
    }
    te.yield %z : tensor<128x128xf32>
  }
  %b = te.kernel "layer" (%p = %a) : (tensor<128x128xf32>) -> tensor<128x128xf32> {
    %w = arith.constant dense<2.0> : tensor<128x128xf32>
    %z = te.compute [%i = 128, %j = 128] add [%k = 128] (%v = %w[%i, %k], %u = %w[%k, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.mulf %v, %u : f32
      te.yield %m : f32
    }
    %s = te.compute [%i = 128, %j = 128] (%v = %p[%i, %j], %u = %z[%i, %j]) : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32> {
      %m = arith.addf %v, %u : f32
      te.yield %m : f32
    }
    te.yield %s : tensor<128x128xf32>
  }
  %c = te.kernel "sum" (%y = %b) : (tensor<128x128xf32>) -> tensor<128xf32> {
    %z = te.compute [%i = 128] add [%j = 128] (%v = %y[%i, %j]) : (tensor<128x128xf32>) -> tensor<128xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<128xf32>
  }
  func.return %c : tensor<128xf32>
}

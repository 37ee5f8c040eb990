// RUN: stepwell-opt %s --remarks -p te-bufferize 2>&1 >/dev/null | filecheck %s

// An argument cannot be written by anything: it is copied.
// CHECK: bufferize_refused.mlir:{{[0-9]+}}:8: remark: te-bufferize: 'slice' copies: what is moved is an argument or a constant
func.func @argument(%x: tensor<4x6xf32>) -> tensor<2x6xf32> {
  %b = te.kernel "slice" (%y = %x) : (tensor<4x6xf32>) -> tensor<2x6xf32> {
    %z = te.compute [%i = 2, %j = 6] (%v = %y[%i + 1, %j]) : (tensor<4x6xf32>) -> tensor<2x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<2x6xf32>
  }
  func.return %b : tensor<2x6xf32>
}

// Transposed, what computes the source would write columns.
// CHECK: bufferize_refused.mlir:{{.*}} remark: te-bufferize: 'transpose' copies: what computes it cannot write rows that lie apart
func.func @columns(%x: tensor<4x6x5xf32>) -> tensor<6x4xf32> {
  %a = te.kernel "sum" (%y = %x) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] add [%k = 5] (%v = %y[%i, %j, %k]) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "transpose" (%y = %a) : (tensor<4x6xf32>) -> tensor<6x4xf32> {
    %z = te.compute [%i = 6, %j = 4] (%v = %y[%j, %i]) : (tensor<4x6xf32>) -> tensor<6x4xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<6x4xf32>
  }
  func.return %b : tensor<6x4xf32>
}

// What is returned itself cannot be a part of something else that is returned.
// CHECK: remark: te-bufferize: 'reshape' copies: what is moved has another place already
func.func @both(%x: tensor<4x6x5xf32>) -> (tensor<4x6xf32>, tensor<24xf32>) {
  %a = te.kernel "sum" (%y = %x) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] add [%k = 5] (%v = %y[%i, %j, %k]) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "reshape" (%y = %a) : (tensor<4x6xf32>) -> tensor<24xf32> {
    %z = te.compute [%i = 24] (%v = %y[%i floordiv 6, %i mod 6]) : (tensor<4x6xf32>) -> tensor<24xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<24xf32>
  }
  func.return %a, %b : tensor<4x6xf32>, tensor<24xf32>
}

// A part of what is computed has no place for the rest.
// CHECK: remark: te-bufferize: 'slice' copies: the result does not have all that its source has
func.func @part(%x: tensor<4x6x5xf32>) -> tensor<2x6xf32> {
  %a = te.kernel "sum" (%y = %x) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] add [%k = 5] (%v = %y[%i, %j, %k]) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "slice" (%y = %a) : (tensor<4x6xf32>) -> tensor<2x6xf32> {
    %z = te.compute [%i = 2, %j = 6] (%v = %y[%i + 1, %j]) : (tensor<4x6xf32>) -> tensor<2x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<2x6xf32>
  }
  func.return %b : tensor<2x6xf32>
}

// A function that is called takes and gives contiguous arrays.
// CHECK: remark: te-bufferize: 'slice' copies: something needs its elements next to each other
// CHECK-NOT: te-bufferize: 'first'
func.func private @callee(tensor<4x2xf32>) -> tensor<4x6xf32>
func.func @called(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %a = func.call @callee(%x) : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %b = te.kernel "slice" (%y = %a) : (tensor<4x6xf32>) -> tensor<4x2xf32> {
    %z = te.compute [%i = 4, %j = 2] (%v = %y[%i, %j + 1]) : (tensor<4x6xf32>) -> tensor<4x2xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x2xf32>
  }
  %c = func.call @callee(%b) : (tensor<4x2xf32>) -> tensor<4x6xf32>
  %d = te.kernel "first" (%y = %c) : (tensor<4x6xf32>) -> tensor<4x2xf32> {
    %z = te.compute [%i = 4, %j = 2] add [%k = 3] (%v = %y[%i, %j * 3 + %k]) : (tensor<4x6xf32>) -> tensor<4x2xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x2xf32>
  }
  func.return %d : tensor<4x2xf32>
}

// CHECK: remark: te-bufferize: result 0 is copied to the caller's array: it is an argument or a constant
// CHECK: remark: te-bufferize: result 2 is copied to the caller's array: it is another result as well
func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = te.kernel "exp" (%y = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    %z = te.compute [%i = 4] (%v = %y[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
      %e = math.exp %v : f32
      te.yield %e : f32
    }
    te.yield %z : tensor<4xf32>
  }
  func.return %x, %a, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

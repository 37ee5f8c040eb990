// RUN: stepwell-opt %s -p te-inline-entangled | filecheck %s
// RUN: stepwell-opt %s -p te-inline-entangled --remarks 2>&1 >/dev/null | filecheck %s --check-prefix WHY
// RUN: stepwell-opt %s -p te-inline-entangled,te-bufferize,convert-te-to-loop | filecheck %s --check-prefix KERNELS
// RUN: stepwell-opt %s -p te-inline-entangled,te-bufferize,convert-te-to-loop,loop-inline-functions | filecheck %s --check-prefix LOOPS

// WHY-NOT: 'sums'
// WHY:     buffers of 'flip' are decided about in its callers: 'moved' moves what it takes or gives
// WHY:     buffers of 'scale' are decided about in its callers: 'scaled' may be computed in place of what it takes, or give what is
// WHY:     buffers of 'within' are decided about in its callers: it is called with constants and with what is none
// WHY:     buffers of 'joined' are decided about in its callers: what it gives may become a part of something

// A function of two kernels, whose buffers are its own or whole ones of its callers, stays.
// CHECK:     func.func private @sums
// CHECK-NOT: func.func private

// What is given as a constant comes behind the other operands of a kernel, and is marked.
// KERNELS:       func.func private @sums.sum_1(%{{.*}}: memref<4x4xf32>, %{{.*}}: memref<4x4xf32>, %{{.*}}: memref<4x4xf32> {stepwell.constant}, %{{.*}}: memref<4x4xf32> {stepwell.result})
// KERNELS:       func.func private @sums(
// KERNELS:         %[[OWN:.*]] = loop.alloc
// KERNELS-NEXT:    func.call @sums.sum(%x, %c, %[[OWN]])
// KERNELS-NEXT:    func.call @sums.sum_1(%[[OWN]], %x, %c, %{{.*}})
// KERNELS-LABEL: func.func @main
// KERNELS:         func.call @sums(%x, %{{.*}}, %[[ONE:[a-z]+]])
// KERNELS:         func.call @sums(%[[ONE]], %{{.*}}, %{{.*}})

// LOOPS-NOT:   @sums(
// LOOPS:       func.func @main(%x: memref<4x4xf32>, %[[RESULT:.*]]: memref<4x4xf32> {stepwell.result})
// LOOPS:         %[[C:.*]] = memref.get_global
// LOOPS:         %[[D:.*]] = memref.get_global
// LOOPS:         %[[ONE:.*]] = loop.alloc
// LOOPS:         %[[OWN:.*]] = loop.alloc
// LOOPS-NEXT:    func.call @sums.sum(%x, %[[C]], %[[OWN]])
// LOOPS-NEXT:    func.call @sums.sum_1(%[[OWN]], %x, %[[C]], %[[ONE]])
// LOOPS-NEXT:    %[[TWO:.*]] = loop.alloc
// LOOPS-NEXT:    func.call @sums.sum(%[[ONE]], %[[D]], %[[TWO]])
// LOOPS-NEXT:    func.call @sums.sum_1(%[[TWO]], %[[ONE]], %[[D]], %[[RESULT]])
// LOOPS-NEXT:    func.return
func.func private @sums(%x: tensor<4x4xf32>, %c: tensor<4x4xf32> {stepwell.constant}) -> tensor<4x4xf32> attributes {stepwell.repeated} {
  %p = te.kernel "sum" (%a = %x, %k = %c, %b = %x) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
    %s = te.compute [%i = 4, %j = 4] add [%n = 4] (%t = %a[%i, %n], %u = %b[%n, %j], %v = %k[%i, %j]) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      %w = arith.mulf %t, %u : f32
      %y = arith.mulf %w, %v : f32
      te.yield %y : f32
    }
    te.yield %s : tensor<4x4xf32>
  }
  %q = te.kernel "sum" (%a = %p, %k = %c, %b = %x) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
    %s = te.compute [%i = 4, %j = 4] add [%n = 4] (%t = %a[%i, %n], %u = %b[%n, %j], %v = %k[%i, %j]) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
      %w = arith.mulf %t, %u : f32
      %y = arith.mulf %w, %v : f32
      te.yield %y : f32
    }
    te.yield %s : tensor<4x4xf32>
  }
  func.return %q : tensor<4x4xf32>
}

func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c = arith.constant dense<2.0> : tensor<4x4xf32>
  %d = arith.constant dense<3.0> : tensor<4x4xf32>
  %p = func.call @sums(%x, %c) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = func.call @sums(%p, %d) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %r : tensor<4x4xf32>
}

// What is transposed could be written where it is needed.
func.func private @flip(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {stepwell.repeated} {
  %p = te.kernel "moved" (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %s = te.compute [%i = 4, %j = 4] (%t = %a[%j, %i]) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
      te.yield %t : f32
    }
    te.yield %s : tensor<4x4xf32>
  }
  func.return %p : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @flips
// CHECK-NOT:     call
func.func @flips(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = func.call @flip(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %p : tensor<4x4xf32>
}

// What nothing needs any more could be overwritten.
func.func private @scale(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {stepwell.repeated} {
  %p = te.kernel "scaled" (%a = %x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %s = te.compute [%i = 4, %j = 4] (%t = %a[%i, %j]) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
      %u = arith.addf %t, %t : f32
      te.yield %u : f32
    }
    te.yield %s : tensor<4x4xf32>
  }
  func.return %p : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @scales
// CHECK-NOT:     call
func.func @scales(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %p = func.call @scale(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %p : tensor<4x4xf32>
}

func.func private @within(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<f32> attributes {stepwell.repeated} {
  %p = te.kernel "dot" (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32> {
    %s = te.compute [] add [%n = 4] (%t = %a[%n], %u = %b[%n]) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32> {
      %v = arith.mulf %t, %u : f32
      te.yield %v : f32
    }
    te.yield %s : tensor<f32>
  }
  func.return %p : tensor<f32>
}

// CHECK-LABEL: func.func @constants
// CHECK-NOT:     call
func.func @constants(%x: tensor<4xf32>) -> tensor<f32> {
  %c = arith.constant dense<2.0> : tensor<4xf32>
  %p = func.call @within(%x, %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  func.return %p : tensor<f32>
}

func.func private @joined(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {stepwell.repeated} {
  %p = te.kernel "rows" (%a = %x, %b = %y) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %s = te.compute [%i = 4] add [%n = 4] (%t = %a[%i, %n], %u = %b[%n]) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      %v = arith.mulf %t, %u : f32
      te.yield %v : f32
    }
    te.yield %s : tensor<4xf32>
  }
  func.return %p : tensor<4xf32>
}

// CHECK-LABEL: func.func @reversed
// CHECK-NOT:     call
func.func @reversed(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> tensor<2x2xf32> {
  %p = func.call @joined(%x, %y) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %q = te.kernel "square" (%a = %p) : (tensor<4xf32>) -> tensor<2x2xf32> {
    %s = te.compute [%i = 2, %j = 2] (%t = %a[%i * 2 + %j]) : (tensor<4xf32>) -> tensor<2x2xf32> {
      te.yield %t : f32
    }
    te.yield %s : tensor<2x2xf32>
  }
  func.return %q : tensor<2x2xf32>
}

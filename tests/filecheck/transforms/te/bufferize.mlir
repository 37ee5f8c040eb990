// RUN: stepwell-opt %s -p te-bufferize | filecheck %s
// RUN: stepwell-opt %s -p te-bufferize | stepwell-opt | filecheck %s

// Results are written to the caller's arrays; between kernels there are buffers.
// CHECK-LABEL: func.func @chain(%x: memref<4x6xf32>, %b: memref<4x6xf32> {stepwell.result}) {
// CHECK-NEXT:    %a = loop.alloc arena : memref<4x6xf32>
// CHECK-NEXT:    te.kernel "exp" (%y = %x) into (%a) : (memref<4x6xf32>) -> memref<4x6xf32> {
// CHECK:         te.kernel "log" (%y = %a) into (%b) : (memref<4x6xf32>) -> memref<4x6xf32> {
func.func @chain(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = te.kernel "exp" (%y = %x) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %e = math.exp %v : f32
      te.yield %e : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "log" (%y = %a) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %e = math.log %v : f32
      te.yield %e : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  func.return %b : tensor<4x6xf32>
}

// A reshape of a contiguous buffer is a view, whatever it does to the axes; so is one of an argument.
// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT:    %b = memref.reinterpret_cast %x to offset: [0], sizes: [3, 8], strides: [8, 1] : memref<4x6xf32> to memref<3x8xf32>
// CHECK-NEXT:    te.kernel "sum" (%y = %b) into (%c) : (memref<3x8xf32>) -> memref<3xf32> {
// CHECK-NOT:     te.kernel
// CHECK:         func.return
func.func @reshape(%x: tensor<4x6xf32>) -> tensor<3xf32> {
  %b = te.kernel "reshape" (%y = %x) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
    %z = te.compute [%i = 3, %j = 8] (%v = %y[(%i * 8 + %j) floordiv 6, (%i * 8 + %j) mod 6]) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<3x8xf32>
  }
  %c = te.kernel "sum" (%y = %b) : (tensor<3x8xf32>) -> tensor<3xf32> {
    %z = te.compute [%i = 3] add [%j = 8] (%v = %y[%i, %j]) : (tensor<3x8xf32>) -> tensor<3xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<3xf32>
  }
  func.return %c : tensor<3xf32>
}

// A reshaped result: what computes its source writes into the caller's array.
// CHECK-LABEL: func.func @reshaped_result(
// CHECK-SAME:    %b: memref<24xf32> {stepwell.result}
// CHECK-NEXT:    %a = memref.reinterpret_cast %b to offset: [0], sizes: [4, 6], strides: [6, 1] : memref<24xf32> to memref<4x6xf32>
// CHECK-NEXT:    te.kernel "sum" (%y = %x) into (%a)
// CHECK-NOT:     te.kernel
// CHECK:         func.return
func.func @reshaped_result(%x: tensor<4x6x5xf32>) -> tensor<24xf32> {
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
  func.return %b : tensor<24xf32>
}

// Heads that are merged, (2, 4, 3) to (4, 2, 3) to (4, 6): each is written into its columns.
// CHECK-LABEL: func.func @merged_heads(
// CHECK-NEXT:    %[[O:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %a = memref.reinterpret_cast %b to offset: [%[[O]]], sizes: [2, 4, 3], strides: [3, 6, 1] : memref<4x6xf32> to memref<2x4x3xf32, strided<[3, 6, 1], offset: ?>>
// CHECK-NEXT:    te.kernel "sum" (%y = %x) into (%a)
// CHECK-NOT:     te.kernel
// CHECK:         func.return
func.func @merged_heads(%x: tensor<2x4x3x5xf32>) -> tensor<4x6xf32> {
  %a = te.kernel "sum" (%y = %x) : (tensor<2x4x3x5xf32>) -> tensor<2x4x3xf32> {
    %z = te.compute [%h = 2, %i = 4, %j = 3] add [%k = 5] (%v = %y[%h, %i, %j, %k]) : (tensor<2x4x3x5xf32>) -> tensor<2x4x3xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<2x4x3xf32>
  }
  %b = te.kernel "merge" (%y = %a) : (tensor<2x4x3xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%j floordiv 3, %i, %j mod 3]) : (tensor<2x4x3xf32>) -> tensor<4x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  func.return %b : tensor<4x6xf32>
}

// A slice of rows and columns is read where it is; so is one of a slice.
// CHECK-LABEL: func.func @slice(
// CHECK:         %a = loop.alloc arena : memref<4x6xf32>
// CHECK:         %[[O:.*]] = arith.constant 8 : index
// CHECK-NEXT:    %b = memref.reinterpret_cast %a to offset: [%[[O]]], sizes: [3, 4], strides: [6, 1] : memref<4x6xf32> to memref<3x4xf32, strided<[6, 1], offset: ?>>
// CHECK-NEXT:    %[[P:.*]] = arith.constant 14 : index
// CHECK-NEXT:    %c = memref.reinterpret_cast %a to offset: [%[[P]]], sizes: [2, 4], strides: [6, 1]
// CHECK-NEXT:    te.kernel "both" (%y = %b, %z = %c)
func.func @slice(%x: tensor<4x6x5xf32>) -> tensor<2x4xf32> {
  %a = te.kernel "sum" (%y = %x) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] add [%k = 5] (%v = %y[%i, %j, %k]) : (tensor<4x6x5xf32>) -> tensor<4x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "slice" (%y = %a) : (tensor<4x6xf32>) -> tensor<3x4xf32> {
    %z = te.compute [%i = 3, %j = 4] (%v = %y[%i + 1, %j + 2]) : (tensor<4x6xf32>) -> tensor<3x4xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<3x4xf32>
  }
  %c = te.kernel "slice" (%y = %b) : (tensor<3x4xf32>) -> tensor<2x4xf32> {
    %z = te.compute [%i = 2, %j = 4] (%v = %y[%i + 1, %j]) : (tensor<3x4xf32>) -> tensor<2x4xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<2x4xf32>
  }
  %d = te.kernel "both" (%y = %b, %z = %c) : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> {
    %s = te.compute [%i = 2, %j = 4] (%v = %y[%i, %j], %w = %z[%i, %j]) : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> {
      %m = arith.mulf %v, %w : f32
      te.yield %m : f32
    }
    te.yield %s : tensor<2x4xf32>
  }
  func.return %d : tensor<2x4xf32>
}

// What repeats rows is a view whose rows are all at one place.
// CHECK-LABEL: func.func @broadcast(
// CHECK:         %b = memref.reinterpret_cast %x to offset: [%{{.*}}], sizes: [4, 6], strides: [0, 1] : memref<6xf32> to memref<4x6xf32, strided<[0, 1], offset: ?>>
// CHECK-NEXT:    te.kernel "sum" (%y = %b)
func.func @broadcast(%x: tensor<6xf32>) -> tensor<6xf32> {
  %b = te.kernel "broadcast" (%y = %x) : (tensor<6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%j]) : (tensor<6xf32>) -> tensor<4x6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %c = te.kernel "sum" (%y = %b) : (tensor<4x6xf32>) -> tensor<6xf32> {
    %z = te.compute [%j = 6] add [%i = 4] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<6xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<6xf32>
  }
  func.return %c : tensor<6xf32>
}

// The parts of a concatenation are written by what computes them; one that is an argument is copied there.
// CHECK-LABEL: func.func @concat(
// CHECK:         %a = memref.reinterpret_cast %c to offset: [%{{.*}}], sizes: [4, 2], strides: [5, 1] : memref<4x5xf32> to memref<4x2xf32, strided<[5, 1], offset: ?>>
// CHECK-NEXT:    te.kernel "sum" (%z = %x) into (%a)
// CHECK:         %[[O:.*]] = arith.constant 2 : index
// CHECK-NEXT:    %c_1 = memref.reinterpret_cast %c to offset: [%[[O]]], sizes: [4, 3], strides: [5, 1]
// CHECK-NEXT:    te.kernel "concat_part" (%y_1 = %y) into (%c_1) : (memref<4x3xf32>) -> memref<4x3xf32, strided<[5, 1], offset: ?>> {
// CHECK-NEXT:      %c_2 = te.compute [%i = 4, %j = 3] (%y_2 = %y_1[%i, %j])
// CHECK-NOT:     te.kernel
// CHECK:         func.return
func.func @concat(%x: tensor<4x2x5xf32>, %y: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %a = te.kernel "sum" (%z = %x) : (tensor<4x2x5xf32>) -> tensor<4x2xf32> {
    %s = te.compute [%i = 4, %j = 2] add [%k = 5] (%v = %z[%i, %j, %k]) : (tensor<4x2x5xf32>) -> tensor<4x2xf32> {
      te.yield %v : f32
    }
    te.yield %s : tensor<4x2xf32>
  }
  %c = te.kernel "concat" (%p = %a, %q = %y) : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32> {
    %s = te.compute [%i = 4, %j = 5] (%v = %p[%i, %j] else 0.0 : f32, %w = %q[%i, %j - 2] else 0.0 : f32) : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32> {
      %n = arith.constant 2 : index
      %c = arith.cmpi slt, %j, %n : index
      %r = arith.select %c, %v, %w : f32
      te.yield %r : f32
    }
    te.yield %s : tensor<4x5xf32>
  }
  func.return %c : tensor<4x5xf32>
}

// What is padded is written inside of the border, and the border by kernels of its own.
// CHECK-LABEL: func.func @pad(
// CHECK:         %[[O:.*]] = arith.constant 6 : index
// CHECK-NEXT:    %a = memref.reinterpret_cast %b to offset: [%[[O]]], sizes: [2, 4], strides: [5, 1] : memref<4x5xf32> to memref<2x4xf32, strided<[5, 1], offset: ?>>
// CHECK-NEXT:    te.kernel "sum" (%z = %x) into (%a)
// CHECK:         te.kernel "pad_border" () into (%b_1) : () -> memref<1x5xf32> {
// CHECK-NEXT:      %b_2 = te.compute [%i = 1, %j = 5] () : () -> tensor<1x5xf32> {
// CHECK-NEXT:        %{{.*}} = arith.constant 1.000000e+00 : f32
// CHECK:         te.kernel "pad_border" () into (%{{.*}}) : () -> memref<1x5xf32, strided<[5, 1], offset: ?>> {
// CHECK:         te.kernel "pad_border" () into (%{{.*}}) : () -> memref<2x1xf32, strided<[5, 1], offset: ?>> {
// CHECK-NOT:     te.kernel
// CHECK:         func.return
func.func @pad(%x: tensor<2x4x5xf32>) -> tensor<4x5xf32> {
  %a = te.kernel "sum" (%z = %x) : (tensor<2x4x5xf32>) -> tensor<2x4xf32> {
    %s = te.compute [%i = 2, %j = 4] add [%k = 5] (%v = %z[%i, %j, %k]) : (tensor<2x4x5xf32>) -> tensor<2x4xf32> {
      te.yield %v : f32
    }
    te.yield %s : tensor<2x4xf32>
  }
  %b = te.kernel "pad" (%z = %a) : (tensor<2x4xf32>) -> tensor<4x5xf32> {
    %s = te.compute [%i = 4, %j = 5] (%v = %z[%i - 1, %j - 1] else 1.0 : f32) : (tensor<2x4xf32>) -> tensor<4x5xf32> {
      te.yield %v : f32
    }
    te.yield %s : tensor<4x5xf32>
  }
  func.return %b : tensor<4x5xf32>
}

// Computes that stand in the function are one kernel whose loops will stand there.
// CHECK-LABEL: func.func @loose(
// CHECK-NEXT:    te.kernel inline "loose" (%x_1 = %x) into (%a, %b) : (memref<4xf32>) -> (memref<4xf32>, memref<4xf32>) {
func.func @loose(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = te.compute [%i = 4] (%v = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  %b = te.compute [%i = 4] (%v = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// A result that is returned twice is copied at the end, also where no kernel of its own makes it.
// CHECK-LABEL: func.func @twice(
// CHECK:         %a = memref.reinterpret_cast %b to offset: [0], sizes: [2, 3]
// CHECK:         "memref.copy"(%b, %b_1)
func.func @twice(%x: tensor<2x3x5xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %a = te.kernel "sum" (%z = %x) : (tensor<2x3x5xf32>) -> tensor<2x3xf32> {
    %s = te.compute [%i = 2, %j = 3] add [%k = 5] (%v = %z[%i, %j, %k]) : (tensor<2x3x5xf32>) -> tensor<2x3xf32> {
      te.yield %v : f32
    }
    te.yield %s : tensor<2x3xf32>
  }
  %b = te.kernel "reshape" (%z = %a) : (tensor<2x3xf32>) -> tensor<6xf32> {
    %s = te.compute [%i = 6] (%v = %z[%i floordiv 3, %i mod 3]) : (tensor<2x3xf32>) -> tensor<6xf32> {
      te.yield %v : f32
    }
    te.yield %s : tensor<6xf32>
  }
  func.return %b, %b : tensor<6xf32>, tensor<6xf32>
}

// What is computed from a reshaped operand reads it through a view, and not with divisions.
// CHECK-LABEL: func.func @straight(
// CHECK-NEXT:    %x_1 = memref.reinterpret_cast %x to offset: [0], sizes: [3, 8], strides: [8, 1] : memref<4x6xf32> to memref<3x8xf32>
// CHECK-NEXT:    te.kernel "exp" (%y = %x_1) into (%b) : (memref<3x8xf32>) -> memref<3x8xf32> {
// CHECK-NEXT:      %z = te.compute [%i = 3, %j = 8] (%v = %y[%i, %j])
func.func @straight(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %b = te.kernel "exp" (%y = %x) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
    %z = te.compute [%i = 3, %j = 8] (%v = %y[(%i * 8 + %j) floordiv 6, (%i * 8 + %j) mod 6]) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
      %e = math.exp %v : f32
      te.yield %e : f32
    }
    te.yield %z : tensor<3x8xf32>
  }
  func.return %b : tensor<3x8xf32>
}

// Heads side by side are at no regular distance along the merged axis; and what is read in two ways has no view for both.
// CHECK-LABEL: func.func @divided(
// CHECK-NOT:     memref.reinterpret_cast
// CHECK:         te.compute [%i = 4, %j = 6] (%v = %y[%j floordiv 3, %i, %j mod 3])
// CHECK:         te.compute [%i = 3, %j = 8] (%v = %y[(%i * 8 + %j) floordiv 6, (%i * 8 + %j) mod 6], %w = %y[%i, 0])
// CHECK:         func.return
func.func @divided(%x: tensor<2x4x3xf32>, %u: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<3x8xf32>) {
  %b = te.kernel "exp" (%y = %x) : (tensor<2x4x3xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%j floordiv 3, %i, %j mod 3]) : (tensor<2x4x3xf32>) -> tensor<4x6xf32> {
      %e = math.exp %v : f32
      te.yield %e : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %c = te.kernel "add" (%y = %u) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
    %z = te.compute [%i = 3, %j = 8] (%v = %y[(%i * 8 + %j) floordiv 6, (%i * 8 + %j) mod 6], %w = %y[%i, 0]) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<3x8xf32> {
      %e = arith.addf %v, %w : f32
      te.yield %e : f32
    }
    te.yield %z : tensor<3x8xf32>
  }
  func.return %b, %c : tensor<4x6xf32>, tensor<3x8xf32>
}

// What is returned can be seen through another shape as well.
// CHECK-LABEL: func.func @returned_and_viewed(
// CHECK:         te.kernel "exp" (%y = %x) into (%a)
// CHECK:         %b = memref.reinterpret_cast %a to offset: [0], sizes: [24], strides: [1]
// CHECK-NEXT:    te.kernel "sum" (%y = %b) into (%c)
func.func @returned_and_viewed(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<f32>) {
  %a = te.kernel "exp" (%y = %x) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
    %z = te.compute [%i = 4, %j = 6] (%v = %y[%i, %j]) : (tensor<4x6xf32>) -> tensor<4x6xf32> {
      %e = math.exp %v : f32
      te.yield %e : f32
    }
    te.yield %z : tensor<4x6xf32>
  }
  %b = te.kernel "reshape" (%y = %a) : (tensor<4x6xf32>) -> tensor<24xf32> {
    %z = te.compute [%i = 24] (%v = %y[%i floordiv 6, %i mod 6]) : (tensor<4x6xf32>) -> tensor<24xf32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<24xf32>
  }
  %c = te.kernel "sum" (%y = %b) : (tensor<24xf32>) -> tensor<f32> {
    %z = te.compute [] add [%i = 24] (%v = %y[%i]) : (tensor<24xf32>) -> tensor<f32> {
      te.yield %v : f32
    }
    te.yield %z : tensor<f32>
  }
  func.return %a, %c : tensor<4x6xf32>, tensor<f32>
}

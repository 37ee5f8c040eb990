// RUN: stepwell-opt %s -p te-reduce-rows-first{target=x86-64-v3} | filecheck %s
// RUN: stepwell-opt %s -p 'te-reduce-rows-first{fp=strict}' | filecheck %s --check-prefix STRICT
// RUN: stepwell-opt %s --remarks -p 'te-reduce-rows-first{fp=strict}' 2>&1 >/dev/null | filecheck %s --check-prefix WHY

// Rows of blocks become one row, whose columns are reduced then: maxima are the same in any order.
// CHECK-LABEL: func.func @blocks
// CHECK:         %[[ROWS:.*]] = te.compute [%i = 4, %k = 6, %l = 5] max [%j = 3] (%a = %x[%i * 3 + %j, %k * 5 + %l]) :
// CHECK:         te.compute [%{{i.*}} = 4, %{{k.*}} = 6] max [%{{l.*}} = 5] (%{{.*}} = %[[ROWS]][%{{i.*}}, %{{k.*}}, %{{l.*}}]) :
// STRICT-LABEL: func.func @blocks
// STRICT:         te.compute [%i = 4, %k = 6, %l = 5] max [%j = 3]
func.func @blocks(%x: tensor<12x30xf32>) -> tensor<4x6xf32> {
  %y = te.compute [%i = 4, %k = 6] max [%j = 3, %l = 5] (%a = %x[%i * 3 + %j, %k * 5 + %l]) : (tensor<12x30xf32>) -> tensor<4x6xf32> { te.yield %a : f32 }
  func.return %y : tensor<4x6xf32>
}

// So are sums, unless those of floats keep their order; the body's indices are those that they were.
// CHECK-LABEL: func.func @sums
// CHECK:         te.compute [%i = 4, %k = 6, %l = 5] add [%j = 3] (%a = %x[%i, %j, %k, %l]) :
// CHECK-NEXT:      %{{.*}} = arith.index_cast %j : index to i32
// CHECK:         te.compute [%{{i.*}} = 4, %{{k.*}} = 6] add [%{{l.*}} = 5]
// STRICT-LABEL: func.func @sums
// STRICT:         te.compute [%i = 4, %k = 6] add [%l = 5, %j = 3]
// WHY: remark: te-reduce-rows-first: blocks keep the order of their elements
func.func @sums(%x: tensor<4x3x6x5xf32>) -> tensor<4x6xf32> {
  %y = te.compute [%i = 4, %k = 6] add [%l = 5, %j = 3] (%a = %x[%i, %j, %k, %l]) : (tensor<4x3x6x5xf32>) -> tensor<4x6xf32> {
    %n = arith.index_cast %j : index to i32
    %f = arith.sitofp %n : i32 to f32
    %b = arith.mulf %a, %f : f32
    te.yield %b : f32
  }
  func.return %y : tensor<4x6xf32>
}

// Few columns are in lanes of interleaved loads; windows that overlap share columns; whole images have none side by side.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    te.compute [%i = 4, %k = 6] max [%j = 3, %l = 4]
// CHECK:         te.compute [%{{i.*}} = 4, %{{k.*}} = 6] max [%{{j.*}} = 3, %{{l.*}} = 6]
// CHECK:         te.compute [%{{c.*}} = 6] max [%{{j.*}} = 12, %{{l.*}} = 30]
// CHECK-NOT:     te.compute
// CHECK:         func.return
func.func @others(%x: tensor<12x24xf32>, %y: tensor<12x31xf32>, %z: tensor<6x12x30xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>) {
  %u = te.compute [%i = 4, %k = 6] max [%j = 3, %l = 4] (%a = %x[%i * 3 + %j, %k * 4 + %l]) : (tensor<12x24xf32>) -> tensor<4x6xf32> { te.yield %a : f32 }
  %v = te.compute [%i = 4, %k = 6] max [%j = 3, %l = 6] (%a = %y[%i * 3 + %j, %k * 5 + %l]) : (tensor<12x31xf32>) -> tensor<4x6xf32> { te.yield %a : f32 }
  %w = te.compute [%c = 6] max [%j = 12, %l = 30] (%a = %z[%c, %j, %l]) : (tensor<6x12x30xf32>) -> tensor<6xf32> { te.yield %a : f32 }
  func.return %u, %v, %w : tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>
}

// Sums of bytes whose columns fill a vector are added up across its lanes; of two rows as much would be stored as is read.
// CHECK-LABEL: func.func @bytes
// CHECK:         te.compute [%{{i.*}} = 4, %{{k.*}} = 6] add [%{{j.*}} = 8, %{{l.*}} = 32]
// CHECK:         te.compute [%{{i.*}} = 4, %{{k.*}} = 6] add [%{{j.*}} = 2, %{{l.*}} = 16]
// CHECK:         te.compute [%{{i.*}} = 4, %{{k.*}} = 6, %{{l.*}} = 16] add [%{{j.*}} = 8]
func.func @bytes(%x: tensor<32x192xi8>, %y: tensor<4x2x6x16xi8>, %z: tensor<4x8x6x16xi8>) -> (tensor<4x6xi16>, tensor<4x6xi16>, tensor<4x6xi16>) {
  %u = te.compute [%i = 4, %k = 6] add [%j = 8, %l = 32] (%a = %x[%i * 8 + %j, %k * 32 + %l]) : (tensor<32x192xi8>) -> tensor<4x6xi16> {
    %n = arith.extui %a : i8 to i16
    te.yield %n : i16
  }
  %v = te.compute [%i = 4, %k = 6] add [%j = 2, %l = 16] (%a = %y[%i, %j, %k, %l]) : (tensor<4x2x6x16xi8>) -> tensor<4x6xi16> {
    %n = arith.extui %a : i8 to i16
    te.yield %n : i16
  }
  %c = te.compute [%i = 4, %j = 8, %k = 6, %l = 16] (%a = %z[%i, %j, %k, %l]) : (tensor<4x8x6x16xi8>) -> tensor<4x8x6x16xi16> {
    %n = arith.extui %a : i8 to i16
    te.yield %n : i16
  }
  %w = te.compute [%i = 4, %k = 6] add [%j = 8, %l = 16] (%a = %c[%i, %j, %k, %l]) : (tensor<4x8x6x16xi16>) -> tensor<4x6xi16> { te.yield %a : i16 }
  func.return %u, %v, %w : tensor<4x6xi16>, tensor<4x6xi16>, tensor<4x6xi16>
}

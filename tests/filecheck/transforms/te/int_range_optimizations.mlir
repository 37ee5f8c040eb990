// RUN: stepwell-opt %s -p te-int-range-optimizations | filecheck %s

// Bytes are indices of 256 elements as they are.
// CHECK-LABEL: func.func @table
// CHECK:         %[[BYTE:.*]] = arith.extui %b : i8 to i64
// CHECK-NEXT:    %[[INDEX:.*]] = arith.index_cast %[[BYTE]] : i64 to index
// CHECK-NEXT:    tensor.extract %{{.*}}[%[[INDEX]]]
func.func @table(%t: tensor<256xf32>, %x: tensor<9xi8>) -> tensor<9xf32> {
  %y = te.compute [%i = 9] (%a = %t, %b = %x[%i]) : (tensor<256xf32>, tensor<9xi8>) -> tensor<9xf32> {
    %w = arith.extui %b : i8 to i64
    %n = arith.constant 256 : i64
    %zero = arith.constant 0 : i64
    %is_below = arith.cmpi slt, %w, %zero : i64
    %from_end = arith.addi %w, %n : i64
    %s = arith.select %is_below, %from_end, %w : i64
    %c = arith.minui %s, %n : i64
    %place = arith.index_cast %c : i64 to index
    %v = tensor.extract %a[%place] : tensor<256xf32>
    te.yield %v : f32
  }
  func.return %y : tensor<9xf32>
}

// What an iterator is compared with; a remainder, and bits that are masked.
// CHECK-LABEL: func.func @iterators
// CHECK-NOT:     arith.cmpi
// CHECK-NOT:     arith.minsi
// CHECK:         te.yield
func.func @iterators(%x: tensor<9xi32>) -> tensor<9xi32> {
  %y = te.compute [%i = 9] (%a = %x[%i]) : (tensor<9xi32>) -> tensor<9xi32> {
    %nine = arith.constant 9 : index
    %is_inside = arith.cmpi ult, %i, %nine : index
    %seven = arith.constant 7 : i32
    %low = arith.andi %a, %seven : i32
    %low_7 = arith.minsi %low, %seven : i32
    %s = arith.select %is_inside, %low_7, %a : i32
    te.yield %s : i32
  }
  func.return %y : tensor<9xi32>
}

// Signed bytes may be negative, and a sum of 32 bits may wrap around: what depends is left.
// CHECK-LABEL: func.func @left
// CHECK:         arith.maxsi
// CHECK:         arith.cmpi slt
// CHECK:         arith.select
func.func @left(%x: tensor<9xi8>, %y: tensor<9xi32>) -> tensor<9xi32> {
  %z = te.compute [%i = 9] (%a = %x[%i], %b = %y[%i]) : (tensor<9xi8>, tensor<9xi32>) -> tensor<9xi32> {
    %zero = arith.constant 0 : i32
    %w = arith.extsi %a : i8 to i32
    %m = arith.maxsi %w, %zero : i32
    %sum = arith.addi %m, %b : i32
    %is_below = arith.cmpi slt, %sum, %b : i32
    %s = arith.select %is_below, %zero, %sum : i32
    te.yield %s : i32
  }
  func.return %z : tensor<9xi32>
}

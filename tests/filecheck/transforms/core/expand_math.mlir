// RUN: stepwell-opt %s -p core-expand-math --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK-LABEL: func.func @power(%x: i32, %n: i32) -> i32 {
// CHECK:         %[[ODD_BIT:.*]] = arith.andi %n, %one : i32
// CHECK-NEXT:    %[[ODD:.*]] = arith.cmpi ne, %[[ODD_BIT]], %zero : i32
// CHECK-NEXT:    %[[SIGN:.*]] = arith.select %[[ODD]], %minus_one, %one : i32
// CHECK:         %is_negative = arith.cmpi slt, %n, %zero : i32
// CHECK-NEXT:    %[[BITS:.*]] = arith.select %is_negative, %zero, %n : i32
// CHECK-NEXT:    %[[LOOP:.*]], %{{.*}}, %{{.*}} = scf.while (%power = %one, %factor = %x, %bits = %[[BITS]])
// CHECK-NEXT:      %[[LEFT:.*]] = arith.cmpi ne, %bits, %zero : i32
// CHECK-NEXT:      scf.condition(%[[LEFT]])
// CHECK:           arith.shrui
// CHECK-NEXT:      scf.yield
// CHECK:         %r = arith.select %is_negative, %{{.*}}, %[[LOOP]] : i32
// CHECK-NEXT:    func.return %r : i32
func.func @power(%x: i32, %n: i32) -> i32 {
  %r = math.ipowi %x, %n : i32
  func.return %r : i32
}

// -----

// A power that is known has no loop.
// CHECK-LABEL: func.func @fifth
// CHECK:         %[[SQUARE:.*]] = arith.muli %x, %x : index
// CHECK-NEXT:    %[[FOURTH:.*]] = arith.muli %[[SQUARE]], %[[SQUARE]] : index
// CHECK-NEXT:    %r = arith.muli %x, %[[FOURTH]] : index
// CHECK-NEXT:    func.return %r
func.func @fifth(%x: index) -> index {
  %n = arith.constant 5 : index
  %r = math.ipowi %x, %n : index
  func.return %r : index
}

// -----

func.func @vectors(%x: vector<4xi32>) -> vector<4xi32> {
  %r = math.ipowi %x, %x : vector<4xi32>
  func.return %r : vector<4xi32>
}
// CHECK: expand_math.mlir:38:8: found math.ipowi on vector<4xi32>, expected integers; unroll the vector first

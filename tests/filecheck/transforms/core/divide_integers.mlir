// RUN: stepwell-opt %s -p "core-divide-by-constants{target=x86-64-v3}" | filecheck %s
// RUN: stepwell-opt %s -p "core-divide-by-constants{fp=strict target=x86-64-v2}" | filecheck %s

// A remainder of a power of two that is rounded down is some of the bits.
// CHECK-LABEL: @bits
// CHECK:      %[[SEVEN:.*]] = arith.constant 7 : i32
// CHECK-NEXT: %r = arith.andi %x, %[[SEVEN]] : i32
// CHECK-NEXT: func.return %r
func.func @bits(%x: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  %rest = arith.remsi %x, %eight : i32
  %raised = arith.addi %rest, %eight : i32
  %signs = arith.xori %rest, %eight : i32
  %has_rest = arith.cmpi ne, %rest, %zero : i32
  %crosses = arith.cmpi slt, %signs, %zero : i32
  %both = arith.andi %has_rest, %crosses : i1
  %r = arith.select %both, %raised, %rest : i32
  func.return %r : i32
}

// A quotient rounded down is that of the number, or of its complement, which are not negative.
// CHECK-LABEL: @down
// CHECK:      %[[SIGN:.*]] = arith.shrsi %x, {{.*}} : vector<8xi32>
// CHECK-NEXT: %[[POSITIVE:.*]] = arith.xori %x, %[[SIGN]] : vector<8xi32>
// CHECK:      %[[QUOTIENT:.*]] = arith.divui %[[POSITIVE]], {{.*}} : vector<8xi32>
// CHECK-NEXT: %q = arith.xori %[[QUOTIENT]], %[[SIGN]] : vector<8xi32>
// CHECK-NEXT: func.return %q
func.func @down(%x: vector<8xi32>) -> vector<8xi32> {
  %0 = arith.constant 0 : i32
  %1 = arith.constant 1 : i32
  %7 = arith.constant 7 : i32
  %zero = vector.broadcast %0 : i32 to vector<8xi32>
  %one = vector.broadcast %1 : i32 to vector<8xi32>
  %seven = vector.broadcast %7 : i32 to vector<8xi32>
  %quotient = arith.divsi %x, %seven : vector<8xi32>
  %rest = arith.remsi %x, %seven : vector<8xi32>
  %lower = arith.subi %quotient, %one : vector<8xi32>
  %signs = arith.xori %rest, %seven : vector<8xi32>
  %has_rest = arith.cmpi ne, %rest, %zero : vector<8xi32>
  %crosses = arith.cmpi slt, %signs, %zero : vector<8xi32>
  %both = arith.andi %has_rest, %crosses : vector<8xi1>
  %q = arith.select %both, %lower, %quotient : vector<8xi1>, vector<8xi32>
  func.return %q : vector<8xi32>
}

// The upper half of the product with 2^66 / 10, for all numbers of 64 bits.
// CHECK-LABEL: @words
// CHECK-NOT:  arith.divui
// CHECK:      arith.constant dense<2576980378> : vector<4xi64>
// CHECK-NEXT: arith.constant dense<2576980377> : vector<4xi64>
// CHECK-NOT:  arith.divui
func.func @words(%x: vector<4xi64>) -> vector<4xi64> {
  %ten = arith.constant dense<10> : vector<4xi64>
  %q = arith.divui %x, %ten : vector<4xi64>
  func.return %q : vector<4xi64>
}

// LLVM divides single numbers, narrower ones and by powers of two as well; by negative numbers nothing is known.
// CHECK-LABEL: @stay
// CHECK: arith.divsi %x
// CHECK: arith.divui %y
// CHECK: arith.divui %z
// CHECK: arith.divsi %z
func.func @stay(%x: i64, %y: vector<8xi32>, %z: vector<4xi64>) -> (i64, vector<8xi32>, vector<4xi64>, vector<4xi64>) {
  %ten = arith.constant 10 : i64
  %tens = arith.constant dense<10> : vector<8xi32>
  %eight = arith.constant dense<8> : vector<4xi64>
  %minus = arith.constant dense<-10> : vector<4xi64>
  %a = arith.divsi %x, %ten : i64
  %b = arith.divui %y, %tens : vector<8xi32>
  %c = arith.divui %z, %eight : vector<4xi64>
  %d = arith.divsi %z, %minus : vector<4xi64>
  func.return %a, %b, %c, %d : i64, vector<8xi32>, vector<4xi64>, vector<4xi64>
}

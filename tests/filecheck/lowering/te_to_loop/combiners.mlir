// RUN: stepwell-opt %s -p convert-te-to-loop | filecheck %s

// Each combiner: the value it starts from, and the operation that joins.

// CHECK-LABEL: func.func @of_f32(
// CHECK:         arith.constant 0.000000e+00 : f32
// CHECK:         arith.addf
// CHECK:         arith.constant 1.000000e+00 : f32
// CHECK:         arith.mulf
// CHECK:         arith.constant 0xff800000 : f32
// CHECK:         arith.maximumf
// CHECK:         arith.constant 0x7f800000 : f32
// CHECK:         arith.minimumf
// CHECK:         arith.constant 0x7f800000 : f32
// CHECK:         arith.cmpf olt
func.func @of_f32(%x: tensor<3xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>) {
  %0 = te.compute [] add [%k = 3] (%a = %x[%k]) : (tensor<3xf32>) -> tensor<f32> { te.yield %a : f32 }
  %1 = te.compute [] mul [%k = 3] (%a = %x[%k]) : (tensor<3xf32>) -> tensor<f32> { te.yield %a : f32 }
  %2 = te.compute [] max [%k = 3] (%a = %x[%k]) : (tensor<3xf32>) -> tensor<f32> { te.yield %a : f32 }
  %3 = te.compute [] min [%k = 3] (%a = %x[%k]) : (tensor<3xf32>) -> tensor<f32> { te.yield %a : f32 }
  %4 = te.compute [] argmin [%k = 3] (%a = %x[%k]) : (tensor<3xf32>) -> tensor<i32> {
    %n = arith.index_cast %k : index to i32
    te.yield %a, %n : f32, i32
  }
  func.return %0, %1, %2, %3, %4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>
}

// CHECK-LABEL: func.func @of_i8(
// CHECK:         arith.constant 0 : i8
// CHECK:         arith.addi
// CHECK:         arith.constant 1 : i8
// CHECK:         arith.muli
// CHECK:         arith.constant -128 : i8
// CHECK:         arith.maxsi
// CHECK:         arith.constant 127 : i8
// CHECK:         arith.minsi
// CHECK:         arith.constant 0 : i8
// CHECK:         arith.maxui
// CHECK:         arith.constant -1 : i8
// CHECK:         arith.minui
// CHECK:         arith.constant -1 : i8
// CHECK:         arith.andi
// CHECK:         arith.constant 0 : i8
// CHECK:         arith.ori
// CHECK:         arith.constant -128 : i8
// CHECK:         arith.constant 2147483647 : i32
// CHECK:         arith.cmpi sgt
func.func @of_i8(%x: tensor<3xi8>) -> (tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i32>) {
  %0 = te.compute [] add [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %1 = te.compute [] mul [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %2 = te.compute [] max [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %3 = te.compute [] min [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %4 = te.compute [] umax [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %5 = te.compute [] umin [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %6 = te.compute [] and [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %7 = te.compute [] or [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i8> { te.yield %a : i8 }
  %8 = te.compute [] argmax [%k = 3] (%a = %x[%k]) : (tensor<3xi8>) -> tensor<i32> {
    %n = arith.index_cast %k : index to i32
    te.yield %a, %n : i8, i32
  }
  func.return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i8>, tensor<i32>
}

// As a signed number `true` is -1.
// CHECK-LABEL: func.func @of_i1(
// CHECK:         arith.constant true
// CHECK:         arith.maxsi
// CHECK:         arith.constant false
// CHECK:         arith.minsi
// CHECK:         arith.constant false
// CHECK:         arith.maxui
// CHECK:         arith.constant true
// CHECK:         arith.minui
func.func @of_i1(%x: tensor<3xi1>) -> (tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>) {
  %0 = te.compute [] max [%k = 3] (%a = %x[%k]) : (tensor<3xi1>) -> tensor<i1> { te.yield %a : i1 }
  %1 = te.compute [] min [%k = 3] (%a = %x[%k]) : (tensor<3xi1>) -> tensor<i1> { te.yield %a : i1 }
  %2 = te.compute [] umax [%k = 3] (%a = %x[%k]) : (tensor<3xi1>) -> tensor<i1> { te.yield %a : i1 }
  %3 = te.compute [] umin [%k = 3] (%a = %x[%k]) : (tensor<3xi1>) -> tensor<i1> { te.yield %a : i1 }
  func.return %0, %1, %2, %3 : tensor<i1>, tensor<i1>, tensor<i1>, tensor<i1>
}

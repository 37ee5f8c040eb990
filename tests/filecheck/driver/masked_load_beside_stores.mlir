// RUN: stepwell compile %s --target x86-64-v3 --emit asm | filecheck %s

// LLVM 22 ends the process at this unless its pass against blocked store forwarding is turned off.

// CHECK-LABEL: parts:
// CHECK:         vmaskmovps
func.func @parts(%x: memref<64xf32>, %n: index, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %c24 = arith.constant 24 : index
  %p = arith.constant dense<0.0> : vector<8xf32>
  %below = vector.create_mask %n : vector<32xi1>
  %three = arith.constant dense<[1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]> : vector<32xi1>
  %m = arith.andi %below, %three : vector<32xi1>
  %m0 = vector.shuffle %m, %m [0, 1, 2, 3, 4, 5, 6, 7] : vector<32xi1>, vector<32xi1>
  %m1 = vector.shuffle %m, %m [8, 9, 10, 11, 12, 13, 14, 15] : vector<32xi1>, vector<32xi1>
  %m2 = vector.shuffle %m, %m [16, 17, 18, 19, 20, 21, 22, 23] : vector<32xi1>, vector<32xi1>
  %m3 = vector.shuffle %m, %m [24, 25, 26, 27, 28, 29, 30, 31] : vector<32xi1>, vector<32xi1>
  %v0 = vector.maskedload %x[%c0], %m0, %p : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.store %v0, %y[%c0] : memref<64xf32>, vector<8xf32>
  %v1 = vector.maskedload %x[%c8], %m1, %p : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.store %v1, %y[%c8] : memref<64xf32>, vector<8xf32>
  %v2 = vector.maskedload %x[%c16], %m2, %p : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.store %v2, %y[%c16] : memref<64xf32>, vector<8xf32>
  %v3 = vector.maskedload %x[%c24], %m3, %p : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.store %v3, %y[%c24] : memref<64xf32>, vector<8xf32>
  func.return
}

// RUN: stepwell compile %s --target x86-64-v3 --emit asm | filecheck %s

// LLVM 22 ends the process at this unless its pass against blocked store forwarding is turned off.

// CHECK-LABEL: wide_mask:
// CHECK:         vmaskmovps
func.func @wide_mask(%x: memref<64xf32>, %n: index, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %p = arith.constant dense<0.0> : vector<32xf32>
  %below = vector.create_mask %n : vector<32xi1>
  %three = arith.constant dense<[1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]> : vector<32xi1>
  %m = arith.andi %below, %three : vector<32xi1>
  %v = vector.maskedload %x[%c0], %m, %p : memref<64xf32>, vector<32xi1>, vector<32xf32> into vector<32xf32>
  vector.store %v, %y[%c0] : memref<64xf32>, vector<32xf32>
  func.return
}

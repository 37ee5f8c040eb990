// RUN: stepwell-opt %s -p 'core-convert-by-permuting{target=icelake-server}' --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p 'core-convert-by-permuting{target=skylake-avx512}' --split-input-file | filecheck %s --check-prefix OTHER

// Eight pixels are 24 bytes, and 61 of a register's 64 are left beside those of 2^52. Red and green are of one load.
// OTHER-NOT: vector.maskedload
// CHECK-LABEL: func.func @pixels
// CHECK:         arith.constant dense<{{.*}} 67, 48, 0]> : vector<64xi8>
// CHECK:         %[[BYTES:.*]] = vector.maskedload
// CHECK-NOT:     vector.maskedload
// CHECK:         %[[RED:.*]] = vector.shuffle %[[BYTES]], %[[BYTES]] [0, 63, 63, 63, 63, 63, 62, 61, 3, 63
// CHECK-NEXT:    vector.bitcast %[[RED]] : vector<64xi8> to vector<8xf64>
// CHECK:         arith.constant 0x4330000000000000 : f64
// CHECK:         arith.subf %{{.*}}, %{{.*}} {stepwell.between = [0.000000e+00 : f64, 2.550000e+02 : f64]}
// CHECK:         vector.shuffle %[[BYTES]], %[[BYTES]] [1, 63,
// CHECK-NOT:     vector.load
func.func @pixels(%from: memref<96xi8>, %at: index) -> (vector<8xf64>, vector<8xf64>) {
  %a = vector.load %from[%at] : memref<96xi8>, vector<8xi8>
  %c8 = arith.constant 8 : index
  %second = arith.addi %at, %c8 : index
  %b = vector.load %from[%second] : memref<96xi8>, vector<16xi8>
  %c = vector.shuffle %b, %b [0, 1, 2, 3, 4, 5, 6, 7] : vector<16xi8>, vector<16xi8>
  %d = vector.shuffle %b, %b [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xi8>, vector<16xi8>
  %e = vector.shuffle %a, %c [0, 3, 6, 9, 12, 15, 0, 0] : vector<8xi8>, vector<8xi8>
  %red = vector.shuffle %e, %d [0, 1, 2, 3, 4, 5, 10, 13] : vector<8xi8>, vector<8xi8>
  %f = vector.shuffle %a, %c [1, 4, 7, 10, 13, 0, 0, 0] : vector<8xi8>, vector<8xi8>
  %green = vector.shuffle %f, %d [0, 1, 2, 3, 4, 8, 11, 14] : vector<8xi8>, vector<8xi8>
  %0 = arith.uitofp %red : vector<8xi8> to vector<8xf64>
  %1 = arith.uitofp %green : vector<8xi8> to vector<8xf64>
  func.return %0, %1 : vector<8xf64>, vector<8xf64>
}

// -----

// A product takes 2^52 away itself. Signed integers have their sign inverted, and 2^7 more is taken away.
// CHECK-LABEL: func.func @product
// CHECK:         arith.xori
// CHECK:         math.fma {{.*}} {stepwell.between
// CHECK:         arith.constant 0x4330000000000080 : f64
// CHECK-NEXT:    vector.broadcast
// CHECK-NEXT:    arith.subf
func.func @product(%from: memref<?xi8>, %at: index) -> (vector<8xf64>, vector<8xf64>) {
  %a = vector.load %from[%at] : memref<?xi8>, vector<8xi8>
  %half = arith.constant dense<0.3> : vector<8xf64>
  %0 = arith.uitofp %a : vector<8xi8> to vector<8xf64>
  %1 = arith.mulf %0, %half : vector<8xf64>
  %2 = arith.sitofp %a : vector<8xi8> to vector<8xf64>
  func.return %1, %2 : vector<8xf64>, vector<8xf64>
}

// -----

// Neighbours are widened to 32 bits as fast; between these loads something may be stored to what they load; eight
// pixels of eight bytes fill a register; and integers of 32 and 64 bits are not narrow.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     vector.maskedload
func.func @kept(%from: memref<?xi8>, %wide: memref<?xi64>, %at: index) -> (vector<16xf32>, vector<16xf32>, vector<8xf64>, vector<8xf64>) {
  %a = vector.load %from[%at] : memref<?xi8>, vector<16xi8>
  %0 = arith.uitofp %a : vector<16xi8> to vector<16xf32>
  vector.store %a, %from[%at] : memref<?xi8>, vector<16xi8>
  %b = vector.load %from[%at] : memref<?xi8>, vector<16xi8>
  %c = vector.shuffle %a, %b [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31] : vector<16xi8>, vector<16xi8>
  %1 = arith.uitofp %c : vector<16xi8> to vector<16xf32>
  %d = vector.load %from[%at] : memref<?xi8>, vector<64xi8>
  %e = vector.shuffle %d, %d [7, 15, 23, 31, 39, 47, 55, 63] : vector<64xi8>, vector<64xi8>
  %2 = arith.uitofp %e : vector<8xi8> to vector<8xf64>
  %f = vector.load %wide[%at] : memref<?xi64>, vector<8xi64>
  %3 = arith.sitofp %f : vector<8xi64> to vector<8xf64>
  func.return %0, %1, %2, %3 : vector<16xf32>, vector<16xf32>, vector<8xf64>, vector<8xf64>
}

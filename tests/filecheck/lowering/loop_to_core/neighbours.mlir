// RUN: stepwell-opt %s -p convert-loop-to-core --split-input-file | filecheck %s

// What is at a computed index that rises by one is loaded at once where the first and the last lane say that it does, and
// where they say that it stays the same, one element for all. The index is computed in these lanes alone.

// CHECK-LABEL: func.func @clipped
// CHECK:         %[[A:x.*]] = arith.subi %{{.*}}, %s : index
// CHECK-NEXT:    %[[F:k.*]] = arith.maxsi %[[A]], %{{.*}} : index
// CHECK-NEXT:    %[[B:x.*]] = arith.subi %{{.*}}, %s : index
// CHECK-NEXT:    %[[L:k.*]] = arith.maxsi %[[B]], %{{.*}} : index
// CHECK-NEXT:    arith.cmpi sge, %[[B]], %[[A]] : index
// CHECK-NEXT:    %[[G:.*]] = arith.subi %[[L]], %[[F]] : index
// CHECK-NEXT:    arith.cmpi eq, %[[G]], %{{.*}} : index
// CHECK:         scf.if
// CHECK-NEXT:      vector.load %A[%[[F]]] : memref<64xf32>, vector<8xf32>
// CHECK:         } else {
// CHECK:           scf.if
// CHECK-NEXT:        %[[E:.*]] = memref.load %A[%[[F]]] : memref<64xf32>
// CHECK-NEXT:        vector.broadcast %[[E]]
// CHECK:           } else {
// CHECK-NEXT:        scf.for
func.func @clipped(%A: memref<64xf32>, %B: memref<64xf32>, %s: index) {
  %zero = arith.constant 0 : index
  loop.for parallel vector "i" %i = 0 to 8 {
    %x = arith.subi %i, %s : index
    %k = arith.maxsi %x, %zero : index
    %a = memref.load %A[%k] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  func.return
}

// -----

// Of a short table registers hold all elements: the bits of the indices choose.

// CHECK-LABEL: func.func @table
// CHECK-COUNT-3: memref.load %T
// CHECK:         arith.andi {{.*}} : vector<8xindex>
// CHECK:         arith.select {{.*}} : vector<8xi1>, vector<8xf32>
// CHECK:         arith.andi {{.*}} : vector<8xindex>
// CHECK:         arith.select {{.*}} : vector<8xi1>, vector<8xf32>
// CHECK-NOT:     memref.load
func.func @table(%T: memref<3xf32>, %N: memref<64xindex>, %B: memref<64xf32>) {
  loop.for parallel vector "i" %i = 0 to 8 {
    %k = loop.load %N[%i] : memref<64xindex>
    %a = memref.load %T[%k] : memref<3xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  func.return
}

// -----

// Nothing is known of an index that falls, nor of one in a longer table: lanes run one after the other.

// CHECK-LABEL: func.func @others
// CHECK:         scf.for
// CHECK-NOT:     vector<
// CHECK:         stepwell.mode = "vector"
// CHECK:         scf.for
// CHECK-NOT:     vector<
// CHECK:         stepwell.mode = "vector"
func.func @others(%A: memref<64xf32>, %N: memref<64xindex>, %B: memref<64xf32>, %s: index) {
  loop.for parallel vector "i" %i = 0 to 8 {
    %k = arith.subi %s, %i : index
    %a = memref.load %A[%k] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  loop.for parallel vector "i" %i = 0 to 8 {
    %k = loop.load %N[%i] : memref<64xindex>
    %a = memref.load %A[%k] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  func.return
}

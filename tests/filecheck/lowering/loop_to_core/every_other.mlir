// RUN: stepwell-opt %s -p convert-loop-to-core | filecheck %s

// Lanes that read every other element: what is between the first and the last is loaded in two vectors, which have
// one element in common.
// CHECK-LABEL: func.func @f
// CHECK-DAG:     %[[LOW:.*]] = vector.load %A[%{{.*}}] : memref<16xf32>, vector<8xf32>
// CHECK-DAG:     %[[HIGH:.*]] = vector.load %A[%{{.*}}] : memref<16xf32>, vector<8xf32>
// CHECK:         vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 9, 11, 13, 15] : vector<8xf32>, vector<8xf32>
// CHECK-NOT:     vector.insert
func.func @f(%A: memref<16xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i * 2 + 1] : memref<16xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}

// Elements further apart are loaded one by one.
// CHECK-LABEL: func.func @thirds
// CHECK-NOT:     vector.load
// CHECK:         vector.insert
func.func @thirds(%A: memref<24xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i * 3] : memref<24xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}

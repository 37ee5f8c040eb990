// RUN: stepwell-opt %s -p convert-loop-to-core | filecheck %s

// Lanes that read every other element: two vectors of neighbours, of which a shuffle takes what they want.
// CHECK-LABEL: func.func @odd
// CHECK-DAG:     %[[LOW:.*]] = vector.load %A[%c0] : memref<16xf32>, vector<8xf32>
// CHECK-DAG:     %[[HIGH:.*]] = vector.load %A[%c8] : memref<16xf32>, vector<8xf32>
// CHECK:         vector.shuffle %[[LOW]], %[[HIGH]] [1, 3, 5, 7, 9, 11, 13, 15] : vector<8xf32>, vector<8xf32>
// CHECK-NOT:     vector.insert
func.func @odd(%A: memref<16xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i * 2 + 1] : memref<16xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}

// Where the element after the last lane's does not exist, the vectors end with the last lane's: the two overlap.
// CHECK-LABEL: func.func @up_to_the_last
// CHECK-DAG:     %[[LOW:.*]] = vector.load %A[%c0] : memref<15xf32>, vector<8xf32>
// CHECK-DAG:     %[[HIGH:.*]] = vector.load %A[%c7] : memref<15xf32>, vector<8xf32>
// CHECK:         vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 9, 11, 13, 15] : vector<8xf32>, vector<8xf32>
func.func @up_to_the_last(%A: memref<15xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i * 2] : memref<15xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}

// The columns of a matrix of three columns are a third of three vectors each.
// CHECK-LABEL: func.func @thirds
// CHECK:         %[[FLAT:.*]] = memref.collapse_shape %A
// CHECK-COUNT-3: vector.load %[[FLAT]]
// CHECK-COUNT-2: vector.shuffle
// CHECK-NOT:     vector.insert
func.func @thirds(%A: memref<8x3xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i, 2] : memref<8x3xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}

// Elements further apart are loaded one by one.
// CHECK-LABEL: func.func @far_apart
// CHECK-NOT:     vector.load
// CHECK:         vector.insert
func.func @far_apart(%A: memref<80xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i * 9] : memref<80xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}

// Stores that fill what is between them are put together, where the last of them stands.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT:     vector.store
// CHECK:         %[[LOW:.*]] = vector.shuffle %a, %b [0, 8, 1, 9, 2, 10, 3, 11] : vector<8xf32>, vector<8xf32>
// CHECK:         %[[HIGH:.*]] = vector.shuffle %a, %b [4, 12, 5, 13, 6, 14, 7, 15] : vector<8xf32>, vector<8xf32>
// CHECK:         vector.store %[[LOW]], %{{.*}}[%c0]
// CHECK:         vector.store %[[HIGH]], %{{.*}}[%c8]
func.func @pairs(%A: memref<8xf32>, %B: memref<8x2xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    loop.store %b, %B[%i, 1] : memref<8x2xf32>
    loop.store %a, %B[%i, 0] : memref<8x2xf32>
  }
  func.return
}

// They may not where something between them reads the buffer, or may read it under another name.
// CHECK-LABEL: func.func @read_between
// CHECK-NOT:     vector.shuffle %a
// CHECK:         vector.extract
func.func @read_between(%A: memref<16xf32>, %B: memref<8x2xf32>) {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<16xf32>
    loop.store %a, %B[%i, 1] : memref<8x2xf32>
    %b = loop.load %A[%i + 8] : memref<16xf32>
    loop.store %b, %B[%i, 0] : memref<8x2xf32>
  }
  func.return
}

// What lanes have just stored they need not load, nor store where it is stored again.
// CHECK-LABEL: func.func @updated_twice
// CHECK-COUNT-1: vector.load %B
// CHECK-NOT:     vector.load %B
// CHECK-COUNT-1: vector.store
// CHECK-NOT:     vector.store
func.func @updated_twice(%A: memref<2x8xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[0, %i] : memref<2x8xf32>
    %b = loop.load %B[%i] : memref<8xf32>
    %c = arith.maximumf %b, %a : f32
    loop.store %c, %B[%i] : memref<8xf32>
    %d = loop.load %A[1, %i] : memref<2x8xf32>
    %e = loop.load %B[%i] : memref<8xf32>
    %f = arith.maximumf %e, %d : f32
    loop.store %f, %B[%i] : memref<8xf32>
  }
  func.return
}

// Where the arguments may be one array, the first store is seen by the second load.
// CHECK-LABEL: func.func @seen_between
// CHECK-COUNT-2: vector.store
func.func @seen_between(%A: memref<2x8xf32>, %B: memref<8xf32>) {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[0, %i] : memref<2x8xf32>
    loop.store %a, %B[%i] : memref<8xf32>
    %d = loop.load %A[1, %i] : memref<2x8xf32>
    loop.store %d, %B[%i] : memref<8xf32>
  }
  func.return
}

// Windows that overlap: the third column is the first one a lane further, with one element of the next vector, which is loaded
// as all are where the first column's vectors are.
// CHECK-LABEL: func.func @columns
// CHECK-DAG:     %[[LOW:.*]] = vector.load %A[%c0] : memref<24xf32>, vector<8xf32>
// CHECK-DAG:     %[[HIGH:.*]] = vector.load %A[%c8] : memref<24xf32>, vector<8xf32>
// CHECK:         %[[EVEN:.*]] = vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK:         vector.shuffle %[[LOW]], %[[HIGH]] [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK:         %[[NEXT:.*]] = vector.load %A[%c16] : memref<24xf32>, vector<8xf32>
// CHECK:         vector.shuffle %[[EVEN]], %[[NEXT]] [1, 2, 3, 4, 5, 6, 7, 8]
// CHECK-NOT:     vector.load %A
func.func @columns(%A: memref<24xf32>, %B: memref<3x8xf32>) attributes {stepwell.noalias} {
  loop.for parallel unroll "k" %k = 0 to 3 {
    loop.for parallel vector "i" %i = 0 to 8 {
      %a = loop.load %A[%i * 2 + %k] : memref<24xf32>
      loop.store %a, %B[%k, %i] : memref<3x8xf32>
    }
  }
  func.return
}

// At an end of a row all columns load the same part of a vector, whatever lanes they leave out: these are zero.
// CHECK-LABEL: func.func @border
// CHECK-DAG:     %[[THERE:.*]] = arith.constant dense<[true, true, true, true, true, true, false, false]> : vector<8xi1>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK:         %[[LOW:.*]] = vector.load %A[%c0] : memref<14xf32>, vector<8xf32>
// CHECK-NEXT:    %[[HIGH:.*]] = vector.maskedload %A[%c8], %[[THERE]], %[[ZERO]]
// CHECK-NEXT:    %[[ODD:.*]] = vector.shuffle %[[LOW]], %[[HIGH]] [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK-NEXT:    vector.shuffle %[[ODD]], %{{.*}} [7, 0, 1, 2, 3, 4, 5, 7]
// CHECK-NOT:     load %A
// CHECK:         %[[EVEN:.*]] = vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK:         vector.store %[[EVEN]]
// CHECK-NOT:     load %A
// CHECK-NOT:     vector.shuffle
// CHECK-NOT:     arith.select
// CHECK:         vector.store %[[ODD]]
func.func @border(%A: memref<14xf32>, %B: memref<3x8xf32>) attributes {stepwell.noalias} {
  %zero = arith.constant 0.0 : f32
  loop.for parallel unroll "k" %k = 0 to 3 {
    loop.for parallel vector "i" %i = 0 to 8 {
      %a = loop.if (%i * 2 + %k - 1 >= 0, -%i + 6 >= 0) -> (f32) {
        %b = loop.load %A[%i * 2 + %k - 1] : memref<14xf32>
        loop.yield %b : f32
      } else {
        loop.yield %zero : f32
      }
      loop.store %a, %B[%k, %i] : memref<3x8xf32>
    }
  }
  func.return
}

// A column alone has no use for vectors of others: two of its own hold all of it.
// CHECK-LABEL: func.func @one_column
// CHECK-COUNT-2: vector.load
// CHECK-NOT:     vector.load
func.func @one_column(%A: memref<24xf32>, %B: memref<8xf32>) attributes {stepwell.noalias} {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i * 2 + 2] : memref<24xf32>
    loop.store %a, %B[%i] : memref<8xf32>
  }
  func.return
}

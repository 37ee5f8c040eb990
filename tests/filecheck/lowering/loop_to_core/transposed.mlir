// RUN: stepwell-opt %s -p convert-loop-to-core | filecheck %s

// Rows are loaded, turned by two stages of shuffles, and stored as columns.
// CHECK-LABEL: func.func @square(
// CHECK-COUNT-4: vector.load %A[{{.*}}] : memref<4x4xf32>, vector<4xf32>
// CHECK-NEXT:    %0 = vector.shuffle %a, %a_2 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    %1 = vector.shuffle %a, %a_2 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    %2 = vector.shuffle %a_1, %a_3 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    %3 = vector.shuffle %a_1, %a_3 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    %a_4 = vector.shuffle %0, %2 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    %a_5 = vector.shuffle %0, %2 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    %a_6 = vector.shuffle %1, %3 [0, 4, 1, 5] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    %a_7 = vector.shuffle %1, %3 [2, 6, 3, 7] : vector<4xf32>, vector<4xf32>
// CHECK-NEXT:    vector.store %a_4, %B[%c0, %c0] : memref<4x4xf32>, vector<4xf32>
// CHECK-NEXT:    vector.store %a_5, %B[%c1, %c0] : memref<4x4xf32>, vector<4xf32>
// CHECK-NEXT:    vector.store %a_6, %B[%c2, %c0] : memref<4x4xf32>, vector<4xf32>
// CHECK-NEXT:    vector.store %a_7, %B[%c3, %c0] : memref<4x4xf32>, vector<4xf32>
// CHECK-NEXT:    func.return
func.func @square(%A: memref<4x4xf32>, %B: memref<4x4xf32>) {
  loop.for parallel vector "i" %i = 0 to 4 {
    loop.for parallel vector "j" %j = 0 to 4 {
      %a = loop.load %A[%j, %i] : memref<4x4xf32>
      loop.store %a, %B[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// The three rows of a padded panel are two and one; what is beyond the last column is not read.
// CHECK-LABEL: func.func @panel(
// CHECK:         vector.create_mask %{{.*}} : vector<4xi1>
// CHECK:         vector.maskedload %A[%c0, %k], %{{.*}}, %{{.*}} : memref<3x?xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
// CHECK-NOT:     scf.if
// CHECK:         vector.store %{{.*}}, %B[%k, {{.*}}] : memref<64x3xf32>, vector<2xf32>
// CHECK:         vector.store %{{.*}}, %B[%k, %c2] : memref<64x3xf32>, vector<1xf32>
func.func @panel(%A: memref<3x?xf32>, %B: memref<64x3xf32>, %n: index) {
  loop.for parallel "k.block" %k = 0 to 64 step 4 {
    loop.for parallel vector "k" %kk = %k to %k + 4 {
      loop.for parallel vector "row" %row = 0 to 3 {
        %a = loop.if (%n - %kk - 1 >= 0) -> (f32) {
          %1 = loop.load %A[%row, %kk] : memref<3x?xf32>
          loop.yield %1 : f32
        } else {
          %0 = arith.constant 0.0 : f32
          loop.yield %0 : f32
        }
        loop.store %a, %B[%kk, %row] : memref<64x3xf32>
      }
    }
  }
  func.return
}

// What reads along neither loop stays a loop of vectors.
// CHECK-LABEL: func.func @apart(
// CHECK:         scf.for %i
// CHECK:         {stepwell.mode = "vector"}
func.func @apart(%A: memref<8x8xf32>, %B: memref<4x4xf32>) {
  loop.for parallel vector "i" %i = 0 to 4 {
    loop.for parallel vector "j" %j = 0 to 4 {
      %a = loop.load %A[%j, %i * 2] : memref<8x8xf32>
      loop.store %a, %B[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// Columns of nine rows fill no vector of sixteen lanes: they leave chunk by chunk, without shuffles across chunks, one column after the
// other; and a row by itself element by element, without being turned.
// CHECK-LABEL: func.func @rest(
// CHECK-COUNT-8: vector.load %A[{{.*}}] : memref<9x16xf32>, vector<16xf32>
// CHECK-NOT:     [{{.*}}] : vector<16xf32>, vector<8xf32>
// CHECK:         vector.store %{{.*}}, %B[%c0, %c0] : memref<16x100xf32>, vector<4xf32>
// CHECK-NEXT:    vector.store %{{.*}}, %B[%c0, %c4] : memref<16x100xf32>, vector<4xf32>
// CHECK-NEXT:    [[ONE:%.*]] = memref.load %A[%c8, %c0] : memref<9x16xf32>
// CHECK-NEXT:    memref.store [[ONE]], %B[%c0, %c8] : memref<16x100xf32>
// CHECK-NEXT:    vector.store %{{.*}}, %B[%c1, %c0] : memref<16x100xf32>, vector<4xf32>
func.func @rest(%A: memref<9x16xf32>, %B: memref<16x100xf32>) {
  loop.for parallel vector "i" %i = 0 to 16 {
    loop.for parallel vector "j" %j = 0 to 9 {
      %a = loop.load %A[%j, %i] : memref<9x16xf32>
      loop.store %a, %B[%i, %j] : memref<16x100xf32>
    }
  }
  func.return
}

// What is computed of a row and of what all rows share is computed before it is turned, in whole vectors; what needs
// an element of the column is computed after that.
// CHECK-LABEL: func.func @computed(
// CHECK:         [[B:%.*]] = vector.load %{{.*}}[%c0] : memref<4xf32>, vector<4xf32>
// CHECK-NEXT:    [[S:%.*]] = arith.addf %a, [[B]] : vector<4xf32>
// CHECK:         [[T:%.*]] = arith.addf %{{.*}}, [[B]] : vector<4xf32>
// CHECK-NEXT:    vector.shuffle [[S]], [[T]] [0, 4, 1, 5]
// CHECK:         arith.addf %{{.*}}, [[B]] : vector<4xf32>
// CHECK-NOT:     vector.broadcast
// CHECK:         [[R:%.*]] = vector.load %R[%c0, %c0] : memref<4x4xf32>, vector<2xf32>
// CHECK-NEXT:    arith.addf %{{.*}}, [[R]] : vector<2xf32>
func.func @computed(%A: memref<3x4xf32>, %bias: memref<4x1xf32>, %R: memref<4x4xf32>, %B: memref<4x4xf32>) {
  loop.for parallel vector "i" %i = 0 to 4 {
    loop.for parallel vector "j" %j = 0 to 3 {
      %a = loop.load %A[%j, %i] : memref<3x4xf32>
      %b = loop.load %bias[%i, 0] : memref<4x1xf32>
      %s = arith.addf %a, %b : f32
      %r = loop.load %R[%i, %j] : memref<4x4xf32>
      %t = arith.addf %s, %r : f32
      loop.store %t, %B[%i, %j] : memref<4x4xf32>
    }
  }
  func.return
}

// Vectors of a tile that are turned one after the other are alike: one of them says what all do, and LLVM writes them out. The number of
// a column is added last, so that all columns have one sum in common.
// CHECK-LABEL: func.func @vectors(
// CHECK:         scf.for %v = %c0 to %c2 step %c1 {
// CHECK-NEXT:      [[FIRST:%.*]] = arith.muli %v, %c4 : index
// CHECK:           [[BASE:%.*]] = arith.addi [[TILE:%.*]], [[FIRST]] : index
// CHECK:           [[ROW:%.*]] = arith.addi [[BASE]], %c1 : index
// CHECK-NEXT:      vector.store %{{.*}}, %B{{\[}}[[ROW]], %c0] : memref<80x4xf32>, vector<4xf32>
// CHECK:         } {{{.*}}unroll
func.func @vectors(%A: memref<4x8xf32>, %B: memref<80x4xf32>, %t: index) {
  loop.for parallel "t" %tile = 0 to 10 {
    loop.for parallel unroll "v" %v = 0 to 2 {
      loop.for parallel vector "i" %i = 0 to 4 {
        loop.for parallel vector "j" %j = 0 to 4 {
          %a = loop.load %A[%j, %v * 4 + %i] : memref<4x8xf32>
          loop.store %a, %B[%tile * 8 + (%v * 4 + %i), %j] : memref<80x4xf32>
        }
      }
    }
  }
  func.return
}

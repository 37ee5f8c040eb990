// RUN: stepwell-opt %s -p convert-loop-to-core --split-input-file | filecheck %s

// Neighbours are loaded at once, others lane by lane; what is the same in all lanes is a scalar.

// CHECK-LABEL: func.func @accesses
// CHECK:         %a = vector.load %A[%{{.*}}] : memref<64xf32>, vector<4xf32>
// CHECK-NEXT:    %u = memref.load %A[%n] : memref<64xf32>
// CHECK-NEXT:    %[[U:.*]] = vector.broadcast %u : f32 to vector<4xf32>
// CHECK-NEXT:    %b = arith.addf %a, %[[U]] : vector<4xf32>
// CHECK-COUNT-4: vector.insert
// CHECK:         %c = arith.mulf %b, %g : vector<4xf32>
// CHECK:         vector.store %c, %B[%{{.*}}] : memref<64xf32>, vector<4xf32>
// CHECK-NOT:     scf.for
func.func @accesses(%A: memref<64xf32>, %B: memref<64xf32>, %n: index) {
  loop.for parallel vector "i" %i = 0 to 4 {
    %a = loop.load %A[%i + 2] : memref<64xf32>
    %u = loop.load %A[%n] : memref<64xf32>
    %b = arith.addf %a, %u : f32
    %g = loop.load %A[%i * 9] : memref<64xf32>
    %c = arith.mulf %b, %g : f32
    loop.store %c, %B[%i + 8] : memref<64xf32>
  }
  func.return
}

// -----

// Registers hold powers of two: seven lanes are four, two and one.

// CHECK-LABEL: func.func @seven
// CHECK:         vector.load {{.*}} vector<4xf32>
// CHECK-NEXT:    vector.store {{.*}} vector<4xf32>
// CHECK:         vector.load {{.*}} vector<2xf32>
// CHECK-NEXT:    vector.store {{.*}} vector<2xf32>
// CHECK:         vector.load {{.*}} vector<1xf32>
// CHECK-NEXT:    vector.store {{.*}} vector<1xf32>
func.func @seven(%A: memref<64xf32>, %B: memref<64xf32>) {
  loop.for parallel vector "i" %i = 0 to 7 {
    %a = loop.load %A[%i] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  func.return
}

// -----

// Conditions on lanes are masks. What is loaded by one has zeros in other lanes already, which needs no choice.

// CHECK-LABEL: func.func @masks
// CHECK:         %[[MASK:.*]] = vector.create_mask %{{.*}} : vector<8xi1>
// CHECK:         vector.maskedload %A[%{{.*}}], %[[MASK]], %{{.*}} : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
// CHECK:         vector.maskedstore %B[%{{.*}}], %[[MASK]], %{{.*}} : memref<64xf32>, vector<8xi1>, vector<8xf32>
// CHECK:         %[[OTHERS:.*]] = arith.xori %[[MASK]], %{{.*}} : vector<8xi1>
// CHECK:         vector.maskedstore %B[%{{.*}}], %[[OTHERS]], %{{.*}}
// CHECK:         %[[EQUAL:.*]] = arith.cmpi eq, %{{.*}}, %{{.*}} : vector<8xindex>
// CHECK-NEXT:    %v = vector.maskedload %A[%{{.*}}], %[[EQUAL]], %{{.*}}
// CHECK-NOT:     arith.select
// CHECK:         vector.store %v, %B
// CHECK:         %[[ONE:.*]] = vector.maskedload %A[%{{.*}}], %[[EQUAL]], %{{.*}}
// CHECK:         arith.select %[[EQUAL]], %[[ONE]], %{{.*}} : vector<8xi1>, vector<8xf32>

// All lanes but the first few: these are counted, too, as comparing a vector of indices takes twice the instructions.
// CHECK:         %[[FIRST:.*]] = vector.create_mask %{{.*}} : vector<8xi1>
// CHECK-NEXT:    %[[LATER:.*]] = arith.xori %[[FIRST]], %{{.*}} : vector<8xi1>
// CHECK:         vector.maskedstore %B[%{{.*}}], %[[LATER]], %{{.*}}
func.func @masks(%A: memref<64xf32>, %B: memref<64xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  %minus_zero = arith.constant -0.0 : f32
  loop.for parallel vector "i" %i = 0 to 8 {
    loop.if (%n - %i >= 0) {
      %a = loop.load %A[%i] : memref<64xf32>
      loop.store %a, %B[%i] : memref<64xf32>
    } else {
      loop.store %zero, %B[%i] : memref<64xf32>
    }
    %v = loop.if (%i - %n == 0) -> (f32) {
      %b = loop.load %A[%i + 8] : memref<64xf32>
      loop.yield %b : f32
    } else {
      loop.yield %zero : f32
    }
    loop.store %v, %B[%i + 8] : memref<64xf32>
    %u = loop.if (%i - %n == 0) -> (f32) {
      %b = loop.load %A[%i + 16] : memref<64xf32>
      loop.yield %b : f32
    } else {
      loop.yield %minus_zero : f32
    }
    loop.store %u, %B[%i + 16] : memref<64xf32>
    loop.if (%i - %n >= 0) {
      loop.store %zero, %B[%i + 16] : memref<64xf32>
    }
  }
  func.return
}

// -----

// Where numbers say which lanes take a branch the mask is a constant, and a branch that all take, or none, is no choice.

// CHECK-LABEL: func.func @known_masks
// CHECK-DAG:     %[[LAST:.*]] = arith.constant dense<[false, false, false, false, false, true, true, true]> : vector<8xi1>
// CHECK-DAG:     %[[FIRST:.*]] = arith.constant dense<[true, true, true, true, true, false, false, false]> : vector<8xi1>
// CHECK:         vector.maskedstore %B[%{{.*}}], %[[FIRST]]
// CHECK-NEXT:    vector.maskedstore %B[%{{.*}}], %[[LAST]]
// CHECK-NOT:     vector.masked
// CHECK:         vector.load %A[%c8]
// CHECK-NOT:     vector.load
// CHECK-NOT:     arith.select
// CHECK:         func.return
func.func @known_masks(%A: memref<64xf32>, %B: memref<64xf32>) attributes {stepwell.noalias} {
  %zero = arith.constant 0.0 : f32
  loop.for parallel vector "i" %i = 0 to 8 {
    loop.if (4 - %i >= 0) {
      loop.store %zero, %B[%i] : memref<64xf32>
    } else {
      loop.store %zero, %B[%i + 1] : memref<64xf32>
    }
    %all = loop.if (%i - 8 <= 0) -> (f32) {
      %b = loop.load %A[%i + 8] : memref<64xf32>
      loop.yield %b : f32
    } else {
      loop.yield %zero : f32
    }
    loop.store %all, %B[%i + 16] : memref<64xf32>
    %none = loop.if (%i - 8 >= 0) -> (f32) {
      %b = loop.load %A[%i + 16] : memref<64xf32>
      loop.yield %b : f32
    } else {
      loop.yield %zero : f32
    }
    loop.store %none, %B[%i + 32] : memref<64xf32>
  }
  func.return
}

// -----

// The lanes' values are joined and then added to what is there; a lane that does not run counts for nothing: of sums of floats
// -0, as 0 would make -0 another number.

// CHECK-LABEL: func.func @reductions
// CHECK-DAG:     %[[LEAST:.*]] = arith.constant dense<0xff800000> : vector<8xf32>
// CHECK-DAG:     %[[NOTHING:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
// CHECK:         %a = vector.load %A
// CHECK-NEXT:    %[[SUM:.*]] = vector.reduction <add>, %a, %s fastmath<reassoc> : vector<8xf32> into f32
// CHECK-NEXT:    memref.store %[[SUM]], %S
// CHECK:         %[[MASK:.*]] = vector.create_mask
// CHECK:         %[[VALUES:.*]] = arith.select %[[MASK]], %b, %[[LEAST]] : vector<8xi1>, vector<8xf32>
// CHECK-NEXT:    vector.reduction <maximumf>, %[[VALUES]], %t : vector<8xf32> into f32
// CHECK:         %[[CHOSEN:.*]] = arith.select %[[MASK]], %f, %[[NOTHING]] : vector<8xi1>, vector<8xf32>
// CHECK-NEXT:    vector.reduction <add>, %[[CHOSEN]]
func.func @reductions(%A: memref<64xf32>, %S: memref<2xf32>, %n: index) attributes {stepwell.noalias} {
  loop.for reduction vector "i" %i = 0 to 8 {
    %s = loop.load %S[0] : memref<2xf32>
    %a = loop.load %A[%i] : memref<64xf32>
    %c = arith.addf %s, %a fastmath<reassoc> : f32
    loop.store %c, %S[0] : memref<2xf32>
  }
  loop.for reduction vector "j" %j = 0 to 8 {
    loop.if (%n - %j >= 0) {
      %t = loop.load %S[1] : memref<2xf32>
      %b = loop.load %A[%j] : memref<64xf32>
      %d = arith.maximumf %t, %b : f32
      loop.store %d, %S[1] : memref<2xf32>
    }
  }
  loop.for reduction vector "k" %k = 0 to 8 {
    loop.if (%n - %k >= 0) {
      %t = loop.load %S[0] : memref<2xf32>
      %f = loop.load %A[%k + 8] : memref<64xf32>
      %d = arith.addf %t, %f fastmath<reassoc> : f32
      loop.store %d, %S[0] : memref<2xf32>
    }
  }
  func.return
}

// -----

// A buffer in registers stays there: it is not stored by mask. Written out iterations have guards where a
// bound is not known.

// CHECK-LABEL: func.func @tile
// CHECK:         %T = memref.alloca() : memref<2x4xf32>
// CHECK:         %[[RUNS:.*]] = arith.cmpi {{.*}} : index
// CHECK-NEXT:    scf.if %[[RUNS]] {
// CHECK:           %a = vector.maskedload %A
// CHECK:           %[[OLD:.*]] = vector.load %T
// CHECK-NEXT:      %[[NEW:.*]] = arith.select %{{.*}}, %a, %[[OLD]] : vector<4xi1>, vector<4xf32>
// CHECK-NEXT:      vector.store %[[NEW]], %T
// CHECK:         scf.if
// CHECK:           vector.store %{{.*}}, %T
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @tile(%A: memref<64x64xf32>, %n: index) attributes {stepwell.noalias} {
  %T = loop.alloc register : memref<2x4xf32>
  loop.for parallel unroll "r" %r = 0 to min(2, %n) {
    loop.for parallel vector "i" %i = 0 to 4 {
      loop.if (%n - %i >= 0) {
        %a = loop.load %A[%r, %i] : memref<64x64xf32>
        loop.store %a, %T[%r, %i] : memref<2x4xf32>
      }
    }
  }
  func.return
}

// -----

// Casts.

// CHECK-LABEL: func.func @casts
// CHECK:         %b = arith.extsi %a : vector<4xi8> to vector<4xi32>
// CHECK:         %c = arith.sitofp %b : vector<4xi32> to vector<4xf32>
// CHECK:         %v = arith.index_cast %{{.*}} : vector<4xindex> to vector<4xi32>
func.func @casts(%A: memref<64xi8>, %B: memref<64xf32>, %C: memref<64xi32>) {
  loop.for parallel vector "i" %i = 0 to 4 {
    %a = loop.load %A[%i] : memref<64xi8>
    %b = arith.extsi %a : i8 to i32
    %c = arith.sitofp %b : i32 to f32
    loop.store %c, %B[%i] : memref<64xf32>
    %v = arith.index_cast %i : index to i32
    loop.store %v, %C[%i] : memref<64xi32>
  }
  func.return
}

// -----

// A loop inside that differs from lane to lane stays one, and so does the loop around it.

// CHECK-LABEL: func.func @triangle
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:         } {stepwell.mode = "vector"}
func.func @triangle(%A: memref<64xf32>, %B: memref<64xf32>) {
  loop.for parallel vector "i" %i = 0 to 4 {
    loop.for serial "k" %k = 0 to %i {
      %a = loop.load %A[%k] : memref<64xf32>
      loop.store %a, %B[%i] : memref<64xf32>
    }
  }
  func.return
}

// -----

// In a function of several blocks, too.

// CHECK-LABEL: func.func @blocks
// CHECK:         %a = vector.load %A[%c0] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:    vector.store %a, %B[%c0] : memref<64xf32>, vector<8xf32>
// CHECK-NEXT:    cf.br ^[[END:.*]]
// CHECK:       ^[[END]]:
func.func @blocks(%A: memref<64xf32>, %B: memref<64xf32>) {
  loop.for parallel vector "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  cf.br ^end
^end:
  func.return
}

// -----

// An element that a call in the loop may change is loaded in each iteration.

func.func private @changes(memref<64xf32>)

// CHECK-LABEL: func.func @called
// CHECK:         scf.for
// CHECK-NEXT:      %a = memref.load %A[%c0]
// CHECK:           func.call @changes
func.func @called(%A: memref<64xf32>, %B: memref<64xf32>) {
  loop.for serial "i" %i = 0 to 4 {
    %a = loop.load %A[0] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
    func.call @changes(%A) : (memref<64xf32>) -> ()
  }
  func.return
}

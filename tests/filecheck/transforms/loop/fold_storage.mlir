// RUN: stepwell-opt %s -p 'loop-fold-storage{buffer=f/T axis=0 factor=3},loop-fold-storage{buffer=f/U axis=1 factor=1}' | filecheck %s --check-prefix CHECK
// RUN: not stepwell-opt %s -p 'loop-fold-storage{buffer=f/T axis=0 factor=2}' 2>&1 | filecheck %s --check-prefix OVERWRITTEN

// The last three rows of T are read, so three are kept: row i is at i mod 3.
// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   %T = loop.alloc arena : memref<3x8xf32>
// CHECK-NEXT:   %U = loop.alloc stack : memref<18x1xf32>
// CHECK:        loop.for serial "i" %i = 0 to 18 {
// CHECK-NEXT:     loop.for parallel "j" %j = 0 to 8 {
// CHECK-NEXT:       %b = loop.load %A[%i, %j]
// CHECK-NEXT:       loop.store %b, %T[(%i + 2) mod 3, %j]
// CHECK:          loop.for parallel "k" %k = 0 to 8 {
// CHECK-NEXT:       %t0 = loop.load %T[%i mod 3, %k]
// CHECK-NEXT:       %t1 = loop.load %T[(%i + 2) mod 3, %k]

// The iterations of a loop that put elements of their own in one place must run in order from then on.
// CHECK:        loop.for parallel "m" %m = 0 to 18 {
// CHECK-NEXT:     loop.for serial "l" %l = 0 to 8 {
// CHECK:            loop.store %u0, %U[%m, 0]
// CHECK-NEXT:       %u1 = loop.load %U[%m, 0]

// OVERWRITTEN: error: {{.*}}fold_storage("f/T", axis=0, factor=2) is refused: the store to '%T' ({{.*}}) would overwrite what the load of '%T' ({{.*}}) reads: iterations (i=0, j=0) and (i=0, k=0) have two elements in one place; factor=3 keeps both
func.func private @f(%A: memref<20x8xf32>, %B: memref<18x8xf32>) {
  %T = loop.alloc arena : memref<20x8xf32>
  %U = loop.alloc stack : memref<18x8xf32>
  loop.for parallel "r" %r = 0 to 2 {
    loop.for parallel "c" %c = 0 to 8 {
      %a = loop.load %A[%r, %c] : memref<20x8xf32>
      loop.store %a, %T[%r, %c] : memref<20x8xf32>
    }
  }
  loop.for serial "i" %i = 0 to 18 {
    loop.for parallel "j" %j = 0 to 8 {
      %b = loop.load %A[%i, %j] : memref<20x8xf32>
      loop.store %b, %T[%i + 2, %j] : memref<20x8xf32>
    }
    loop.for parallel "k" %k = 0 to 8 {
      %t0 = loop.load %T[%i, %k] : memref<20x8xf32>
      %t1 = loop.load %T[%i + 2, %k] : memref<20x8xf32>
      %s = arith.addf %t0, %t1 : f32
      loop.store %s, %B[%i, %k] : memref<18x8xf32>
    }
  }
  loop.for parallel "m" %m = 0 to 18 {
    loop.for parallel "l" %l = 0 to 8 {
      %u0 = loop.load %B[%m, %l] : memref<18x8xf32>
      loop.store %u0, %U[%m, %l] : memref<18x8xf32>
      %u1 = loop.load %U[%m, %l] : memref<18x8xf32>
      loop.store %u1, %B[%m, %l] : memref<18x8xf32>
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-fission{loop=f/i after=B}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-fission{loop=f/i after=j}' | filecheck %s --check-prefix LOOP
// RUN: not stepwell-opt %s -p 'loop-fission{loop=g/i after=A}' 2>&1 | filecheck %s --check-prefix CARRIED
// RUN: not stepwell-opt %s -p 'loop-fission{loop=h/i after=B}' 2>&1 | filecheck %s --check-prefix VALUE
// RUN: not stepwell-opt %s -p 'loop-fission{loop=scratch/i after=T}' 2>&1 | filecheck %s --check-prefix SCRATCH
// RUN: not stepwell-opt %s -p 'loop-fission{loop=f/i after=C}' 2>&1 | filecheck %s --check-prefix LAST
// RUN: not stepwell-opt %s -p 'loop-fission{loop=f/i after=A}' 2>&1 | filecheck %s --check-prefix NONE

// What both parts use is computed again (%a, %x), what only the rest uses moves there (%d).
// CHECK-LABEL: func.func private @f
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 17 {
// CHECK-NEXT:      %x = affine.apply
// CHECK-NEXT:      %a = loop.load %A[%i]
// CHECK-NEXT:      memref.store %a, %B[%x]
// CHECK-NEXT:    }
// CHECK-NEXT:    loop.for parallel "i.rest" %[[I:.*]] = 0 to 17 {
// CHECK-NEXT:      %[[X:.*]] = affine.apply {{.*}}(%[[I]])
// CHECK-NEXT:      %d = loop.load %D[%[[I]]]
// CHECK-NEXT:      %[[A:.*]] = loop.load %A[%[[I]]]
// CHECK-NEXT:      loop.for parallel "j" %j = 0 to 4 {
// CHECK-NEXT:        loop.store %[[A]], %E[%j, %[[I]]]
// CHECK-NEXT:      }
// CHECK-NEXT:      memref.store %d, %C[%[[X]]]
// CHECK-NEXT:    }
// LOOP-LABEL:  func.func private @f
// LOOP:          loop.for parallel "i"
// LOOP-NOT:        %D
// LOOP:            loop.for parallel "j"
// LOOP:          loop.for parallel "i.rest"
// LOOP-NOT:        %A
// LOOP:            %d = loop.load %D
// LAST: error: {{.*}}fission("f/i", after="C") is refused: nothing follows 'C' in the body of 'i'; cut before the last statement
// NONE: error: {{.*}}the body of 'i' has no loop or store to a buffer 'A'; name one of 'j', 'B', 'E', 'C'
func.func private @f(%A: memref<17xf32>, %B: memref<17xf32>, %C: memref<17xf32>, %D: memref<17xf32>, %E: memref<4x17xf32>) {
  loop.for parallel "i" %i = 0 to 17 {
    %x = affine.apply affine_map<(d0) -> (16 - d0)> (%i)
    %d = loop.load %D[%i] : memref<17xf32>
    %a = loop.load %A[%i] : memref<17xf32>
    memref.store %a, %B[%x] : memref<17xf32>
    loop.for parallel "j" %j = 0 to 4 {
      loop.store %a, %E[%j, %i] : memref<4x17xf32>
    }
    memref.store %d, %C[%x] : memref<17xf32>
  }
  func.return
}

// The second part of an iteration writes what the first part of the next one reads.
// CARRIED: error: {{.*}}fission("g/i", after="A") is refused: the load of '%B' ({{.*}}) must come after the store to '%B' ({{.*}}): flow dependence through '%B' at distance (1); iterations (i=1) and (i=2) would be swapped; leave these two in one loop
func.func private @g(%A: memref<17xf32>, %B: memref<17xf32>) {
  loop.for serial "i" %i = 1 to 17 {
    %b = loop.load %B[%i - 1] : memref<17xf32>
    loop.store %b, %A[%i] : memref<17xf32>
    loop.store %b, %B[%i] : memref<17xf32>
  }
  func.return
}

// VALUE: error: {{.*}}fission("h/i", after="B") is refused: the value '%v' of 'func.call' is computed in the first part and used in the rest, and cannot be computed again; store it in a buffer first
func.func private @source() -> f32
func.func private @h(%B: memref<17xf32>, %C: memref<17xf32>) {
  loop.for serial "i" %i = 0 to 17 {
    %v = func.call @source() : () -> f32
    loop.store %v, %B[%i] : memref<17xf32>
    loop.store %v, %C[%i] : memref<17xf32>
  }
  func.return
}

// SCRATCH: error: {{.*}}fission("scratch/i", after="T") is refused: the store to '%T' ({{.*}}) must come after the load of '%T' ({{.*}}): anti dependence through '%T' at distance (<); iterations (i=0) and (i=1) would be swapped; give '%T' an axis for the iterations of 'i'
func.func private @scratch(%A: memref<17xf32>, %B: memref<17xf32>) {
  %T = loop.alloc stack : memref<1xf32>
  loop.for serial "i" %i = 0 to 17 {
    %a = loop.load %A[%i] : memref<17xf32>
    loop.store %a, %T[0] : memref<1xf32>
    %t = loop.load %T[0] : memref<1xf32>
    loop.store %t, %B[%i] : memref<17xf32>
  }
  func.return
}

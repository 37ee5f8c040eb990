// RUN: stepwell-opt %s -p 'loop-fuse-loops{loop=same/i other=j}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-fuse-loops{loop=blur/i other=j shift=2}' | filecheck %s --check-prefix SHIFT
// RUN: not stepwell-opt %s -p 'loop-fuse-loops{loop=blur/i other=j}' 2>&1 | filecheck %s --check-prefix LARGER
// RUN: stepwell-opt %s -p 'loop-fuse-loops{loop=symbols/i other=j}' | filecheck %s --check-prefix SYMBOLS
// RUN: stepwell-opt %s -p 'loop-fuse-loops{loop=between/i other=j}' | filecheck %s --check-prefix BETWEEN
// RUN: not stepwell-opt %s -p 'loop-fuse-loops{loop=stuck/i other=j}' 2>&1 | filecheck %s --check-prefix STUCK
// RUN: not stepwell-opt %s -p 'loop-fuse-loops{loop=unbounded/i other=j}' 2>&1 | filecheck %s --check-prefix UNBOUNDED
// RUN: not stepwell-opt %s -p 'loop-fuse-loops{loop=aliased/i other=j}' 2>&1 | filecheck %s --check-prefix ALIASED
// RUN: not stepwell-opt %s -p 'loop-fuse-loops{loop=steps/i other=j}' 2>&1 | filecheck %s --check-prefix STEPS
// RUN: stepwell-opt %s -p 'loop-fuse-loops{loop=steps/k other=l}' | filecheck %s --check-prefix LATTICE
// RUN: stepwell-opt %s -p 'loop-fuse-loops{loop=nests/i other=j depth=2}' | filecheck %s --check-prefix NESTS
// RUN: not stepwell-opt %s -p 'loop-fuse-loops{loop=nests/i other=j depth=3}' 2>&1 | filecheck %s --check-prefix DEEPER
// RUN: not stepwell-opt %s -p 'loop-fuse-loops{loop=same/j other=i}' 2>&1 | filecheck %s --check-prefix ORDER

// CHECK-LABEL: func.func private @same
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 17 {
// CHECK-NEXT:      %a = loop.load %A[%i]
// CHECK-NEXT:      loop.store %a, %B[%i]
// CHECK-NEXT:      %b = loop.load %B[%i]
// CHECK-NEXT:      loop.store %b, %C[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
// ORDER: error: {{.*}}fuse_loops("same/j", other="i") is refused: 'i' stands before 'j'; name them in the order they stand in
func.func private @same(%A: memref<17xf32>, %B: memref<17xf32>, %C: memref<17xf32>) {
  loop.for parallel "i" %i = 0 to 17 {
    %a = loop.load %A[%i] : memref<17xf32>
    loop.store %a, %B[%i] : memref<17xf32>
  }
  loop.for parallel "j" %j = 0 to 17 {
    %b = loop.load %B[%j] : memref<17xf32>
    loop.store %b, %C[%j] : memref<17xf32>
  }
  func.return
}

// The consumer reads more than its own element: it has to run later. The first iterations of the producer
// and the last of the consumer get loops of their own; the fused loop carries the values between the two.
// SHIFT-LABEL: func.func private @blur
// SHIFT-NEXT:    loop.for parallel "i.front" %i = 0 to 2 {
// SHIFT-NEXT:      %a = loop.load %A[%i]
// SHIFT-NEXT:      loop.store %a, %B[%i]
// SHIFT-NEXT:    }
// SHIFT-NEXT:    loop.for serial "i" %[[I:.*]] = 2 to 17 {
// SHIFT-NEXT:      %[[A:.*]] = loop.load %A[%[[I]]]
// SHIFT-NEXT:      loop.store %[[A]], %B[%[[I]]]
// SHIFT-NEXT:      loop.load %B[%[[I]] - 2]
// SHIFT-NEXT:      loop.load %B[%[[I]]]
// SHIFT-NEXT:      arith.addf
// SHIFT-NEXT:      loop.store %{{.*}}, %C[%[[I]] - 2]
// SHIFT-NEXT:    }
// SHIFT-NEXT:    func.return
// LARGER: error: {{.*}}fuse_loops("blur/i", other="j") is refused: the load of '%B' ({{.*}}) must come after the store to '%B' ({{.*}}): flow dependence through '%B'; iterations (i=2) and (j=0) would be swapped; shift=2 keeps all dependences
func.func private @blur(%A: memref<17xf32>, %B: memref<17xf32>, %C: memref<17xf32>) {
  loop.for parallel "i" %i = 0 to 17 {
    %a = loop.load %A[%i] : memref<17xf32>
    loop.store %a, %B[%i] : memref<17xf32>
  }
  loop.for parallel "j" %j = 0 to 15 {
    %b = loop.load %B[%j] : memref<17xf32>
    %c = loop.load %B[%j + 2] : memref<17xf32>
    %d = arith.addf %b, %c : f32
    loop.store %d, %C[%j] : memref<17xf32>
  }
  func.return
}

// Nothing is known of %m and %n: one of the two loops at the end is empty.
// SYMBOLS-LABEL: func.func private @symbols
// SYMBOLS-NEXT:    loop.for parallel "i" %i = 0 to min(%m, %n) {
// SYMBOLS:         loop.for parallel "i.back" %{{.*}} = max(%n, 0) to %m {
// SYMBOLS-NEXT:      loop.store %v, %A
// SYMBOLS:         loop.for parallel "j.back" %{{.*}} = max(%m, 0) to %n {
// SYMBOLS-NEXT:      loop.store %v, %B
func.func private @symbols(%A: memref<?xf32>, %B: memref<?xf32>, %m: index, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to %m {
    loop.store %v, %A[%i] : memref<?xf32>
  }
  loop.for parallel "j" %j = 0 to %n {
    loop.store %v, %B[%j] : memref<?xf32>
  }
  func.return
}

// What the second loop needs goes in front, what needs the first one goes behind.
// BETWEEN-LABEL: func.func private @between
// BETWEEN-NEXT:    %T = loop.alloc
// BETWEEN-NEXT:    %w = loop.load %A[0]
// BETWEEN-NEXT:    loop.for parallel "i"
// BETWEEN:           loop.store %v, %B[%i]
// BETWEEN-NEXT:      loop.store %w, %T[%i]
// BETWEEN-NEXT:    }
// BETWEEN-NEXT:    %b = loop.load %B[3]
// BETWEEN-NEXT:    loop.store %b, %A[1]
func.func private @between(%A: memref<17xf32>, %B: memref<17xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 17 {
    loop.store %v, %B[%i] : memref<17xf32>
  }
  %T = loop.alloc stack : memref<17xf32>
  %b = loop.load %B[3] : memref<17xf32>
  %w = loop.load %A[0] : memref<17xf32>
  loop.store %b, %A[1] : memref<17xf32>
  loop.for parallel "j" %j = 0 to 17 {
    loop.store %w, %T[%j] : memref<17xf32>
  }
  func.return
}

// STUCK: error: {{.*}}fuse_loops("stuck/i", other="j") is refused: the value '%b' between the loops needs the first one and the second one needs it; compute it before the first loop, or inside the second
func.func private @stuck(%A: memref<17xf32>, %B: memref<17xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 17 {
    loop.store %v, %B[%i] : memref<17xf32>
  }
  %b = loop.load %B[3] : memref<17xf32>
  loop.for parallel "j" %j = 0 to 17 {
    loop.store %b, %A[%j] : memref<17xf32>
  }
  func.return
}

// UNBOUNDED: error: {{.*}}: flow dependence through '%B'; iterations (i={{[0-9]+}}) and (j={{[0-9]+}}) with %n={{[0-9]+}} would be swapped; the loops have to follow each other
func.func private @unbounded(%A: memref<?xf32>, %B: memref<?xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to %n {
    loop.store %v, %B[%i] : memref<?xf32>
  }
  loop.for parallel "j" %j = 0 to %n {
    %b = loop.load %B[%n - %j - 1] : memref<?xf32>
    loop.store %b, %A[%j] : memref<?xf32>
  }
  func.return
}

// ALIASED: error: {{.*}}the load of '%B' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' that may exist ('%B' may be the same memory); iterations (i={{[0-9]+}}) and (j={{[0-9]+}}) would be swapped; mark '%B' stepwell.noalias if it is memory of its own
func.func @aliased(%A: memref<17xf32>, %B: memref<17xf32>, %C: memref<17xi32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 17 {
    loop.store %v, %A[%i] : memref<17xf32>
  }
  loop.for parallel "j" %j = 0 to 17 {
    %b = loop.load %B[%j] : memref<17xf32>
    %c = arith.fptosi %b : f32 to i32
    loop.store %c, %C[%j] : memref<17xi32>
  }
  func.return
}

// STEPS: error: {{.*}}fuse_loops("steps/i", other="j") is refused: 'i' has step 1 and 'j' step 3; normalize them first, or split them to the same step
// With a step both loops go through the same numbers, and the rest starts at one of them: 9, not 8.
// LATTICE:      loop.for parallel "k.front" %k = 0 to 3 step 3 {
// LATTICE:      loop.for parallel "k" %{{.*}} = 3 to 8 step 3 {
// LATTICE:      loop.for parallel "k.back" %{{.*}} = 9 to 17 step 3 {
func.func private @steps(%A: memref<17xf32>, %B: memref<17xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 17 {
  }
  loop.for parallel "j" %j = 0 to 17 step 3 {
  }
  loop.for parallel "k" %k = 0 to 17 step 3 {
    loop.store %v, %A[%k] : memref<17xf32>
  }
  loop.for parallel "l" %l = 3 to 8 step 3 {
    loop.store %v, %B[%l] : memref<17xf32>
  }
  func.return
}

// With a depth the loops inside become one too.
// NESTS-LABEL: func.func private @nests
// NESTS-NEXT:    loop.for parallel "i" %i = 0 to 17 {
// NESTS-NEXT:      loop.for parallel "k" %k = 0 to %i {
// NESTS-NEXT:        loop.store %v, %A[%i, %k]
// NESTS-NEXT:        %a = loop.load %A[%i, %k]
// NESTS-NEXT:        loop.store %a, %B[%i, %k]
// NESTS-NEXT:      }
// NESTS-NEXT:    }
// NESTS-NEXT:    func.return
// DEEPER: error: {{.*}}fuse_loops("nests/i", other="j", depth=3) is refused: 'k' and 'l' have more in them than one loop each; fuse the loops one after the other, from the outside in
func.func private @nests(%A: memref<17x17xf32>, %B: memref<17x17xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 17 {
    loop.for parallel "k" %k = 0 to %i {
      loop.store %v, %A[%i, %k] : memref<17x17xf32>
    }
  }
  loop.for parallel "j" %j = 0 to 17 {
    loop.for parallel "l" %l = 0 to %j {
      %a = loop.load %A[%j, %l] : memref<17x17xf32>
      loop.store %a, %B[%j, %l] : memref<17x17xf32>
    }
  }
  func.return
}

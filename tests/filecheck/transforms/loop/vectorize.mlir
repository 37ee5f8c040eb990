// RUN: stepwell-opt %s -p 'loop-vectorize{loop=f/i width=8}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-vectorize{loop=f/i width=8 tail=guard}' | filecheck %s --check-prefix GUARD
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=f/i width=8 tail=perfect}' 2>&1 | filecheck %s --check-prefix PERFECT
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=f/i width=8 tail=pad}' 2>&1 | filecheck %s --check-prefix SHAPE
// RUN: stepwell-opt %s -p 'loop-vectorize{loop=pad/i width=8 tail=pad},loop-vectorize{loop=pad/j width=8 tail=perfect}' | filecheck %s --check-prefix PAD
// RUN: stepwell-opt %s -p 'loop-vectorize{loop=f/i}' | filecheck %s --check-prefix WHOLE
// RUN: not stepwell-opt %s -p 'loop-split{loop=f/i factor=8},loop-vectorize{loop=f/i.outer}' 2>&1 | filecheck %s --check-prefix OUTER
// RUN: not stepwell-opt %s -p 'loop-split{loop=f/i factor=8},loop-vectorize{loop=f/i.inner}' 2>&1 | filecheck %s --check-prefix VARYING
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=near/i width=4}' 2>&1 | filecheck %s --check-prefix NEAR
// RUN: stepwell-opt %s -p 'loop-vectorize{loop=near/i width=3},loop-vectorize{loop=near/j width=8}' | filecheck %s --check-prefix FAR
// RUN: stepwell-opt %s -p 'loop-vectorize{loop=sums/k width=4 tail=perfect},loop-vectorize{loop=sums/b width=4}' | filecheck %s --check-prefix SUM
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=sums/s width=4}' 2>&1 | filecheck %s --check-prefix STRICT
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=sums/h width=4}' 2>&1 | filecheck %s --check-prefix BINS
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=scalar/i width=4}' 2>&1 | filecheck %s --check-prefix SCALAR
// RUN: stepwell-opt %s -p 'loop-vectorize{loop=middle/i width=4}' | filecheck %s --check-prefix MIDDLE
// RUN: not stepwell-opt %s -p 'loop-vectorize{loop=middle/t}' 2>&1 | filecheck %s --check-prefix TRIANGLE

// The lanes always are a constant number; what is left runs plainly, by default.
// CHECK-LABEL: func.func private @f
// CHECK-NEXT:    loop.for parallel "i.outer" %i_outer = 0 to 16 step 8 {
// CHECK-NEXT:      loop.for parallel vector "i.inner" %i = %i_outer to %i_outer + 8 {
// CHECK-NEXT:        %a = loop.load %A[%i]
// CHECK:           }
// CHECK:         loop.for parallel "i.tail" %{{.*}} = 16 to 17 {
// A guard tests each lane.
// GUARD:         loop.for parallel "i.outer" %i_outer = 0 to 17 step 8 {
// GUARD-NEXT:      loop.for parallel vector "i.inner" %i = %i_outer to %i_outer + 8 {
// GUARD-NEXT:        loop.if (-%i + 16 >= 0) {
// GUARD-NEXT:          %a = loop.load %A[%i]
// PERFECT: error: {{.*}}vectorize("f/i", width=8, tail="perfect") is refused: it has to be split first, and loop 'i' has 17 iterations, expected a multiple of 8
// SHAPE: error: {{.*}}the iterations beyond the end would read '%A' outside of its shape
// WHOLE:         loop.for parallel vector "i" %i = 0 to 17 {
// VARYING-NOT: builtin.module
// VARYING: error: {{.*}}vectorize("f/i.inner") is refused: the trip count of 'i.inner' is not a constant; give a width to split it by
// The lanes of a loop around others run those together; here they would need different trip counts.
// OUTER: error: {{.*}}the bounds of loop 'i.inner' inside of it are not the same for all lanes; reorder so that 'i.outer' is the innermost loop
func.func private @f(%A: memref<17xf32>, %B: memref<17xf32>) {
  loop.for parallel "i" %i = 0 to 17 {
    %a = loop.load %A[%i] : memref<17xf32>
    loop.store %a, %B[%i] : memref<17xf32>
  }
  func.return
}

// PAD-LABEL: func.func private @pad
// PAD:         loop.for parallel "i.outer" %i_outer = 0 to 17 step 8 {
// PAD-NEXT:      loop.for parallel vector "i.inner" %i = %i_outer to %i_outer + 8 {
// PAD-NEXT:        loop.store %v, %T[%i]
// PAD:         loop.for parallel vector "j" %j = 0 to 8 {
func.func private @pad(%B: memref<17xf32>, %v: f32) {
  %T = loop.alloc stack : memref<24xf32>
  loop.for parallel "i" %i = 0 to 17 {
    loop.store %v, %T[%i] : memref<24xf32>
  }
  loop.for parallel "j" %j = 0 to 8 {
    %a = loop.load %T[%j] : memref<24xf32>
    loop.store %a, %B[%j] : memref<17xf32>
  }
  func.return
}

// Three lanes are no nearer than the dependence; a load of what later lanes store comes before all stores.
// NEAR: error: {{.*}}vectorize("near/i", width=4) is refused: the load of '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' at distance (3); iterations (i=3) and (i=6) would be swapped; a width of at most 3 is legal
// FAR-LABEL: func.func private @near
// FAR:         loop.for serial "i.outer"
// FAR-NEXT:      loop.for parallel vector "i.inner"
// FAR:         loop.for serial "j.outer"
// FAR-NEXT:      loop.for serial vector "j.inner"
func.func private @near(%A: memref<27xf32>) {
  loop.for serial "i" %i = 3 to 27 {
    %a = loop.load %A[%i - 3] : memref<27xf32>
    loop.store %a, %A[%i] : memref<27xf32>
  }
  loop.for serial "j" %j = 0 to 24 {
    %a = loop.load %A[%j + 1] : memref<27xf32>
    loop.store %a, %A[%j] : memref<27xf32>
  }
  func.return
}

// A sum of all lanes needs the flag; each lane may have its own sum; lanes that share some do not work.
// SUM-LABEL: func.func private @sums
// SUM:         loop.for reduction vector "k.inner"
// SUM:         loop.for parallel vector "b.inner"
// SUM-SAME:      attributes {stepwell.strided = ["A"]}
// STRICT: error: {{.*}}vectorize("sums/s", width=4) is refused: {{.*}} dependence through '%B' at distance (<); iterations (s=0) and (s=1) would be swapped
// BINS: error: {{.*}}vectorize("sums/h", width=4) is refused: {{.*}} iterations (h=0) and (h=1) would be in lanes that update one element while other lanes update others; choose another loop, or rfactor 'h'
func.func private @sums(%A: memref<16x16xf32>, %B: memref<16xf32>) {
  loop.for reduction "k" %k = 0 to 16 {
    %a = loop.load %A[0, %k] : memref<16x16xf32>
    %b = loop.load %B[0] : memref<16xf32>
    %s = arith.addf %b, %a fastmath<reassoc> : f32
    loop.store %s, %B[0] : memref<16xf32>
  }
  loop.for parallel "b" %b = 0 to 16 {
    %a = loop.load %A[%b, 0] : memref<16x16xf32>
    %c = loop.load %B[%b] : memref<16xf32>
    %s = arith.addf %c, %a : f32
    loop.store %s, %B[%b] : memref<16xf32>
  }
  loop.for serial "s" %s = 0 to 16 {
    %a = loop.load %A[0, %s] : memref<16x16xf32>
    %b = loop.load %B[0] : memref<16xf32>
    %c = arith.addf %b, %a : f32
    loop.store %c, %B[0] : memref<16xf32>
  }
  loop.for reduction "h" %h = 0 to 16 {
    %a = loop.load %A[0, %h] : memref<16x16xf32>
    %b = loop.load %B[%h floordiv 2] : memref<16xf32>
    %c = arith.addf %b, %a fastmath<reassoc> : f32
    loop.store %c, %B[%h floordiv 2] : memref<16xf32>
  }
  func.return
}

// SCALAR: error: {{.*}} dependence through '%T' at distance (<); iterations (i=0) and (i=1) would be swapped
func.func private @scalar(%A: memref<16xf32>, %B: memref<16xf32>) {
  %T = loop.alloc register : memref<f32>
  loop.for serial "i" %i = 0 to 16 {
    %a = loop.load %A[%i] : memref<16xf32>
    loop.store %a, %T[] : memref<f32>
    %t = loop.load %T[] : memref<f32>
    loop.store %t, %B[%i] : memref<16xf32>
  }
  func.return
}

// MIDDLE:      loop.for parallel vector "i.inner" %i
// MIDDLE-NEXT:   loop.for serial "j" %j = 0 to 9 {
// TRIANGLE: error: {{.*}}the bounds of loop 'u' inside of it are not the same for all lanes; reorder so that 't' is the innermost loop
func.func private @middle(%A: memref<9x16xf32>, %B: memref<16xf32>) {
  loop.for parallel "i" %i = 0 to 16 {
    loop.for serial "j" %j = 0 to 9 {
      %a = loop.load %A[%j, %i] : memref<9x16xf32>
      %b = loop.load %B[%i] : memref<16xf32>
      %s = arith.subf %a, %b : f32
      loop.store %s, %B[%i] : memref<16xf32>
    }
  }
  loop.for parallel "t" %t = 0 to 8 {
    loop.for parallel "u" %u = 0 to %t {
      %a = loop.load %A[%t, %u] : memref<9x16xf32>
      loop.store %a, %A[%u, %t] : memref<9x16xf32>
    }
  }
  func.return
}

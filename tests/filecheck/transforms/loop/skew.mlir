// RUN: stepwell-opt %s -p 'loop-skew{loop=f/j by=i}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-skew{loop=f/j by=i factor=-2}' | filecheck %s --check-prefix BACK
// RUN: stepwell-opt %s -p 'loop-skew{loop=f/j by=i},loop-reorder{loop=f/i order=j,i}' | filecheck %s --check-prefix WAVE
// RUN: stepwell-opt %s -p 'loop-skew{loop=bounds/j by=i}' | filecheck %s --check-prefix BOUNDS
// RUN: not stepwell-opt %s -p 'loop-skew{loop=f/i by=j}' 2>&1 | filecheck %s --check-prefix OUTER
// RUN: not stepwell-opt %s -p 'loop-skew{loop=f/j by=i factor=0}' 2>&1 | filecheck %s --check-prefix ZERO

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:    loop.for serial "i" %i = 1 to 16 {
// CHECK-NEXT:      loop.for serial "j" %j = %i + 1 to %i + 16 {
// CHECK-NEXT:        %a = loop.load %A[%i - 1, %j - %i + 1]
// CHECK-NEXT:        loop.store %a, %A[%i, %j - %i]
// BACK:            loop.for serial "j" %j = %i * -2 + 1 to %i * -2 + 16 {
// BACK-NEXT:         %a = loop.load %A[%i - 1, %j {{.*}}%i * 2
// The dependence at distance (1, -1) becomes one at (1, 0): now the loops may be exchanged.
// WAVE:          loop.for serial "j" %j = 2 to 31 {
// WAVE-NEXT:       loop.for serial "i" %i = max({{.*}}) to min({{.*}}) {
// OUTER: error: {{.*}}skew("f/i", by="j") is refused: loop 'j' is not around 'i'; skew by one of the loops around: none
// ZERO: error: {{.*}}skew("f/j", by="i", factor=0) is refused: factor is 0, which moves nothing; choose another factor
func.func private @f(%A: memref<17x17xf32>) {
  loop.for serial "i" %i = 1 to 16 {
    loop.for serial "j" %j = 1 to 16 {
      %a = loop.load %A[%i - 1, %j + 1] : memref<17x17xf32>
      loop.store %a, %A[%i, %j] : memref<17x17xf32>
    }
  }
  func.return
}

// Every term moves, what uses the variable elsewhere gets its old value, and what cancels is gone.
// BOUNDS-LABEL: func.func private @bounds
// BOUNDS:           loop.for serial "j" %j = max(%i, %i + %n) to min(%i * 2, %i + 9) step 2 {
// BOUNDS-NEXT:        %[[J:.*]] = affine.apply {{.*}}(%j, %i)
// BOUNDS-NEXT:        %v = arith.index_cast %[[J]] : index to i32
// BOUNDS-NEXT:        loop.store %v, %A[%j]
func.func private @bounds(%A: memref<20xi32>, %n: index) {
  loop.for serial "i" %i = 0 to 9 {
    loop.for serial "j" %j = max(0, %n) to min(%i, 9) step 2 {
      %v = arith.index_cast %j : index to i32
      loop.store %v, %A[%i + %j] : memref<20xi32>
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-stage-halo{buffer=f/A},loop-simplify{function=f}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-stage-halo{buffer=f/A at=i scope=stack into=T},loop-simplify{function=f}' | filecheck %s --check-prefix ROW
// RUN: stepwell-opt %s -p 'loop-stage-halo{buffer=f/A order=1,0},loop-simplify{function=f}' | filecheck %s --check-prefix ORDER
// RUN: stepwell-opt %s -p 'loop-stage-halo{buffer=f/A at=i align=4},loop-simplify{function=f}' | filecheck %s --check-prefix ALIGN
// RUN: not stepwell-opt %s -p 'loop-stage-halo{buffer=f/A at=j align=4}' 2>&1 | filecheck %s --check-prefix PLACES
// RUN: not stepwell-opt %s -p 'loop-stage-halo{buffer=f/W}' 2>&1 | filecheck %s --check-prefix WRITTEN
// RUN: not stepwell-opt %s -p 'loop-stage-halo{buffer=other/A}' 2>&1 | filecheck %s --check-prefix OTHER
// RUN: not stepwell-opt %s -p 'loop-stage-halo{buffer=other/B}' 2>&1 | filecheck %s --check-prefix NUMBERS
// RUN: not stepwell-opt %s -p 'loop-stage-halo{buffer=other/C}' 2>&1 | filecheck %s --check-prefix WITHOUT
// RUN: not stepwell-opt %s -p 'loop-stage-halo{buffer=other/D}' 2>&1 | filecheck %s --check-prefix COMPUTED
// RUN: not stepwell-opt %s -p 'loop-stage-halo{buffer=f/A order=1,1}' 2>&1 | filecheck %s --check-prefix ORDERED

// The inside is copied, the border filled along each axis, and no condition is left.
// CHECK-LABEL: func.func @f
// CHECK-NEXT:   %A.halo = loop.alloc arena : memref<6x10xf32>
// CHECK-NEXT:   loop.for parallel "A.halo.in0" %c0 = 0 to 6 {
// CHECK-NEXT:     loop.for parallel "A.halo.in1" %c1 = 1 to 9 {
// CHECK-NEXT:       %0 = loop.load %A[%c0, %c1 - 1]
// CHECK-NEXT:       loop.store %0, %A.halo[%c0, %c1]
// CHECK:        loop.for parallel "A.halo.border0" %{{.*}} = 0 to 6 {
// CHECK-NEXT:     %{{.*}} = arith.constant -1.000000e+00 : f32
// CHECK-NEXT:     loop.store %{{.*}}, %A.halo[%{{.*}}, 0]
// CHECK:        loop.for parallel "A.halo.border0_1" %{{.*}} = 0 to 6 {
// CHECK:          loop.store %{{.*}}, %A.halo[%{{.*}}, 9]
// CHECK:        loop.for parallel "i" %i = 0 to 6 {
// CHECK-NOT:      loop.if
// CHECK:          %x = loop.load %A.halo[%i, %j + %k]
// CHECK:          loop.load %A.halo[%i, %j + 1]

// Each row gets a copy.
// ROW:      loop.for parallel "i" %i = 0 to 6 {
// ROW-NEXT:   %T = loop.alloc stack : memref<1x10xf32>
// ROW:        loop.load %A[%i, %{{.*}} - 1]
// ROW:        %x = loop.load %T[0, %j + %k]

// ORDER: %A.halo = loop.alloc arena : memref<10x6xf32>
// ORDER: loop.for parallel "A.halo.in1" %c1 = 1 to 9 {
// ORDER:   loop.for parallel "A.halo.in0" %c0 = 0 to 6 {
// ORDER: loop.load %A.halo[%j + %k, %i]

// Rows begin so far in front that multiples of four stay multiples, and end at one.
// ALIGN:      %A.halo = loop.alloc arena : memref<1x16xf32>
// ALIGN:      loop.for parallel "A.halo.in1" %c1 = 4 to 12 {
// ALIGN:        loop.load %A[%i, %c1 - 4]
// ALIGN:      %x = loop.load %A.halo[0, %j + %k + 3]

// PLACES: error: {{.*}}stage_halo("f/A", at="j", align=4) is refused: what one iteration reads begins at another place of 4 elements than the next; split the loops around by a multiple of it, or stage further out
// WRITTEN: error: {{.*}}stage_halo("f/W") is refused: '%W' is written there; stage at a loop that only reads it
// OTHER: error: {{.*}}stage_halo("other/A") is refused: a condition around a load of '%A' asks for something else than whether the element exists; read it by 'index_set_split' where the condition changes
// NUMBERS: error: {{.*}}stage_halo("other/B") is refused: reads have different numbers outside of '%B'
// WITHOUT: error: {{.*}}stage_halo("other/C") is refused: no read of '%C' has a condition; 'stage' copies what is inside
// COMPUTED: error: {{.*}}stage_halo("other/D") is refused: what a read has outside of '%D' is not a number
// ORDERED: error: {{.*}}stage_halo("f/A", order=[1, 1]) is refused: order is [1, 1], expected a permutation of the 2 axes
func.func @f(%A: memref<6x8xf32> {stepwell.noalias}, %W: memref<6x8xf32> {stepwell.noalias}) {
  loop.for parallel "i" %i = 0 to 6 {
    loop.for parallel "j" %j = 0 to 8 {
      loop.for reduction "k" %k = 0 to 3 {
        %x = loop.if (%j + %k - 1 >= 0, -%j - %k + 8 >= 0) -> (f32) {
          %0 = loop.load %A[%i, %j + %k - 1] : memref<6x8xf32>
          loop.yield %0 : f32
        } else {
          %1 = arith.constant -1.0 : f32
          loop.yield %1 : f32
        }
        %y = loop.load %A[%i, %j] : memref<6x8xf32>
        %p = arith.mulf %x, %y : f32
        %w = loop.load %W[%i, %j] : memref<6x8xf32>
        %s = arith.addf %w, %p fastmath<reassoc> : f32
        loop.store %s, %W[%i, %j] : memref<6x8xf32>
      }
    }
  }
  func.return
}

func.func @other(
    %A: memref<8xf32> {stepwell.noalias}, %B: memref<8xf32> {stepwell.noalias}, %C: memref<8xf32> {stepwell.noalias},
    %D: memref<8xf32> {stepwell.noalias}, %W: memref<9xf32> {stepwell.noalias}) {
  loop.for parallel "i" %i = 0 to 9 {
    %c = loop.load %C[0] : memref<8xf32>
    %a = loop.if (-%i + 6 >= 0) -> (f32) {
      %0 = loop.load %A[%i] : memref<8xf32>
      loop.yield %0 : f32
    } else {
      %1 = arith.constant 0.0 : f32
      loop.yield %1 : f32
    }
    %b = loop.if (-%i + 7 >= 0) -> (f32) {
      %0 = loop.load %B[%i] : memref<8xf32>
      loop.yield %0 : f32
    } else {
      %1 = arith.constant 0.0 : f32
      loop.yield %1 : f32
    }
    %b_1 = loop.if (%i - 1 >= 0) -> (f32) {
      %0 = loop.load %B[%i - 1] : memref<8xf32>
      loop.yield %0 : f32
    } else {
      %1 = arith.constant 1.0 : f32
      loop.yield %1 : f32
    }
    %d = loop.if (-%i + 7 >= 0) -> (f32) {
      %0 = loop.load %D[%i] : memref<8xf32>
      loop.yield %0 : f32
    } else {
      loop.yield %c : f32
    }
    %s = arith.addf %a, %b : f32
    %t = arith.addf %b_1, %d : f32
    %u = arith.addf %s, %t : f32
    loop.store %u, %W[%i] : memref<9xf32>
  }
  func.return
}

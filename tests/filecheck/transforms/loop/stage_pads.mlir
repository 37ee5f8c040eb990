// RUN: stepwell-opt %s -p 'loop-stage{buffer=f/A at=i pads=4,8}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-stage{buffer=f/A at=i pads=3,7}' | filecheck %s --check-prefix COLUMNS
// RUN: stepwell-opt %s -p 'loop-stage{buffer=f/C at=i pads=1,8}' | filecheck %s --check-prefix OUT
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=f/A at=i pads=4}' 2>&1 | filecheck %s --check-prefix NUMBERS

// Each axis is filled up with zeros to a multiple of its number.
// CHECK:      %A.staged = loop.alloc stack : memref<4x24xf32>
// CHECK-NEXT: loop.for parallel "A.staged.in0" %c0 = 0 to 4 {
// CHECK-NEXT:   loop.for parallel "A.staged.in1" %c1 = 0 to 24 {
// CHECK-NEXT:     %0 = loop.if (-%i - %c0 + 9 >= 0, -%c1 + 20 >= 0) -> (f32) {
// CHECK-NEXT:       %1 = loop.load %A[%i + %c0, %c1]
// CHECK-NEXT:       loop.yield %1
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %2 = arith.constant 0.0
// CHECK:          loop.store %0, %A.staged[%c0, %c1]
// CHECK:      loop.load %A.staged[%x - %i, %y] : memref<4x24xf32>

// COLUMNS:      %A.staged = loop.alloc stack : memref<6x21xf32>
// COLUMNS-NEXT: loop.for parallel "A.staged.in0" %c0 = 0 to 6 {
// COLUMNS-NEXT:   loop.for parallel "A.staged.in1" %c1 = 0 to 21 {

// What is more than the result is not copied out.
// OUT:      %C.staged = loop.alloc stack : memref<4x24xf32>
// OUT:      loop.store %a, %C.staged[%x - %i, %y]
// OUT:      loop.for parallel "C.staged.out1" %c1 = 0 to 21 {
// OUT-NEXT:   %[[V:.*]] = loop.load %C.staged[%c0, %c1]
// OUT-NEXT:   loop.store %[[V]], %C[%i + %c0, %c1]

// NUMBERS: error: {{.*}}stage("f/A", at="i", pads=[4]) is refused: pads has 1 numbers, expected one for each of 2 axes
func.func private @f(%A: memref<10x21xf32>, %C: memref<10x21xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 10 step 4 {
    loop.for parallel "x" %x = %i to min(%i + 4, 10) {
      loop.for parallel "y" %y = 0 to 21 {
        %a = loop.load %A[%x, %y] : memref<10x21xf32>
        loop.store %a, %C[%x, %y] : memref<10x21xf32>
      }
    }
  }
  func.return
}

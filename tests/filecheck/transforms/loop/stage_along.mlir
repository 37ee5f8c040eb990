// RUN: stepwell-opt %s -p 'loop-stage{buffer=gram/X into=right panel=4 pad=4 along=j}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-stage{buffer=gram/X at=i into=row scope=register along=i}' | filecheck %s --check-prefix ROW
// RUN: stepwell-opt %s -p 'loop-stage{buffer=twice/X into=near along=b}' | filecheck %s --check-prefix PART
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=gram/X along=z}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=gram/X at=z along=i}' 2>&1 | filecheck %s --check-prefix APART
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=moves/X along=r}' 2>&1 | filecheck %s --check-prefix FLOW
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=moves/Y along=s}' 2>&1 | filecheck %s --check-prefix BACK
// RUN: stepwell-opt %s -p 'loop-stage{buffer=moves/X at=t into=near along=r}' | filecheck %s --check-prefix BEFORE

// Of two operands that are one buffer one has a copy.
// CHECK-LABEL: func.func private @gram
// CHECK:         %right = loop.alloc stack : memref<2x6x4xf32>
// CHECK:         loop.for parallel "right.in0" %c0 = 0 to 6 {
// CHECK-NEXT:      loop.for parallel "right.in1" %c1 = 0 to 8 {
// CHECK:         loop.for parallel "i"
// CHECK:           %a = loop.load %X[%k, %i]
// CHECK-NEXT:      %b = loop.load %right[%j floordiv 4, %k, %j mod 4]
// ROW-LABEL: func.func private @gram
// ROW:         loop.for parallel "i"
// ROW-NEXT:      %row = loop.alloc register : memref<6x1xf32>
// ROW:             %[[V:.*]] = loop.load %X[%c0, %i]
// ROW-NEXT:        loop.store %[[V]], %row[%c0, 0]
// ROW:             %a = loop.load %row[%k, 0]
// ROW-NEXT:        %b = loop.load %X[%k, %j]
// NONE: error: {{.*}}stage("gram/X", along="z") is refused: no access of '%X' in function 'gram' has the variable of loop 'z' in a subscript
// APART: error: {{.*}}stage("gram/X", at="z", along="i") is refused: loop 'z' does not use '%X'
func.func private @gram(%X: memref<6x7xf32>, %C: memref<7x7xf32>) attributes {stepwell.noalias} {
  loop.for parallel "z" %z = 0 to 7 {
    %zero = arith.constant 0.0 : f32
    loop.store %zero, %C[%z, %z] : memref<7x7xf32>
  }
  loop.for parallel "i" %i = 0 to 7 {
    loop.for parallel "j" %j = 0 to 7 {
      loop.for reduction "k" %k = 0 to 6 {
        %a = loop.load %X[%k, %i] : memref<6x7xf32>
        %b = loop.load %X[%k, %j] : memref<6x7xf32>
        %p = arith.mulf %a, %b : f32
        %c = loop.load %C[%i, %j] : memref<7x7xf32>
        %s = arith.addf %c, %p fastmath<reassoc> : f32
        loop.store %s, %C[%i, %j] : memref<7x7xf32>
      }
    }
  }
  func.return
}

// The part that one of two nests reads, in front of that nest.
// PART-LABEL: func.func private @twice
// PART:         loop.for parallel "a"
// PART:           loop.load %X[%a]
// PART:         %near = loop.alloc stack : memref<3xf32>
// PART-NEXT:    loop.for parallel "near.in0" %c0 = 0 to 3 {
// PART-NEXT:      loop.load %X[%c0 + 2]
// PART:         loop.for parallel "b"
// PART:           loop.load %near[%b]
func.func private @twice(%X: memref<9xf32>, %C: memref<9xf32>) attributes {stepwell.noalias} {
  loop.for parallel "a" %a = 0 to 9 {
    %x = loop.load %X[%a] : memref<9xf32>
    loop.store %x, %C[%a] : memref<9xf32>
  }
  loop.for parallel "b" %b = 0 to 3 {
    %y = loop.load %X[%b + 2] : memref<9xf32>
    loop.store %y, %C[%b + 3] : memref<9xf32>
  }
  func.return
}

// What is left out may not write what the copy is read for, nor read what is written to the copy.
// FLOW: error: {{.*}}stage("moves/X", along="r") is refused: the load of '%X' {{.*}} must come after the store to '%X' {{.*}} would be kept apart by the copy
// BACK: error: {{.*}}stage("moves/Y", along="s") is refused: the load of '%Y' {{.*}} must come after the store to '%Y' {{.*}} would be kept apart by the copy
// Before the first load that has the copy it may: each iteration of t copies what it has stored.
// BEFORE-LABEL: func.func private @moves
// BEFORE:         loop.for serial "t"
// BEFORE:           loop.for parallel "w"
// BEFORE:             loop.store %{{.*}}, %X[%w]
// BEFORE:           %near = loop.alloc stack : memref<9xf32>
// BEFORE:           loop.for parallel "r"
// BEFORE:             loop.load %near[%r]
func.func private @moves(%X: memref<9xf32>, %Y: memref<9xf32>) attributes {stepwell.noalias} {
  loop.for serial "t" %t = 0 to 3 {
    loop.for parallel "w" %w = 0 to 9 {
      %y = loop.load %Y[%w] : memref<9xf32>
      loop.store %y, %X[%w] : memref<9xf32>
    }
    loop.for parallel "r" %r = 0 to 9 {
      %x = loop.load %X[%r] : memref<9xf32>
      %d = arith.addf %x, %x : f32
      loop.for parallel "s" %s = 0 to 1 {
        loop.store %d, %Y[%r + %s] : memref<9xf32>
      }
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-double-buffer{buffer=rows/T at=i}' | filecheck %s --check-prefix ROWS
// RUN: stepwell-opt %s -p 'loop-double-buffer{buffer=steps/T at=i}' | filecheck %s --check-prefix STEPS
// RUN: not stepwell-opt %s -p 'loop-double-buffer{buffer=rows/A at=i}' 2>&1 | filecheck %s --check-prefix ARGUMENT
// RUN: not stepwell-opt %s -p 'loop-double-buffer{buffer=changed/T at=i}' 2>&1 | filecheck %s --check-prefix CHANGED
// RUN: not stepwell-opt %s -p 'loop-double-buffer{buffer=between/T at=i}' 2>&1 | filecheck %s --check-prefix BETWEEN
// RUN: not stepwell-opt %s -p 'loop-parallel{loop=rows/i},loop-double-buffer{buffer=rows/T at=i}' 2>&1 | filecheck %s --check-prefix THREADS

// ROWS-LABEL: func.func private @rows
// ROWS-NEXT:   %T = loop.alloc register : memref<2x4xi32>
// ROWS-NEXT:   loop.for parallel "x.first" %x = 0 to 4 {
// ROWS-NEXT:     %a = loop.load %A[0, %x]
// ROWS-NEXT:     loop.store %a, %T[0, %x]
// ROWS-NEXT:   }
// ROWS-NEXT:   loop.for serial "i" %i = 0 to 9 {
// ROWS-NEXT:     loop.if (-%i + 7 >= 0) {
// ROWS-NEXT:       loop.for parallel "x" %x_1 = 0 to 4 {
// ROWS-NEXT:         %a_1 = loop.load %A[%i + 1, %x_1]
// ROWS-NEXT:         loop.store %a_1, %T[(%i + 1) mod 2, %x_1]
// ROWS-NEXT:       }
// ROWS-NEXT:     }
// ROWS-NEXT:     loop.for parallel "y" %y = 0 to 4 {
// ROWS-NEXT:       %t = loop.load %T[%i mod 2, -%y + 3]
// ROWS-NEXT:       loop.store %t, %C[%i, %y]
// ARGUMENT: error: {{.*}}double_buffer.mlir:27:3: double_buffer("rows/A", at="i") is refused: '%A' is not made in the body of loop 'i'; stage a buffer at 'i' first
// THREADS: error: {{.*}}double_buffer.mlir:27:3: double_buffer("rows/T", at="i") is refused: loop 'i' is marked 'threads', and each of its iterations would need what the one before has filled; double-buffer at a serial loop inside
func.func private @rows(%A: memref<9x4xi32>, %C: memref<9x4xi32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 9 {
    %T = loop.alloc register : memref<4xi32>
    loop.for parallel "x" %x = 0 to 4 {
      %a = loop.load %A[%i, %x] : memref<9x4xi32>
      loop.store %a, %T[%x] : memref<4xi32>
    }
    loop.for parallel "y" %y = 0 to 4 {
      %t = loop.load %T[-%y + 3] : memref<4xi32>
      loop.store %t, %C[%i, %y] : memref<9x4xi32>
    }
  }
  func.return
}

// A loop that may not run at all, that counts by 3 and starts below zero.
// STEPS-LABEL: func.func private @steps
// STEPS-NEXT:   %T = loop.alloc stack : memref<2x1xi32>
// STEPS-NEXT:   loop.if (%n + 3 >= 0) {
// STEPS-NEXT:     %a = loop.load %A[0]
// STEPS-NEXT:     loop.store %a, %T[0, 0]
// STEPS-NEXT:   }
// STEPS-NEXT:   loop.for serial "i" %i = -4 to %n step 3 {
// STEPS-NEXT:     loop.if (-%i + %n - 4 >= 0) {
// STEPS-NEXT:       %a_1 = loop.load %A[%i + 7]
// STEPS-NEXT:       loop.store %a_1, %T[((%i + 4) floordiv 3 + 1) mod 2, 0]
// STEPS-NEXT:     }
// STEPS-NEXT:     %t = loop.load %T[(%i + 4) floordiv 3 mod 2, 0]
// STEPS-NEXT:     loop.store %t, %C[%i + 4]
func.func private @steps(%A: memref<?xi32>, %C: memref<?xi32>, %n: index) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = -4 to %n step 3 {
    %T = loop.alloc stack : memref<1xi32>
    %a = loop.load %A[%i + 4] : memref<?xi32>
    loop.store %a, %T[0] : memref<1xi32>
    %t = loop.load %T[0] : memref<1xi32>
    loop.store %t, %C[%i + 4] : memref<?xi32>
  }
  func.return
}

// CHANGED: error: {{.*}}double_buffer.mlir:68:3: double_buffer("changed/T", at="i") is refused: the load of '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' at distance (1); iterations (i=0) and (i=1) would be swapped; leave this buffer single
func.func private @changed(%A: memref<10xi32>) {
  loop.for serial "i" %i = 0 to 9 {
    %T = loop.alloc stack : memref<1xi32>
    %a = loop.load %A[%i] : memref<10xi32>
    loop.store %a, %T[0] : memref<1xi32>
    %t = loop.load %T[0] : memref<1xi32>
    loop.store %t, %A[%i + 1] : memref<10xi32>
  }
  func.return
}

// The second part of the fill would move in front of the store, which stands between the two parts.
// BETWEEN: error: {{.*}}double_buffer.mlir:81:3: double_buffer("between/T", at="i") is refused: the load of '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' at distance (1); iterations (i=0) and (i=1) would be swapped; leave this buffer single
func.func private @between(%A: memref<10xi32>, %C: memref<10xi32>, %v: i32) attributes {stepwell.noalias} {
  loop.for serial "i" %i = 0 to 9 {
    %T = loop.alloc stack : memref<2xi32>
    loop.store %v, %T[0] : memref<2xi32>
    loop.store %v, %A[%i + 1] : memref<10xi32>
    %a = loop.load %A[%i] : memref<10xi32>
    loop.store %a, %T[1] : memref<2xi32>
    %t = loop.load %T[1] : memref<2xi32>
    loop.store %t, %C[%i] : memref<10xi32>
  }
  func.return
}

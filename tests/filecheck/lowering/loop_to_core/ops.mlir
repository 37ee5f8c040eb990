// RUN: stepwell-opt %s -p convert-loop-to-core | filecheck %s

// Constants are made once, at the start; the range of a variable makes division by a number cheap.
// CHECK-LABEL: func.func @subscripts(
// CHECK-NEXT:    %c0 = arith.constant 0 : index
// CHECK-NEXT:    %c8 = arith.constant 8 : index
// CHECK-NEXT:    %c1 = arith.constant 1 : index
// CHECK-NEXT:    %c4 = arith.constant 4 : index
// CHECK-NEXT:    %c2 = arith.constant 2 : index
// CHECK-NEXT:    %c3 = arith.constant 3 : index
// CHECK-NEXT:    scf.for %i = %c0 to %c8 step %c1 {
// CHECK-NEXT:      %0 = arith.divui %i, %c4 : index
// CHECK-NEXT:      %1 = arith.remui %i, %c4 : index
// CHECK-NEXT:      %a = memref.load %A[%0, %1] : memref<2x4xf32>
// CHECK-NEXT:      %2 = arith.addi %i, %c1 : index
// CHECK-NEXT:      %3 = arith.addi %2, %c1 : index
// CHECK-NEXT:      %4 = arith.divui %3, %c2 : index
// CHECK-NEXT:      %5 = arith.subi %c3, %4 : index
// CHECK-NEXT:      memref.store %a, %B[%5] : memref<4xf32>
func.func @subscripts(%A: memref<2x4xf32>, %B: memref<4xf32>) {
  loop.for parallel "i" %i = 0 to 8 {
    %a = loop.load %A[%i floordiv 4, %i mod 4] : memref<2x4xf32>
    loop.store %a, %B[0 - ((%i + 1) ceildiv 2) + 3] : memref<4xf32>
  }
  func.return
}

// What may be negative is divided the long way.
// CHECK-LABEL: func.func @signed(
// CHECK:         %0 = arith.floordivsi %n, %c4 : index
// CHECK-NEXT:    %1 = arith.floordivsi %n, %c3 : index
// CHECK-NEXT:    %2 = arith.muli %1, %c3 : index
// CHECK-NEXT:    %3 = arith.subi %n, %2 : index
// CHECK-NEXT:    %4 = arith.ceildivsi %n, %c2 : index
// CHECK-NEXT:    %a = memref.load %A[%0, %3, %4]
func.func @signed(%A: memref<?x3x?xf32>, %n: index) {
  %a = loop.load %A[%n floordiv 4, %n mod 3, %n ceildiv 2] : memref<?x3x?xf32>
  func.return
}

// CHECK-LABEL: func.func @bounds(
// CHECK:         scf.for %i = %c0 to %n step %c4 {
// CHECK-NEXT:      %0 = arith.addi %i, %cm2 : index
// CHECK-NEXT:      %1 = arith.maxsi %c0, %0 : index
// CHECK-NEXT:      %2 = arith.addi %i, %c4 : index
// CHECK-NEXT:      %3 = arith.minsi %2, %n : index
// CHECK-NEXT:      scf.for %j = %1 to %3 step %c1 {
// CHECK-NEXT:        %4 = arith.remui %j, %c4 : index
func.func @bounds(%A: memref<?xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to %n step 4 {
    loop.for serial "j" %j = max(0, %i - 2) to min(%i + 4, %n) {
      loop.store %v, %A[%j mod 4] : memref<?xf32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @conditions(
// CHECK:         %0 = arith.addi %i, %cm1 : index
// CHECK-NEXT:    %1 = arith.cmpi sge, %0, %c0 : index
// CHECK-NEXT:    %2 = arith.subi %i, %n : index
// CHECK-NEXT:    %3 = arith.cmpi sle, %2, %c0 : index
// CHECK-NEXT:    %4 = arith.andi %1, %3 : i1
// CHECK:         %{{.*}} = arith.cmpi eq, %{{.*}}, %c0 : index
// CHECK:         %v = scf.if %{{.*}} -> (f32) {
// CHECK-NEXT:      %a = memref.load %A[%i]
// CHECK-NEXT:      scf.yield %a : f32
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %z : f32
// CHECK-NEXT:    }
// CHECK:         scf.if %{{.*}} {
// CHECK-NEXT:      memref.store %v, %A[%i]
// CHECK-NEXT:    }
func.func @conditions(%A: memref<?xf32>, %i: index, %n: index, %z: f32) {
  %v = loop.if (%i >= 1, %i <= %n, %i mod 2 == 0) -> (f32) {
    %a = loop.load %A[%i] : memref<?xf32>
    loop.yield %a : f32
  } else {
    loop.yield %z : f32
  }
  loop.if (3 - %i >= 0) {
    loop.store %v, %A[%i] : memref<?xf32>
  }
  func.return
}

// Registers and stack buffers are of the whole function: in a loop they would grow the stack. The others
// are freed where their block ends, in upstream's loops too.
// CHECK-LABEL: func.func @buffers(
// CHECK:         %s = memref.alloca() : memref<4xf32>
// CHECK:         %r = memref.alloca() : memref<f32>
// CHECK:         %d = memref.alloc(%n) : memref<?xf32>
// CHECK-NEXT:    scf.for %i = %c0 to %c4 step %c1 {
// CHECK-NEXT:      %t = memref.alloc() : memref<4xf32>
// CHECK-NEXT:      %u = memref.alloc() : memref<4xf32, strided<[1]>>
// CHECK:           memref.dealloc %u
// CHECK-NEXT:      memref.dealloc %t
// CHECK-NEXT:    }
// CHECK:         scf.for %j
// CHECK-NEXT:      %w = memref.alloc() : memref<4xf32>
// CHECK:           memref.dealloc %w
// CHECK-NEXT:    }
// CHECK-NEXT:    memref.dealloc %d
// CHECK-NEXT:    func.return
func.func @buffers(%n: index, %v: f32, %lower: index, %upper: index, %step: index) {
  %d = loop.alloc arena(%n) : memref<?xf32>
  loop.for serial "i" %i = 0 to 4 {
    %t = loop.alloc thread : memref<4xf32>
    %u = loop.alloc arena : memref<4xf32, strided<[1]>>
    %r = loop.alloc register : memref<f32>
    %s = loop.alloc stack : memref<4xf32>
    loop.store %v, %t[%i] : memref<4xf32>
    loop.store %v, %r[] : memref<f32>
    loop.store %v, %s[%i] : memref<4xf32>
    loop.store %v, %d[%i] : memref<?xf32>
  }
  scf.for %j = %lower to %upper step %step {
    %w = loop.alloc arena : memref<4xf32>
    loop.store %v, %w[%j] : memref<4xf32>
  }
  func.return
}

// Blocks and values keep their connections, also where a later block of the text comes first.
// CHECK-LABEL: func.func @blocks(
// CHECK:         cf.cond_br %c, ^[[A:.*]], ^[[B:.*]](%i : index)
// CHECK:       ^[[B]](%p: index):
// CHECK-NEXT:    %[[Q:.*]] = arith.addi %p, %i
// CHECK-NEXT:    cf.br ^[[C:.*]]
// CHECK:       ^[[D:.*]]:
// CHECK-NEXT:    memref.load %A[%[[S:.*]]]
// CHECK:       ^[[C]]:
// CHECK-NEXT:    %[[S]] = arith.addi %[[Q]], %i
// CHECK-NEXT:    cf.br ^[[D]]
// CHECK:       ^[[A]]:
func.func @blocks(%A: memref<8xf32>, %i: index, %c: i1) {
  cf.cond_br %c, ^a, ^b(%i : index)
^b(%p: index):
  %q = arith.addi %p, %i : index
  cf.br ^c
^d:
  %v = loop.load %A[%s] : memref<8xf32>
  cf.br ^a
^c:
  %s = arith.addi %q, %i : index
  cf.br ^d
^a:
  func.return
}

// Symbols of an affine.apply are values like its dimensions.
// CHECK-LABEL: func.func @apply(
// CHECK:         %0 = arith.muli %i, %c2 : index
// CHECK-NEXT:    %1 = arith.addi %0, %n : index
// CHECK-NEXT:    memref.load %A[%1]
func.func @apply(%A: memref<8xf32>, %i: index, %n: index) {
  %j = affine.apply affine_map<(d0)[s0] -> (d0 * 2 + s0)> (%i)[%n]
  %v = loop.load %A[%j] : memref<8xf32>
  func.return
}

// How a loop is marked to run is kept for those who lower it further, where it stays a loop.
// CHECK-LABEL: func.func @modes(
// CHECK:         scf.for %i = %c0 to %c4 step %c1 {
// CHECK:           scf.for %j
// CHECK:             scf.for %k
// CHECK:             } {stepwell.mode = "unroll"}
// CHECK:           } {stepwell.mode = "vector"}
// CHECK:         } {stepwell.mode = "threads"}
func.func @modes(%n: index) {
  loop.for serial threads "i" %i = 0 to 4 {
    loop.for parallel vector "j" %j = 0 to %n {
      loop.for parallel unroll "k" %k = 0 to %n {
      }
    }
  }
  func.return
}

// A parallel loop on threads: its iterations have stack buffers of their own, those of loops inside of it
// too. What is freed at the end of a block is of an iteration anyway.
// CHECK-LABEL: func.func @threads(
// CHECK-NOT:     memref.alloca
// CHECK:         "scf.parallel"(%c0, %n, %c2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
// CHECK-NEXT:    ^bb0(%i: index):
// CHECK-NEXT:      %s = memref.alloca() : memref<4xf32>
// CHECK-NEXT:      %r = memref.alloca() : memref<f32>
// CHECK-NEXT:      %t = memref.alloc() : memref<8xf32>
// CHECK-NEXT:      memref.store %v, %s[%c0] : memref<4xf32>
// CHECK-NEXT:      scf.for %j = %c0 to %c4 step %c1 {
// CHECK-NEXT:        memref.store %v, %r[] : memref<f32>
// CHECK-NEXT:        memref.store %v, %t[%i] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      memref.dealloc %t : memref<8xf32>
// CHECK-NEXT:      scf.reduce
// CHECK-NEXT:    }) : (index, index, index) -> ()
func.func @threads(%n: index, %v: f32) {
  loop.for parallel threads "i" %i = 0 to %n step 2 {
    %s = loop.alloc stack : memref<4xf32>
    %t = loop.alloc thread : memref<8xf32>
    loop.store %v, %s[0] : memref<4xf32>
    loop.for serial "j" %j = 0 to 4 {
      %r = loop.alloc register : memref<f32>
      loop.store %v, %r[] : memref<f32>
      loop.store %v, %t[%i] : memref<8xf32>
    }
  }
  func.return
}

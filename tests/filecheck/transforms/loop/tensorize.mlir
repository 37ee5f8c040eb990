// RUN: stepwell-opt %s -p 'loop-tensorize{loop=f/x kernel=add}' | filecheck %s --check-prefix CALL
// RUN: stepwell-opt %s -p 'loop-tensorize{loop=strided/x kernel=add}' | filecheck %s --check-prefix STRIDED
// RUN: not stepwell-opt %s -p 'loop-tensorize{loop=f/x kernel=adds}' 2>&1 | filecheck %s --check-prefix NAME
// RUN: not stepwell-opt %s -p 'loop-tensorize{loop=f/o kernel=add}' 2>&1 | filecheck %s --check-prefix OUTER
// RUN: not stepwell-opt %s -p 'loop-tensorize{loop=products/x kernel=add}' 2>&1 | filecheck %s --check-prefix PRODUCTS
// RUN: not stepwell-opt %s -p 'loop-tensorize{loop=same/x kernel=add}' 2>&1 | filecheck %s --check-prefix SAME
// RUN: not stepwell-opt %s -p 'loop-tensorize{loop=stored/x kernel=add}' 2>&1 | filecheck %s --check-prefix STORED

func.func private @add(%a: memref<4xi32, strided<[?], offset: ?>>, %b: memref<4xi32, strided<[?], offset: ?>>) attributes {stepwell.noalias} {
  loop.for parallel "l" %l = 0 to 4 {
    %p = loop.load %a[%l] : memref<4xi32, strided<[?], offset: ?>>
    %q = loop.load %b[%l] : memref<4xi32, strided<[?], offset: ?>>
    %r = arith.addi %p, %q : i32
    loop.store %r, %b[%l] : memref<4xi32, strided<[?], offset: ?>>
  }
  func.return
}

// CALL-LABEL: func.func private @f
// CALL-NEXT:   loop.for serial "o" %o = 0 to 16 step 4 {
// CALL-NEXT:     %0 = memref.subview %A[2, %o] [1, 4] [1, 1] : memref<3x16xi32> to memref<4xi32, strided<[1], offset: ?>>
// CALL-NEXT:     %A.part = "memref.cast"(%0)
// CALL-NEXT:     %1 = affine.apply {{.*}}%o
// CALL-NEXT:     %2 = memref.subview %B[%1] [4] [1] : memref<20xi32> to memref<4xi32, strided<[1], offset: ?>>
// CALL-NEXT:     %B.part = "memref.cast"(%2)
// CALL-NEXT:     func.call @add(%A.part, %B.part)
// CALL-NEXT:   }
// NAME: error: {{.*}}tensorize.mlir:32:5: tensorize("f/x", kernel="adds") is refused: the module has no function 'adds' with a body; did you mean 'add'?
// OUTER: error: {{.*}}tensorize.mlir:31:3: tensorize("f/o", kernel="add") is refused: the nest is not the kernel 'add': statement 1 of loop 'l' of the kernel is 'loop.store' in the kernel and 'loop.for' in the nest
func.func private @f(%A: memref<3x16xi32>, %B: memref<20xi32>) attributes {stepwell.noalias} {
  loop.for serial "o" %o = 0 to 16 step 4 {
    loop.for parallel "x" %x = %o to %o + 4 {
      %p = loop.load %A[2, %x] : memref<3x16xi32>
      %q = loop.load %B[%x + 3] : memref<20xi32>
      %r = arith.addi %q, %p : i32
      loop.store %r, %B[%x + 3] : memref<20xi32>
    }
  }
  func.return
}

// The iterations correspond in order, whatever their variables are.
// STRIDED-LABEL: func.func private @strided
// STRIDED:        memref.subview %A[0, 1] [4, 1] [1, 1] : memref<4x16xi32> to memref<4xi32, strided<[16], offset: 1>>
// STRIDED:        memref.subview %B[3] [4] [2] : memref<20xi32> to memref<4xi32, strided<[2], offset: 3>>
func.func private @strided(%A: memref<4x16xi32>, %B: memref<20xi32>) attributes {stepwell.noalias} {
  loop.for parallel "x" %x = -6 to 6 step 3 {
    %p = loop.load %A[%x floordiv 3 + 2, 1] : memref<4x16xi32>
    %q = loop.load %B[%x floordiv 3 * 2 + 7] : memref<20xi32>
    %r = arith.addi %p, %q : i32
    loop.store %r, %B[%x floordiv 3 * 2 + 7] : memref<20xi32>
  }
  func.return
}

// PRODUCTS: error: {{.*}}tensorize.mlir:58:3: tensorize("products/x", kernel="add") is refused: the nest is not the kernel 'add': the kernel has 'arith.addi' where the nest has 'arith.muli'
func.func private @products(%A: memref<4xi32>, %B: memref<4xi32>) attributes {stepwell.noalias} {
  loop.for parallel "x" %x = 0 to 4 {
    %p = loop.load %A[%x] : memref<4xi32>
    %q = loop.load %B[%x] : memref<4xi32>
    %r = arith.muli %p, %q : i32
    loop.store %r, %B[%x] : memref<4xi32>
  }
  func.return
}

// SAME: error: {{.*}}tensorize.mlir:69:3: tensorize("same/x", kernel="add") is refused: the nest is not the kernel 'add': '%b' and '%a' of the kernel are separate, and both stand for '%A'
func.func private @same(%A: memref<9xi32>) {
  loop.for serial "x" %x = 0 to 4 {
    %p = loop.load %A[%x] : memref<9xi32>
    %q = loop.load %A[%x + 1] : memref<9xi32>
    %r = arith.addi %p, %q : i32
    loop.store %r, %A[%x + 1] : memref<9xi32>
  }
  func.return
}

// A value loaded before the nest may have been overwritten since.
// STORED: error: {{.*}}tensorize.mlir:83:3: tensorize("stored/x", kernel="add") is refused: the nest is not the kernel 'add': the load of '%a' stands at another place in the nest
func.func private @stored(%A: memref<4xi32>, %B: memref<4xi32>, %v: i32) attributes {stepwell.noalias} {
  %p = loop.load %A[0] : memref<4xi32>
  loop.store %v, %A[0] : memref<4xi32>
  loop.for parallel "x" %x = 0 to 4 {
    %q = loop.load %B[%x] : memref<4xi32>
    %r = arith.addi %p, %q : i32
    loop.store %r, %B[%x] : memref<4xi32>
  }
  func.return
}

// RUN: stepwell-opt %s --why-not "reorder(x, [y, x])" --why-not "split(g/x, 3)" | filecheck %s
// RUN: stepwell-opt %s -p "loop-split{loop=g/x factor=3}" --why-not "split(x.inner, 3, tail=perfect)" --why-not "split(x.outer, 3, tail=perfect)" | filecheck %s --check-prefix AFTER

// The question is answered, and the IR is not printed.
// CHECK:      reorder("x", order=["y", "x"]) is refused: {{.*}} iterations (x=1, y=1) and (x=2, y=0) would be swapped
// CHECK-NEXT: legal
// CHECK-NOT:  builtin.module

// It is asked about the IR after the passes.
// AFTER:      split("x.inner", factor=3, tail="perfect") is refused
// AFTER-NEXT: legal

func.func @g(%A: memref<9x9xf32>) {
  loop.for serial "x" %x = 1 to 9 {
    loop.for serial "y" %y = 0 to 8 {
      %a = loop.load %A[%x - 1, %y + 1] : memref<9x9xf32>
      loop.store %a, %A[%x, %y] : memref<9x9xf32>
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// One line with the step's place and number, and no IR.

// CHECK-NOT: builtin.module
// CHECK: refused.mlir:16:3: step 2 of 3: reorder("g/x.inner", order=["y", "x.inner"]) is refused: the load of '%A' ({{.*}}refused.mlir:9:12) must come after the store to '%A' ({{.*}}refused.mlir:10:7): flow dependence through '%A' at distance ({{.*}}, 1, -1); iterations (x.outer=1, x.inner=1, y=1) and (x.outer=1, x.inner=2, y=0) would be swapped; skew
func.func @g(%A: memref<9x9xf32>) {
  loop.for serial "x" %x = 1 to 9 { loop.for serial "y" %y = 0 to 8 {
      %a = loop.load %A[%x - 1, %y + 1] : memref<9x9xf32>
      loop.store %a, %A[%x, %y] : memref<9x9xf32>
  } }
  func.return
}
schedule.script {
  schedule.split "g/x" factor = 4
  schedule.reorder "g/x.inner" order = ["y", "x.inner"]
  schedule.split "g/y" factor = 4
}

// -----

// CHECK: refused.mlir:28:3: step 1 of 1: split("h/j", factor=2): function 'h' has no loop 'j', expected one of its loops; they are 'i' ({{.*}}refused.mlir:23:1)
func.func @h(%A: memref<9xf32>) {
  loop.for serial "i" %i = 0 to 9 { }
  func.return
}
schedule.script {
  schedule.split "h/j" factor = 2
}

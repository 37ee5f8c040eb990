// RUN: stepwell-opt %s -p apply-schedule | filecheck %s
// RUN: echo 'schedule.script { schedule.split "f/j" factor = 4 tail = "perfect" }' > %t.mlir
// RUN: stepwell-opt %s -p "apply-schedule{file=%t.mlir}" | filecheck %s --check-prefix FILE

// The steps in the module, one after the other; the script is gone afterwards.
// CHECK:      func.func @f
// CHECK:        loop.for parallel "i.outer" %i_outer = 0 to 10 step 4
// CHECK-NEXT:     loop.for parallel "j" %j = 0 to 8
// CHECK-NEXT:       loop.for parallel "i.inner" %i = %i_outer to min(%i_outer + 4, 10)
// CHECK-NOT:  schedule.

// With a file, the script in the module stays.
// FILE:       loop.for parallel "j.outer" %j_outer = 0 to 8 step 4
// FILE:       schedule.script {
// FILE-NEXT:    schedule.split "f/i" factor = 4
// FILE-NEXT:    schedule.reorder "f/i.inner" order = ["j", "i.inner"]
// FILE-NEXT:  }

func.func @f(%A: memref<10x8xf32>) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 8 {
      loop.store %zero, %A[%i, %j] : memref<10x8xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.split "f/i" factor = 4
  schedule.reorder "f/i.inner" order = ["j", "i.inner"]
}

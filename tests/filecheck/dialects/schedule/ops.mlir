// RUN: stepwell-opt %s | filecheck %s
// RUN: stepwell-opt %s | stepwell-opt | filecheck %s

// CHECK:      schedule.script {
// CHECK-NEXT:   schedule.split "f/i" factor = 4 tail = "peel"
// CHECK-NEXT:   schedule.reorder "f/i.inner" order = ["j", "i.inner"]
// CHECK-NEXT:   schedule.tile "f/i" factors = [4, 8]
// CHECK-NEXT:   schedule.fuse_loops "f/i" other = "j" shift = -1
// CHECK-NEXT:   schedule.parallel "f/i"
// CHECK-NEXT:   schedule.stage "f/A" at = "i" scope = "register" order = [1, 0] pad = 8
// CHECK-NEXT:   schedule.pragma "f/i" key = "k"
// CHECK-NEXT:   schedule.simplify "f"
// CHECK-NEXT: }
// CHECK-NEXT: schedule.script {
// CHECK-NEXT: }
schedule.script {
  schedule.split "f/i" factor = 4 tail = "peel"
  schedule.reorder "f/i.inner" order = ["j", "i.inner"]
  schedule.tile "f/i" factors = [4, 8]
  schedule.fuse_loops "f/i" other = "j" shift = -1
  schedule.parallel "f/i" schedule.stage "f/A" at = "i" scope = "register" order = [1, 0] pad = 8
  schedule.pragma "f/i" key = "k"
  schedule.simplify "f"
}
schedule.script { }

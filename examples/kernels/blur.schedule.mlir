// Tiles of the result, and the rows each needs computed with it: ten for eight, on the stack.
schedule.script {
  schedule.tile "blur/i2" factors = [8, 16]
  schedule.compute_at "blur/rows" at = "j2.outer"
  schedule.set_scope "blur/rows" scope = "stack"
  schedule.vectorize "blur/j" width = 8 tail = "guard"
  schedule.vectorize "blur/j2.inner" width = 8 tail = "guard"
  schedule.parallel "blur/i2.outer"
}

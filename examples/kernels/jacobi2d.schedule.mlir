// Fusion with a shift: a row of B is copied back as soon as the next one has been computed, while it is
// still in a cache. The columns of both are parallel and become vector lanes.
schedule.script {
  schedule.fuse_loops "jacobi2d/i" other = "i2" shift = 1
  schedule.fuse_loops "jacobi2d/j" other = "j2"
  schedule.vectorize "jacobi2d/j" width = 4
  schedule.vectorize "jacobi2d/j.front" width = 4
  schedule.vectorize "jacobi2d/j2.back" width = 4
}

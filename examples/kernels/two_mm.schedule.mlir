// Rows of both products together: row i of the second needs only row i of the first, which is in a cache.
schedule.script {
  schedule.decompose_reduction "two_mm/T" at = "i"
  schedule.decompose_reduction "two_mm/D" at = "i2"
  schedule.fuse_loops "two_mm/i" other = "i2"
  // Consecutive elements innermost, in vector lanes; rows on threads.
  schedule.reorder "two_mm/j" order = ["k", "j"]
  schedule.reorder "two_mm/j2" order = ["k2", "j2"]
  schedule.vectorize "two_mm/j" width = 4
  schedule.vectorize "two_mm/j2" width = 4
  schedule.parallel "two_mm/i"
}

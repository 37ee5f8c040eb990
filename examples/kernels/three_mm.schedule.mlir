// Each product tiled for caches, consecutive elements innermost and in vector lanes; tiles of rows on
// threads.
schedule.script {
  schedule.decompose_reduction "three_mm/E" at = "i"
  schedule.decompose_reduction "three_mm/F" at = "i2"
  schedule.decompose_reduction "three_mm/G" at = "i3"
  schedule.reorder "three_mm/j" order = ["k", "j"]
  schedule.reorder "three_mm/j2" order = ["k2", "j2"]
  schedule.reorder "three_mm/j3" order = ["k3", "j3"]
  schedule.tile "three_mm/i" factors = [4, 4, 8]
  schedule.tile "three_mm/i2" factors = [4, 4, 8]
  schedule.tile "three_mm/i3" factors = [4, 4, 8]
  schedule.vectorize "three_mm/j.inner" width = 4 tail = "guard"
  schedule.vectorize "three_mm/j2.inner" width = 4 tail = "guard"
  schedule.vectorize "three_mm/j3.inner" width = 4 tail = "guard"
  schedule.parallel "three_mm/i.outer"
  schedule.parallel "three_mm/i2.outer"
  schedule.parallel "three_mm/i3.outer"
}

// Skewing, tiles, and waves of tiles. With i and j ahead by t no dependence points backwards in any
// loop, so tiles of 2 x 8 x 8 are legal: a point is updated twice while it is in a cache.
schedule.script {
  schedule.skew "gauss_seidel/i" by = "t"
  schedule.skew "gauss_seidel/j" by = "t"
  schedule.tile "gauss_seidel/t" factors = [2, 8, 8]
  // Loops over tiles that count by one, so that skewing them stays when they are interchanged.
  schedule.simplify "gauss_seidel"
  schedule.normalize "gauss_seidel"
  // Tiles on a diagonal do not depend on each other: they run on threads, diagonal after diagonal.
  schedule.skew "gauss_seidel/j.outer" by = "i.outer"
  schedule.reorder "gauss_seidel/i.outer" order = ["j.outer", "i.outer"]
  schedule.parallel "gauss_seidel/i.outer"
}

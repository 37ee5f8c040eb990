// k inside of the rows: an element of A is used for a whole row of the block, and the next one is
// its neighbour.
schedule.script {
  schedule.split "gemm/i" factor = 32 outer = "io" inner = "ii"
  schedule.split "gemm/j" factor = 32 outer = "jo" inner = "ji"
  schedule.split "gemm/k" factor = 4 outer = "ko" inner = "ki"
  schedule.reorder "gemm/io" order = ["io", "jo", "ko", "ii", "ki", "ji"]
  schedule.vectorize "gemm/ji" width = 16
}

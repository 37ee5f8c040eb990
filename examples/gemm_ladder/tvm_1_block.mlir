// Blocks of 32 x 32 of C, and 4 steps of k in each: what a block touches stays in the first-level
// cache.
schedule.script {
  schedule.split "gemm/i" factor = 32 outer = "io" inner = "ii"
  schedule.split "gemm/j" factor = 32 outer = "jo" inner = "ji"
  schedule.split "gemm/k" factor = 4 outer = "ko" inner = "ki"
  schedule.reorder "gemm/io" order = ["io", "jo", "ko", "ki", "ii", "ji"]
}

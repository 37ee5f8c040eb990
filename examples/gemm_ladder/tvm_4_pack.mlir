// B once, at the start, in panels as wide as a block: each block reads it from one end to the other.
// `stage` needs a loop to do it in, hence the one of a single iteration.
schedule.script {
  schedule.split "gemm/i" factor = 8192 outer = "once" inner = "i"
  schedule.split "gemm/i" factor = 32 outer = "io" inner = "ii"
  schedule.split "gemm/j" factor = 32 outer = "jo" inner = "ji"
  schedule.split "gemm/k" factor = 4 outer = "ko" inner = "ki"
  schedule.reorder "gemm/io" order = ["io", "jo", "ko", "ii", "ki", "ji"]
  schedule.stage "gemm/B" at = "once" into = "B.packed" scope = "arena" panel = 32
  schedule.simplify "gemm"
  schedule.normalize "gemm"
  schedule.vectorize "gemm/ji" width = 16
}

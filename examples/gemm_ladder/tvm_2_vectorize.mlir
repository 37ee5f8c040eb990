// The innermost loop in vectors.
schedule.script {
  schedule.split "gemm/i" factor = 32 outer = "io" inner = "ii"
  schedule.split "gemm/j" factor = 32 outer = "jo" inner = "ji"
  schedule.split "gemm/k" factor = 4 outer = "ko" inner = "ki"
  schedule.reorder "gemm/io" order = ["io", "jo", "ko", "ki", "ii", "ji"]
  schedule.vectorize "gemm/ji" width = 16
}

// Rows of blocks on all cores.
schedule.script {
  schedule.split "gemm/i" factor = 8192 outer = "once" inner = "i"
  schedule.split "gemm/i" factor = 32 outer = "io" inner = "ii"
  schedule.split "gemm/j" factor = 32 outer = "jo" inner = "ji"
  schedule.split "gemm/k" factor = 4 outer = "ko" inner = "ki"
  schedule.reorder "gemm/io" order = ["io", "jo", "ko", "ii", "ki", "ji"]
  schedule.stage "gemm/B" at = "once" into = "B.packed" scope = "arena" panel = 32
  schedule.stage "gemm/C" at = "jo" into = "C.cache" pad = 32
  schedule.split "gemm/ji" factor = 32 inner = "ji" tail = "pad"
  schedule.parallel "gemm/io"
  schedule.simplify "gemm"
  schedule.normalize "gemm"
  schedule.vectorize "gemm/ji" width = 16
  schedule.unroll "gemm/ki" factor = 4
}

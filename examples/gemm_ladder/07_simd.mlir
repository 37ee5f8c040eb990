// The four columns become four rows of two vectors: 8 sums of 16 lanes, as many as two units of
// latency 4 need. A column of vectors is loaded once for four rows, whose elements are broadcast.
schedule.script {
  schedule.split "gemm/j" factor = 32 inner = "jj" tail = "peel"
  schedule.reorder "gemm/j.outer" order = ["j.outer", "k", "jj"]
  schedule.vectorize "gemm/jj" width = 16 tail = "perfect"
  schedule.unroll "gemm/jj.outer"
  schedule.unroll_and_jam "gemm/i" factor = 4
  schedule.stage "gemm/C" at = "j.outer" scope = "register"
  schedule.vectorize "gemm/C.staged.in1" width = 16 tail = "perfect"
  schedule.unroll "gemm/C.staged.in1.outer"
  schedule.unroll "gemm/C.staged.in0"
  schedule.vectorize "gemm/C.staged.out1" width = 16 tail = "perfect"
  schedule.unroll "gemm/C.staged.out1.outer"
  schedule.unroll "gemm/C.staged.out0"
  schedule.unroll "gemm/k" factor = 4
}

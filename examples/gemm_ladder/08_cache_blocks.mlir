// The same in blocks: 256 x 256 elements of B stay in the second-level cache while 64 rows of A pass,
// and so do the rows of A in the first.
schedule.script {
  schedule.split "gemm/i" factor = 64 outer = "ic" inner = "i"
  schedule.split "gemm/j" factor = 256 outer = "jc" inner = "j"
  schedule.split "gemm/k" factor = 256 outer = "pc" inner = "k"
  schedule.reorder "gemm/ic" order = ["jc", "pc", "ic", "i", "j", "k"]
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

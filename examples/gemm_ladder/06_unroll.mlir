// Four steps of k in a row: a quarter of the counting and testing.
schedule.script {
  schedule.unroll_and_jam "gemm/j" factor = 4
  schedule.unroll_and_jam "gemm/i" factor = 4
  schedule.stage "gemm/C" at = "j" scope = "register"
  schedule.unroll "gemm/C.staged.in1"
  schedule.unroll "gemm/C.staged.in0"
  schedule.unroll "gemm/C.staged.out1"
  schedule.unroll "gemm/C.staged.out0"
  schedule.unroll "gemm/k" factor = 4
}

// The 16 sums are kept in registers while k runs: C is loaded and stored once for each block.
// The loops that copy are written out, so that each register has a number.
schedule.script {
  schedule.unroll_and_jam "gemm/j" factor = 4
  schedule.unroll_and_jam "gemm/i" factor = 4
  schedule.stage "gemm/C" at = "j" scope = "register"
  schedule.unroll "gemm/C.staged.in1"
  schedule.unroll "gemm/C.staged.in0"
  schedule.unroll "gemm/C.staged.out1"
  schedule.unroll "gemm/C.staged.out0"
}

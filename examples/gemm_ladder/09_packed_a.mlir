// A block of A is copied so that the six elements needed at a time stand side by side, in the order
// they are needed. Six rows of two vectors are 12 sums: with B and A that fills 16 registers.
schedule.script {
  schedule.split "gemm/i" factor = 96 outer = "ic" inner = "i"
  schedule.split "gemm/j" factor = 256 outer = "jc" inner = "j"
  schedule.split "gemm/k" factor = 256 outer = "pc" inner = "k"
  schedule.reorder "gemm/ic" order = ["jc", "pc", "ic", "i", "j", "k"]
  schedule.stage "gemm/A" at = "ic" into = "A.packed" order = [1, 0] panel = 6
  schedule.split "gemm/j" factor = 32 outer = "jr" inner = "j" tail = "peel"
  schedule.reorder "gemm/jr" order = ["jr", "k", "j"]
  schedule.unroll_and_jam "gemm/i" factor = 6
  schedule.stage "gemm/C" at = "jr" into = "tile" scope = "register"
  schedule.simplify "gemm"
  schedule.normalize "gemm"
  schedule.vectorize "gemm/tile.in1" width = 16 tail = "perfect"
  schedule.vectorize "gemm/tile.out1" width = 16 tail = "perfect"
  schedule.vectorize "gemm/j" width = 16 tail = "perfect"
  schedule.unroll "gemm/tile.in1.outer"
  schedule.unroll "gemm/tile.in0"
  schedule.unroll "gemm/tile.out1.outer"
  schedule.unroll "gemm/tile.out0"
  schedule.unroll "gemm/j.outer"
  schedule.unroll "gemm/k" factor = 4
}

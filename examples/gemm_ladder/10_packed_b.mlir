// B is packed too, in panels of two vectors padded with zeros: every tile is a whole one, and a panel
// stays in the first-level cache while all of A's block passes (Goto and van de Geijn, 2008).
schedule.script {
  schedule.split "gemm/i" factor = 96 outer = "ic" inner = "i"
  schedule.split "gemm/j" factor = 1024 outer = "jc" inner = "j"
  schedule.split "gemm/k" factor = 256 outer = "pc" inner = "k"
  schedule.split "gemm/i" factor = 6 outer = "ir" inner = "i"
  schedule.split "gemm/j" factor = 32 outer = "jr" inner = "j"
  schedule.reorder "gemm/ic" order = ["jc", "pc", "ic", "jr", "ir", "k", "i", "j"]
  schedule.stage "gemm/B" at = "pc" into = "B.packed" scope = "arena" panel = 32 pad = 32
  schedule.stage "gemm/A" at = "ic" into = "A.packed" order = [1, 0] panel = 6
  schedule.stage "gemm/C" at = "ir" into = "tile" scope = "register" pad = 32
  schedule.split "gemm/i" factor = 6 inner = "i" tail = "pad"
  schedule.split "gemm/j" factor = 32 inner = "j" tail = "pad"
  schedule.split "gemm/B.packed.in1" factor = 16 inner = "packing" tail = "perfect"
  schedule.vectorize "gemm/tile.in1" width = 16 tail = "perfect"
  schedule.vectorize "gemm/tile.out1" width = 16 tail = "guard"
  schedule.unroll "gemm/tile.in1.outer"
  schedule.unroll "gemm/tile.out1.outer" factor = 2 tail = "guard"
  schedule.unroll "gemm/tile.in0"
  schedule.unroll "gemm/tile.out0" factor = 6 tail = "guard"
  schedule.simplify "gemm"
  schedule.normalize "gemm"
  schedule.vectorize "gemm/packing"
  schedule.vectorize "gemm/j" width = 16 tail = "perfect"
  schedule.unroll "gemm/j.outer"
  schedule.unroll "gemm/i"
  schedule.unroll "gemm/k" factor = 4
}

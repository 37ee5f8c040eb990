// The loops change places: a block of B stays in the second-level cache, and nine rows of A at a time, not
// packed, go through all of its panels from the first. All of k is one block, so that C is read and written
// once, and the tile of C that comes next is prefetched. Nine rows of three vectors are 27 sums: with B and A
// they fill 32 registers. The last rows are copied and padded, so that their tile is a whole one too.
schedule.script {
  schedule.split "gemm/i" factor = 9 outer = "ir" inner = "i"
  schedule.split "gemm/j" factor = 144 outer = "jc" inner = "j"
  schedule.split "gemm/k" factor = 1024 outer = "pc" inner = "k"
  schedule.split "gemm/j" factor = 48 outer = "jr" inner = "j"
  schedule.reorder "gemm/ir" order = ["jc", "pc", "ir", "jr", "k", "i", "j"]
  schedule.stage "gemm/B" at = "pc" into = "B.packed" scope = "arena" panel = 48 pad = 48
  schedule.split "gemm/B.packed.in1" factor = 48 outer = "panel" inner = "packing" tail = "perfect"
  schedule.peel "gemm/ir" back = 1
  schedule.stage "gemm/A" at = "jr.back" into = "A.last" scope = "arena" pads = [9, 1]
  schedule.stage "gemm/C" at = "jr" into = "tile" scope = "register" pads = [9, 48]
  schedule.stage "gemm/C" at = "jr.back" into = "last" scope = "register" pads = [9, 48]
  schedule.prefetch "gemm/C" at = "jr"
  schedule.split "gemm/j" factor = 48 inner = "j" tail = "pad"
  schedule.split "gemm/j.back" factor = 48 inner = "j.back" tail = "pad"
  schedule.split "gemm/i.back" factor = 9 inner = "i.back" tail = "pad"
  schedule.vectorize "gemm/tile.in1"
  schedule.vectorize "gemm/j"
  schedule.vectorize "gemm/tile.out1" width = 16 tail = "guard"
  schedule.unroll "gemm/tile.out1.outer" factor = 3 tail = "guard"
  schedule.vectorize "gemm/last.in1"
  schedule.vectorize "gemm/j.back"
  schedule.vectorize "gemm/last.out1" width = 16 tail = "guard"
  schedule.unroll "gemm/last.out1.outer" factor = 3 tail = "guard"
  schedule.vectorize "gemm/packing"
  schedule.unroll "gemm/tile.in0"
  schedule.unroll "gemm/i"
  schedule.unroll "gemm/tile.out0"
  schedule.unroll "gemm/last.in0"
  schedule.unroll "gemm/i.back"
  schedule.unroll "gemm/last.out0" factor = 9 tail = "guard"
  schedule.simplify "gemm"
  schedule.normalize "gemm"
}

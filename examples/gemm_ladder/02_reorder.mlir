// The loop over columns innermost: rows of B and C are read one element after the other, and LLVM
// makes vectors of them by itself. C goes through the cache once for each k.
schedule.script {
  schedule.reorder "gemm/i" order = ["i", "k", "j"]
}

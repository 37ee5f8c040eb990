// One row of the whole chain at a time: the products between are a row each, on the stack of a thread.
schedule.script {
  schedule.compute_at "matmul_chain/U" at = "i3"
  schedule.compute_at "matmul_chain/T" at = "i3"
  schedule.set_scope "matmul_chain/U" scope = "stack"
  schedule.set_scope "matmul_chain/T" scope = "stack"
  schedule.simplify "matmul_chain"
  schedule.normalize "matmul_chain"
  // Consecutive elements innermost, in vector lanes, in the last product.
  schedule.decompose_reduction "matmul_chain/E" at = "j3"
  schedule.reorder "matmul_chain/j3" order = ["k3", "j3"]
  schedule.vectorize "matmul_chain/j3" width = 4
  schedule.parallel "matmul_chain/i3"
}

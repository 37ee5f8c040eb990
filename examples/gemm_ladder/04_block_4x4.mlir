// Four rows as well: 8 loads for 16 products instead of 32. But the sums are still kept in C, which
// is stored to after each product.
schedule.script {
  schedule.unroll_and_jam "gemm/j" factor = 4
  schedule.unroll_and_jam "gemm/i" factor = 4
}

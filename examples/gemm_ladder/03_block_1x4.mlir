// Four elements of a row of C at a time: an element of A is loaded once for four products, and four
// sums that do not wait for each other go on together.
schedule.script {
  schedule.unroll_and_jam "gemm/j" factor = 4
}

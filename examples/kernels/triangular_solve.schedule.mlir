// Blocks of eight rows: first what all earlier unknowns take from them, four rows at a time with one load
// of x[j] for all, then the small triangle on the diagonal.
schedule.script {
  schedule.split "triangular_solve/i" factor = 8 tail = "peel"
  schedule.index_set_split "triangular_solve/j" at = "i.outer"
  schedule.fission "triangular_solve/i.inner" after = "j"
  schedule.simplify "triangular_solve"
  schedule.normalize "triangular_solve"
  schedule.unroll_and_jam "triangular_solve/i.inner" factor = 4 tail = "perfect"
}

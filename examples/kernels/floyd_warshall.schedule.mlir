// Rows before and after row k read that row and do not write it, and the same goes for columns: cut there
// the loops inside are parallel.
schedule.script {
  schedule.index_set_split "floyd_warshall/j" at = "k"
  schedule.peel "floyd_warshall/j.rest" front = 1
  schedule.index_set_split "floyd_warshall/i" at = "k"
  schedule.peel "floyd_warshall/i.rest" front = 1
  schedule.simplify "floyd_warshall"
  schedule.normalize "floyd_warshall"
  schedule.vectorize "floyd_warshall/j" width = 4
  schedule.vectorize "floyd_warshall/j.rest" width = 4
  schedule.vectorize "floyd_warshall/j.rest_1" width = 4
  schedule.vectorize "floyd_warshall/j.rest.rest" width = 4
  schedule.parallel "floyd_warshall/i"
  schedule.parallel "floyd_warshall/i.rest"
}

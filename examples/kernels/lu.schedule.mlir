// The rows of the trailing matrix on threads, and its columns in vector lanes.
schedule.script {
  schedule.parallel "lu/i2"
  schedule.vectorize "lu/j2" width = 4
}

// As the kernel stands: an inner product for each element of C. B is read down its columns,
// a cache line for each element, and each addition waits for the one before it.
schedule.script {
}

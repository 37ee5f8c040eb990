// The sums start at zero in a nest of their own, so that the columns of the image can be innermost: they
// are consecutive, and four make a vector. The filter's row is written out.
schedule.script {
  schedule.decompose_reduction "convolution/y" at = "n"
  schedule.reorder "convolution/n" order = ["n", "f", "i", "c", "u", "j", "v"]
  schedule.unroll "convolution/v"
  schedule.vectorize "convolution/j" width = 4
  // Images and filters on threads, as one loop.
  schedule.fuse "convolution/n" inner = "f"
  schedule.parallel "convolution/n.f"
}

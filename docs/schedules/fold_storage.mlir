// Good for sliding windows: `peel` the producer's first iterations, `normalize` and `fuse_loops` it
// with the consumer, as is done here already. Each iteration then makes one new row and reads the
// last few, which never leave the nearest cache, and nothing is computed twice, as it would be after
// `compute_at`.
func.func @f(%A: memref<18xf32>, %C: memref<16xf32> {stepwell.result}) {
  %T = loop.alloc arena : memref<17xf32>
  loop.for parallel "i.front" %i = 0 to 1 {
    %a = loop.load %A[%i] : memref<18xf32>
    %b = loop.load %A[%i + 1] : memref<18xf32>
    %s = arith.addf %a, %b : f32
    loop.store %s, %T[%i] : memref<17xf32>
  }
  loop.for serial "i" %i = 0 to 16 {
    %a = loop.load %A[%i + 1] : memref<18xf32>
    %b = loop.load %A[%i + 2] : memref<18xf32>
    %s = arith.addf %a, %b : f32
    loop.store %s, %T[%i + 1] : memref<17xf32>
    %t = loop.load %T[%i] : memref<17xf32>
    %u = loop.load %T[%i + 1] : memref<17xf32>
    %v = arith.mulf %t, %u : f32
    loop.store %v, %C[%i] : memref<16xf32>
  }
  func.return
}
schedule.script {
  schedule.fold_storage "f/T" axis = 0 factor = 2
}

// Good for rows that would fall into the same cache sets, or that should begin at a vector's
// boundary.
func.func @f(%A: memref<8x16xf32>, %C: memref<8x16xf32> {stepwell.result}) {
  %T = loop.alloc arena : memref<8x16xf32>
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "j" %j = 0 to 16 {
      %a = loop.load %A[%i, %j] : memref<8x16xf32>
      %e = math.exp %a : f32
      loop.store %e, %T[%i, %j] : memref<8x16xf32>
    }
  }
  loop.for parallel "i2" %i = 0 to 8 {
    loop.for parallel "j2" %j = 0 to 16 {
      %t = loop.load %T[%i, %j] : memref<8x16xf32>
      %s = arith.addf %t, %t : f32
      loop.store %s, %C[%i, %j] : memref<8x16xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.storage_align "f/T" axis = 1 factor = 16 offset = 1
}

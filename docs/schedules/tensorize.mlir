// Good for micro-kernels written by hand or by another tool.
func.func private @axpy4(%a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>) {
  loop.for parallel "l" %l = 0 to 4 {
    %x = loop.load %a[%l] : memref<4xf32, strided<[1], offset: ?>>
    %y = loop.load %b[%l] : memref<4xf32, strided<[1], offset: ?>>
    %s = arith.addf %x, %y : f32
    loop.store %s, %b[%l] : memref<4xf32, strided<[1], offset: ?>>
  }
  func.return
}
func.func @f(%A: memref<16xf32>, %B: memref<16xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i.outer" %o = 0 to 16 step 4 {
    loop.for parallel "i.inner" %i = %o to %o + 4 {
      %x = loop.load %A[%i] : memref<16xf32>
      %y = loop.load %B[%i] : memref<16xf32>
      %s = arith.addf %x, %y : f32
      loop.store %s, %B[%i] : memref<16xf32>
    }
  }
  func.return
}
schedule.script {
  schedule.tensorize "f/i.inner" kernel = "axpy4"
}

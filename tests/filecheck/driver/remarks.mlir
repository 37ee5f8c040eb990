// RUN: stepwell-opt %s --remarks -p "loop-auto-parallelize{grain=100}" 2>&1 >/dev/null | filecheck %s

// CHECK: remarks.mlir:7:3: remark: loop-auto-parallelize: loop 'i' not on threads: 8 iterations, 16 loads and stores, expected at least 2 and 100
// CHECK: remarks.mlir:11:3: remark: loop-auto-parallelize: parallel(f/j): the outermost parallel loop, 64 iterations, 128 loads and stores

func.func @f(%A: memref<64xf32>, %B: memref<64xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 8 {
    %a = loop.load %A[%i] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  loop.for parallel "j" %j = 0 to 64 {
    %a = loop.load %A[%j] : memref<64xf32>
    loop.store %a, %B[%j] : memref<64xf32>
  }
  func.return
}

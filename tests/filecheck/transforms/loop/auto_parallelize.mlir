// RUN: stepwell-opt %s -p "loop-auto-parallelize{grain=1000}" | filecheck %s

// CHECK:      stepwell.chosen = ["parallel(scale/j): the outermost parallel loop, 40 iterations, 3200 loads and stores"]
// The outer loop carries a dependence; the one inside of it does not.
// CHECK:        loop.for serial "t"
// CHECK-NEXT:     loop.for parallel threads "j"
// CHECK-NEXT:       loop.for parallel "k"
// Too little work for threads.
// CHECK:        loop.for parallel "small"
// CHECK:        func.return
func.func @scale(%A: memref<40x40xf32>, %B: memref<40xf32>) attributes {stepwell.noalias} {
  loop.for serial "t" %t = 0 to 5 {
    loop.for parallel "j" %j = 0 to 40 {
      loop.for parallel "k" %k = 0 to 40 {
        %a = loop.load %A[%j, %k] : memref<40x40xf32>
        %s = arith.addf %a, %a : f32
        loop.store %s, %A[%j, %k] : memref<40x40xf32>
      }
    }
  }
  loop.for parallel "small" %i = 0 to 40 {
    %b = loop.load %B[%i] : memref<40xf32>
    %s = arith.addf %b, %b : f32
    loop.store %s, %B[%i] : memref<40xf32>
  }
  func.return
}

// A reduction is not run by threads: each would lose the others' updates.
// CHECK:      func.func @sum(%A: memref<4000xf32>, %B: memref<1xf32>) attributes {stepwell.noalias} {
// CHECK-NEXT:   loop.for reduction "i"
func.func @sum(%A: memref<4000xf32>, %B: memref<1xf32>) attributes {stepwell.noalias} {
  loop.for reduction "i" %i = 0 to 4000 {
    %a = loop.load %A[%i] : memref<4000xf32>
    %b = loop.load %B[0] : memref<1xf32>
    %s = arith.addf %b, %a fastmath<reassoc> : f32
    loop.store %s, %B[0] : memref<1xf32>
  }
  func.return
}

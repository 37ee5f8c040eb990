// RUN: stepwell-opt %s -p loop-auto-interchange | filecheck %s

// The loop over consecutive elements of B and C becomes the innermost one.
// CHECK:      func.func @mm({{.*}}) attributes {{.*}}stepwell.chosen = ["reorder(mm/i, order=[i, k, j]): {{[0-9]+}} cache lines with 'j' innermost, {{[0-9]+}} with 'k'"]}
// CHECK-NEXT:   loop.for parallel "i"
// CHECK-NEXT:     loop.for reduction "k"
// CHECK-NEXT:       loop.for parallel "j"
func.func @mm(%A: memref<64x64xf32>, %B: memref<64x64xf32>, %C: memref<64x64xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 64 {
    loop.for parallel "j" %j = 0 to 64 {
      loop.for reduction "k" %k = 0 to 64 {
        %a = loop.load %A[%i, %k] : memref<64x64xf32>
        %b = loop.load %B[%k, %j] : memref<64x64xf32>
        %c = loop.load %C[%i, %j] : memref<64x64xf32>
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p fastmath<reassoc> : f32
        loop.store %s, %C[%i, %j] : memref<64x64xf32>
      }
    }
  }
  func.return
}

// Already in the best order: nothing is done, nothing is noted.
// CHECK:      func.func @copy(%A: memref<64x64xf32>, %B: memref<64x64xf32>) {
// CHECK-NEXT:   loop.for parallel "i"
// CHECK-NEXT:     loop.for parallel "j"
func.func @copy(%A: memref<64x64xf32>, %B: memref<64x64xf32>) {
  loop.for parallel "i" %i = 0 to 64 {
    loop.for parallel "j" %j = 0 to 64 {
      %a = loop.load %A[%i, %j] : memref<64x64xf32>
      loop.store %a, %B[%i, %j] : memref<64x64xf32>
    }
  }
  func.return
}

// Columns first would be better the other way round, but that is not legal.
// CHECK:      func.func @shift(%A: memref<64x64xf32>) {
// CHECK-NEXT:   loop.for serial "j"
// CHECK-NEXT:     loop.for serial "i"
func.func @shift(%A: memref<64x64xf32>) {
  loop.for serial "j" %j = 1 to 64 {
    loop.for serial "i" %i = 0 to 63 {
      %a = loop.load %A[%i + 1, %j - 1] : memref<64x64xf32>
      loop.store %a, %A[%i, %j] : memref<64x64xf32>
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-nontemporal{buffer=f/B}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-nontemporal{buffer=f/B}' | stepwell-opt -p 'loop-simplify{function=f}' | filecheck %s
// RUN: not stepwell-opt %s -p 'loop-nontemporal{buffer=f/A}' 2>&1 | filecheck %s --check-prefix READ
// RUN: not stepwell-opt %s -p 'loop-nontemporal{buffer=f/T}' 2>&1 | filecheck %s --check-prefix NEAR

// CHECK-LABEL: func.func private @f
// CHECK:         loop.store %a, %T[0] : memref<1xf32>
// CHECK:         loop.store %t, %B[%i] {nontemporal} : memref<64xf32>
// READ: error: {{.*}}nontemporal("f/A") is refused: nothing is stored to '%A'; choose a buffer that is written
// NEAR: error: {{.*}}nontemporal("f/T") is refused: '%T' has scope 'register', and is to stay near; choose a buffer in memory
func.func private @f(%A: memref<64xf32>, %B: memref<64xf32>) {
  loop.for parallel "i" %i = 0 to 64 {
    %T = loop.alloc register : memref<1xf32>
    %a = loop.load %A[%i] : memref<64xf32>
    loop.store %a, %T[0] : memref<1xf32>
    %t = loop.load %T[0] : memref<1xf32>
    loop.store %t, %B[%i] : memref<64xf32>
  }
  func.return
}

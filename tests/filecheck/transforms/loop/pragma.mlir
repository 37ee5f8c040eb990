// RUN: stepwell-opt %s -p 'loop-pragma{loop=f/i key=unroll value="4"}' | filecheck %s --check-prefix CHECK
// RUN: stepwell-opt %s -p 'loop-pragma{loop=f/i key=hot}' | filecheck %s --check-prefix MARK
// RUN: not stepwell-opt %s -p 'loop-pragma{loop=f/i key="a b"}' 2>&1 | filecheck %s --check-prefix KEY

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   loop.for parallel "i" %i = 0 to 8 attributes {stepwell.pragma.unroll = "4"} {
// CHECK-NEXT:     loop.store %v, %A[%i]
// CHECK-NEXT:   }
// MARK-LABEL: func.func private @f
// MARK-NEXT:   loop.for parallel "i" %i = 0 to 8 attributes {stepwell.pragma.hot} {
// MARK-NEXT:     loop.store %v, %A[%i]
// MARK-NEXT:   }
// KEY: error: {{.*}}pragma("f/i", key="a b") is refused: key is 'a b', expected letters, digits, '.', '_' or '$', a letter or '_' first
func.func private @f(%A: memref<64xf32>, %v: f32) {
  loop.for parallel "i" %i = 0 to 8 {
    loop.store %v, %A[%i] : memref<64xf32>
  }
  func.return
}

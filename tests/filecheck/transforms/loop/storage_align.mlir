// RUN: stepwell-opt %s -p 'loop-storage-align{buffer=f/T axis=1 factor=16 offset=1}' | filecheck %s --check-prefix CHECK
// RUN: stepwell-opt %s -p 'loop-storage-align{buffer=f/S axis=1 factor=64 offset=8}' | filecheck %s --check-prefix STRIDE
// RUN: not stepwell-opt %s -p 'loop-storage-align{buffer=f/S axis=1 factor=64 offset=7}' 2>&1 | filecheck %s --check-prefix NEVER
// RUN: not stepwell-opt %s -p 'loop-storage-align{buffer=f/U axis=1 factor=16}' 2>&1 | filecheck %s --check-prefix CALL
// RUN: not stepwell-opt %s -p 'loop-storage-align{buffer=f/A axis=1 factor=16}' 2>&1 | filecheck %s --check-prefix ARGUMENT
// RUN: not stepwell-opt %s -p 'loop-storage-align{buffer=f/T axis=0 factor=16}' 2>&1 | filecheck %s --check-prefix AXIS

func.func private @use(%T: memref<8x64xf32>)

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   %T = loop.alloc stack
// CHECK-NEXT:   %U = loop.alloc stack
// CHECK-NEXT:   %S = loop.alloc stack
// CHECK-NEXT:   loop.for parallel "i" %i = 0 to 8 {
// CHECK-NEXT:     loop.store %v, %T[%i, 3]
// CHECK-NEXT:     %t = loop.load %T[%i, 3]
// CHECK-NEXT:     loop.store %t, %A[%i, 0]
// CHECK-NEXT:   }
// 108 rows of 6 are 648 elements, which is 8 modulo 64.
// STRIDE-LABEL: func.func private @f
// STRIDE:        %S = loop.alloc stack
// NEVER: error: {{.*}}storage_align("f/S", axis=1, factor=64, offset=7) is refused: the stride is a multiple of 6 elements, which is never 7 modulo 64; choose another offset, or pad an axis further inside first
// CALL: error: {{.*}}storage_align("f/U", axis=1, factor=16) is refused: 'func.call' uses '%U' as a whole, so its layout must stay; pad before making views of it
// ARGUMENT: error: {{.*}}storage_align("f/A", axis=1, factor=16) is refused: '%A' is not a scratch buffer of this function, so its layout is not ours to choose; stage it first
// AXIS: error: {{.*}}storage_align("f/T", axis=0, factor=16) is refused: axis is 0, expected 1 to 1: padding it must move the next axis before it, and '%T' has 2
func.func private @f(%A: memref<8x64xf32>, %v: f32) {
  %T = loop.alloc stack : memref<8x64xf32>
  %U = loop.alloc stack : memref<8x64xf32>
  %S = loop.alloc stack : memref<8x64x6xf32>
  loop.for parallel "i" %i = 0 to 8 {
    loop.store %v, %T[%i, 3] : memref<8x64xf32>
    %t = loop.load %T[%i, 3] : memref<8x64xf32>
    loop.store %t, %A[%i, 0] : memref<8x64xf32>
  }
  func.call @use(%U) : (memref<8x64xf32>) -> ()
  func.return
}

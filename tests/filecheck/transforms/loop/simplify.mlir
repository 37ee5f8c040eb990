// RUN: stepwell-opt %s -p 'loop-simplify{function=f}' | filecheck %s --check-prefix CHECK

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   loop.for parallel "i" %i = 4 to 8 {
// CHECK-NEXT:     loop.store %v, %A[%i]
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.for parallel "o" %o = 0 to 16 step 4 {
// CHECK-NEXT:     loop.for parallel "p" %p = max(%o, 3) to min(%o + 4, %n + 1) {
// CHECK-NEXT:       loop.store %v, %A[%p]
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   loop.store %v, %A[%n + 1]
// CHECK-NEXT:   loop.for parallel "z" %z = 0 to 9 {
// CHECK-NEXT:     loop.if (%z - %n >= 0) {
// CHECK-NEXT:       loop.store %v, %A[%z]
// CHECK-NEXT:       loop.store %v, %B[%z]
// CHECK-NEXT:     }
// CHECK-NEXT:     loop.store %v, %B[%z + 9]
// CHECK-NEXT:   }
func.func private @f(%A: memref<64xf32>, %B: memref<64xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = max(0, 4) to min(8, 16) {
    loop.if (%i >= 0) {
      loop.store %v, %A[%i] : memref<64xf32>
    }
  }
  loop.for parallel "o" %o = 0 to 16 step 4 {
    loop.for parallel "p" %p = %o to min(%o + 4, 16) {
      loop.if (%p - 3 >= 0, %p - 20 <= 0) {
        loop.if (%n - %p >= 0) {
          loop.store %v, %A[%p] : memref<64xf32>
        }
      }
    }
  }
  loop.for parallel "one" %x = %n to %n + 1 {
    loop.store %v, %A[%x + 1] : memref<64xf32>
  }
  loop.for parallel "none" %y = 5 to 5 {
    loop.store %v, %A[%y + 1] : memref<64xf32>
  }
  loop.for parallel "z" %z = 0 to 9 {
    loop.if (%z - %n >= 0) {
      loop.store %v, %A[%z] : memref<64xf32>
    }
    loop.if (%z - %n >= 0) {
      loop.store %v, %B[%z] : memref<64xf32>
    }
    loop.if (%z + 1 <= 0) {
      loop.store %v, %B[%z] : memref<64xf32>
    } else {
      loop.store %v, %B[%z + 9] : memref<64xf32>
    }
  }
  func.return
}

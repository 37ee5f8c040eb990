// RUN: stepwell-opt %s -p 'loop-reverse{loop=f/i}' | filecheck %s --check-prefix CHECK
// RUN: stepwell-opt %s -p 'loop-reverse{loop=f/s}' | filecheck %s --check-prefix STEPS
// RUN: stepwell-opt %s -p 'loop-reverse{loop=f/m}' | filecheck %s --check-prefix MANY
// RUN: not stepwell-opt %s -p 'loop-reverse{loop=carried/i}' 2>&1 | filecheck %s --check-prefix CARRIED
// RUN: not stepwell-opt %s -p 'loop-reverse{loop=starts/i}' 2>&1 | filecheck %s --check-prefix STARTS

// CHECK-LABEL: func.func private @f
// CHECK-NEXT:   loop.for parallel "i" %i = 0 to %n {
// CHECK-NEXT:     loop.store %v, %A[-%i + %n - 1]
// CHECK-NEXT:   }
// 2, 5, 8, 11 becomes 11, 8, 5, 2.
// STEPS-LABEL: func.func private @f
// STEPS:        loop.for parallel "s" %s = 2 to 13 step 3 {
// STEPS-NEXT:     loop.store %v, %A[-%s + 13]
// STEPS-NEXT:   }
// The last iteration of the first is no affine expression: the loop counts up to 0.
// MANY-LABEL: func.func private @f
// MANY:        loop.for parallel "m" %m = max(-%n - 3, -12) to min(1, -%n + 1) {
// MANY-NEXT:     loop.store %v, %A[-%m]
// MANY-NEXT:   }
func.func private @f(%A: memref<64xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to %n {
    loop.store %v, %A[%i] : memref<64xf32>
  }
  loop.for parallel "s" %s = 2 to 13 step 3 {
    loop.store %v, %A[%s] : memref<64xf32>
  }
  loop.for parallel "m" %m = max(0, %n) to min(%n + 4, 13) {
    loop.store %v, %A[%m] : memref<64xf32>
  }
  func.return
}

// CARRIED: error: {{.*}}reverse("carried/i") is refused: the load of '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): flow dependence through '%A' at distance (1); iterations (i=1) and (i=2) would be swapped; leave the direction of 'i', or reverse a loop that carries no dependence
func.func private @carried(%A: memref<9xf32>) {
  loop.for serial "i" %i = 1 to 9 {
    %a = loop.load %A[%i - 1] : memref<9xf32>
    loop.store %a, %A[%i] : memref<9xf32>
  }
  func.return
}

// STARTS: error: {{.*}}reverse("starts/i") is refused: loop 'i' starts at a maximum of several expressions and has a step other than 1, so its last iteration is no affine expression; simplify or index_set_split it first
func.func private @starts(%A: memref<99xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = max(0, %n) to 99 step 4 {
    loop.store %v, %A[%i] : memref<99xf32>
  }
  func.return
}

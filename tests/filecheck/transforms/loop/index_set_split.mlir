// RUN: stepwell-opt %s -p 'loop-index-set-split{loop=f/j at=i}' | filecheck %s --check-prefix POINT
// RUN: stepwell-opt %s -p 'loop-index-set-split{loop=f/j at="j - i >= 0"}' | filecheck %s --check-prefix HOLDS
// RUN: stepwell-opt %s -p 'loop-index-set-split{loop=f/j at="2*j == n"}' | filecheck %s --check-prefix EQUAL
// RUN: stepwell-opt %s -p 'loop-index-set-split{loop=f/s at=n}' | filecheck %s --check-prefix STEPS
// RUN: not stepwell-opt %s -p 'loop-index-set-split{loop=f/i at=j}' 2>&1 | filecheck %s --check-prefix INNER
// RUN: not stepwell-opt %s -p 'loop-index-set-split{loop=f/i at="i + 1"}' 2>&1 | filecheck %s --check-prefix OWN
// RUN: not stepwell-opt %s -p 'loop-index-set-split{loop=f/i at="4 +"}' 2>&1 | filecheck %s --check-prefix TEXT

// POINT-LABEL: func.func private @f
// POINT-NEXT:   loop.for parallel "i" %i = 0 to 10 {
// POINT-NEXT:     loop.for parallel "j" %j = 0 to min(12, %i) {
// POINT-NEXT:       loop.if (%j - %i >= 0) {
// POINT-NEXT:         loop.store %v, %A[%i, %j]
// POINT-NEXT:       }
// POINT-NEXT:     }
// POINT-NEXT:     loop.for parallel "j.rest" %j_1 = max(0, %i) to 12 {
// POINT-NEXT:       loop.if (%j_1 - %i >= 0) {
// POINT-NEXT:         loop.store %v, %A[%i, %j_1]
// POINT-NEXT:       }
// POINT-NEXT:     }
// POINT-NEXT:   }
// Where the condition in the body changes.
// HOLDS-LABEL: func.func private @f
// HOLDS-NEXT:   loop.for parallel "i" %i = 0 to 10 {
// HOLDS-NEXT:     loop.for parallel "j" %j = 0 to min(12, %i) {
// HOLDS-NEXT:       loop.if (%j - %i >= 0) {
// HOLDS-NEXT:         loop.store %v, %A[%i, %j]
// HOLDS-NEXT:       }
// HOLDS-NEXT:     }
// HOLDS-NEXT:     loop.for parallel "j.rest" %j_1 = max(0, %i) to 12 {
// HOLDS-NEXT:       loop.if (%j_1 - %i >= 0) {
// HOLDS-NEXT:         loop.store %v, %A[%i, %j_1]
// HOLDS-NEXT:       }
// HOLDS-NEXT:     }
// HOLDS-NEXT:   }
// Before, at and after the point, if it is one.
// EQUAL-LABEL: func.func private @f
// EQUAL-NEXT:   loop.for parallel "i" %i = 0 to 10 {
// EQUAL-NEXT:     loop.for parallel "j" %j = 0 to min(12, %n ceildiv 2) {
// EQUAL-NEXT:       loop.if (%j - %i >= 0) {
// EQUAL-NEXT:         loop.store %v, %A[%i, %j]
// EQUAL-NEXT:       }
// EQUAL-NEXT:     }
// EQUAL-NEXT:     loop.for parallel "j.at" %j_1 = max(0, %n ceildiv 2) to min(12, %n floordiv 2 + 1) {
// EQUAL-NEXT:       loop.if (%j_1 - %i >= 0) {
// EQUAL-NEXT:         loop.store %v, %A[%i, %j_1]
// EQUAL-NEXT:       }
// EQUAL-NEXT:     }
// EQUAL-NEXT:     loop.for parallel "j.rest" %j_2 = max(0, %n floordiv 2 + 1) to 12 {
// EQUAL-NEXT:       loop.if (%j_2 - %i >= 0) {
// EQUAL-NEXT:         loop.store %v, %A[%i, %j_2]
// EQUAL-NEXT:       }
// EQUAL-NEXT:     }
// EQUAL-NEXT:   }
// The second loop goes on where the first would have.
// STEPS-LABEL: func.func private @f
// STEPS:        loop.for parallel "s" %s = 1 to min(20, %n) step 3 {
// STEPS-NEXT:     loop.store %v, %A[%s, 0]
// STEPS-NEXT:   }
// STEPS-NEXT:   loop.for parallel "s.rest" %s_1 = max(1, (%n - 1) ceildiv 3 * 3 + 1) to 20 step 3 {
// STEPS-NEXT:     loop.store %v, %A[%s_1, 0]
// STEPS-NEXT:   }
// INNER: error: {{.*}}index_set_split("f/i", at="j") is refused: 'at' is "j", which uses 'j'; use the loops around and the index arguments: 'n'
// OWN: error: {{.*}}index_set_split("f/i", at="i + 1") is refused: 'at' is "i + 1", which uses the variable of 'i' itself; give a point, or a condition with >=, <= or ==
// TEXT: error: {{.*}}index_set_split("f/i", at="4 +") is refused: 'at' is "4 +", which is neither an affine expression nor an affine condition with >=, <= or ==
func.func private @f(%A: memref<64x64xf32>, %n: index, %v: f32) {
  loop.for parallel "i" %i = 0 to 10 {
    loop.for parallel "j" %j = 0 to 12 {
      loop.if (%j - %i >= 0) {
        loop.store %v, %A[%i, %j] : memref<64x64xf32>
      }
    }
  }
  loop.for parallel "s" %s = 1 to 20 step 3 {
    loop.store %v, %A[%s, 0] : memref<64x64xf32>
  }
  func.return
}

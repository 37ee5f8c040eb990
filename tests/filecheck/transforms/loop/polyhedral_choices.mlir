// RUN: stepwell-opt %s -p "loop-polyhedral{tile=2 fuse=min}" --check-each | filecheck %s

// Tiles of a loop with a step of three: where a tile begins is one of two values by a condition, which becomes two branches.

builtin.module {
  func.func @f(%B: memref<7xi32> {stepwell.noalias}, %C: memref<1x1xi32> {stepwell.noalias}) {
    loop.for serial "i2" %i2 = 0 to 2 {
      loop.for serial "i3" %i3 = -3 to 4 step 3 {
        %v1 = arith.constant 1 : i32
        loop.store %v1, %C[0, 0] : memref<1x1xi32>
        %v2 = arith.constant 1 : i32
        loop.store %v2, %B[%i3 + 3] : memref<7xi32>
      }
    }
    func.return
  }
}

// CHECK:      loop.for parallel "t0" %t0 = -4 to 4 step 2 {
// CHECK-NEXT:   loop.if (-((-%t0 + 3) mod 3) + 1 >= 0) {
// CHECK-NEXT:     loop.if (%t0 + 4 == 0) {
// CHECK-NEXT:       loop.for parallel "t1" %t1 = 1 to 2 {
// CHECK:          } else {
// CHECK-NEXT:       loop.for parallel "t3" %t3 = %t0 floordiv 2 to %t0 floordiv 2 + 1 {

// RUN: stepwell-opt %s -p schedule-by-rules{target=x86-64-v3} | filecheck %s

// Four steps of updates at computed places are written out, and the rest of them peeled.
// CHECK-LABEL: func.func private @counts
// CHECK:         loop.for serial "i" %i = 0 to 40 step 4 attributes {stepwell.unrolled} {
// CHECK-COUNT-4:   memref.store
// CHECK-NOT:       memref.store
// CHECK:         loop.for serial "i.tail" {{.*}} = 40 to 42 {
func.func private @counts(%X: memref<42xindex>, %T: memref<7xi64>) {
  %one = arith.constant 1 : i64
  loop.for serial "i" %i = 0 to 42 {
    %x = loop.load %X[%i] : memref<42xindex>
    %old = memref.load %T[%x] : memref<7xi64>
    %new = arith.addi %old, %one : i64
    memref.store %new, %T[%x] : memref<7xi64>
  }
  func.return
}

// Few steps are left as they are, and so are loops around others.
// CHECK-LABEL: func.func private @few
// CHECK:         loop.for serial "i" %i = 0 to 7 {
// CHECK-NOT:     stepwell.unrolled
func.func private @few(%X: memref<7xindex>, %T: memref<7xi64>) {
  %one = arith.constant 1 : i64
  loop.for serial "i" %i = 0 to 7 {
    %x = loop.load %X[%i] : memref<7xindex>
    memref.store %one, %T[%x] : memref<7xi64>
  }
  func.return
}

// RUN: stepwell-opt %s -p "loop-vectorize{loop=sums/i},loop-vectorize{loop=guarded/i width=4 tail=guard},convert-loop-to-core" | filecheck %s
// RUN: not stepwell-opt %s -p "loop-vectorize{loop=strict/i}" 2>&1 | filecheck %s --check-prefix=STRICT
// RUN: not stepwell-opt %s -p "loop-vectorize{loop=read_again/i}" 2>&1 | filecheck %s --check-prefix=AGAIN

// Each lane is joined with the one before it, then with the one two before it, then with what was there before the vector;
// the next vector waits for one sum only.
// CHECK-LABEL: func.func @sums(
// CHECK:         %before = memref.load %so_far[]
// CHECK:         vector.load %x
// CHECK:         vector.shuffle %{{.*}}, %{{.*}} [4, 0, 1, 2]
// CHECK-NEXT:    arith.addf {{.*}} fastmath<reassoc> : vector<4xf32>
// CHECK-NEXT:    vector.shuffle %{{.*}}, %{{.*}} [4, 4, 0, 1]
// CHECK-NEXT:    arith.addf {{.*}} : vector<4xf32>
// CHECK-NEXT:    vector.extract %{{.*}}[3]
// CHECK-NEXT:    %[[TOTAL:[0-9]+]] = arith.addf %before,
// CHECK:         vector.broadcast %before
// CHECK-NEXT:    arith.addf {{.*}} : vector<4xf32>
// CHECK-NEXT:    vector.store
// CHECK-NEXT:    memref.store %[[TOTAL]], %so_far[]
func.func @sums(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}, %so_far: memref<f32> {stepwell.result}) {
  loop.for serial "i" %i = 0 to 4 {
    %before = loop.load %so_far[] : memref<f32>
    %v = loop.load %x[%i] : memref<4xf32>
    %after = arith.addf %before, %v fastmath<reassoc> : f32
    loop.store %after, %y[%i] : memref<4xf32>
    loop.store %after, %so_far[] : memref<f32>
  }
  func.return
}

// Lanes that do not run join the least number.
// CHECK-LABEL: func.func @guarded(
// CHECK:         arith.select {{.*}} : vector<4xi1>, vector<4xi32>
// CHECK:         arith.maxsi {{.*}} : vector<4xi32>
// CHECK:         vector.maskedstore
func.func @guarded(%x: memref<7xi32>, %y: memref<7xi32> {stepwell.result}, %so_far: memref<i32> {stepwell.result}) {
  loop.for serial "i" %i = 0 to 7 {
    %before = loop.load %so_far[] : memref<i32>
    %v = loop.load %x[%i] : memref<7xi32>
    %after = arith.maxsi %before, %v : i32
    loop.store %after, %y[%i] : memref<7xi32>
    loop.store %after, %so_far[] : memref<i32>
  }
  func.return
}

// A sum of floats that is to be added up in order stays so.
// STRICT: vectorize("strict/i") is refused: the load of '%so_far' {{.*}} must come after the store
func.func @strict(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}, %so_far: memref<f32> {stepwell.result}) {
  loop.for serial "i" %i = 0 to 4 {
    %before = loop.load %so_far[] : memref<f32>
    %v = loop.load %x[%i] : memref<4xf32>
    %after = arith.addf %before, %v : f32
    loop.store %after, %y[%i] : memref<4xf32>
    loop.store %after, %so_far[] : memref<f32>
  }
  func.return
}

// So does one whose element something else in the loop reads.
// AGAIN: vectorize("read_again/i") is refused: the load of '%so_far' {{.*}} must come after the store
func.func @read_again(%x: memref<4xi32>, %y: memref<4xi32> {stepwell.result}, %so_far: memref<i32> {stepwell.result}) {
  loop.for serial "i" %i = 0 to 4 {
    %before = loop.load %so_far[] : memref<i32>
    %v = loop.load %x[%i] : memref<4xi32>
    %after = arith.addi %before, %v : i32
    loop.store %after, %so_far[] : memref<i32>
    %again = loop.load %so_far[] : memref<i32>
    %both = arith.muli %after, %again : i32
    loop.store %both, %y[%i] : memref<4xi32>
  }
  func.return
}

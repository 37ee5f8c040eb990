// RUN: stepwell-opt %s -p core-expand-math --split-input-file | filecheck %s
// RUN: stepwell-opt %s -p core-expand-math{fp=strict} --split-input-file | filecheck %s --check-prefix=STRICT

// The exponential: clamped, reduced by two fused multiply-adds, of which the higher terms need one, scaled in two steps.
// CHECK-LABEL: func.func @exponential
// CHECK:         %[[LOW:.*]] = arith.maximumf %x, %{{.*}} : vector<8xf32>
// CHECK:         %[[CLAMPED:.*]] = arith.minimumf %[[LOW]], %{{.*}} : vector<8xf32>
// CHECK:         %[[SHIFTED:.*]] = math.fma %[[CLAMPED]], %{{.*}}, %[[MAGIC:.*]] : vector<8xf32>
// CHECK-NEXT:    %[[N:.*]] = arith.subf %[[SHIFTED]], %[[MAGIC]] : vector<8xf32>
// CHECK:         %[[BITS:.*]] = arith.bitcast %[[SHIFTED]] : vector<8xf32> to vector<8xi32>
// CHECK:         %[[EARLY:.*]] = math.fma %[[N]], %{{.*}}, %[[CLAMPED]] : vector<8xf32>
// CHECK:         %[[REDUCED:.*]] = math.fma %[[N]], %{{.*}}, %[[EARLY]] : vector<8xf32>
// CHECK-COUNT-4: math.fma %{{.*}}, %[[EARLY]], %{{.*}} : vector<8xf32>
// CHECK-COUNT-2: math.fma %{{.*}}, %[[REDUCED]], %{{.*}} : vector<8xf32>
// CHECK:         arith.shrsi %[[BITS]]
// CHECK:         %[[ONCE:.*]] = arith.mulf
// CHECK-NEXT:    %r = arith.mulf %[[ONCE]], %{{.*}} : vector<8xf32>
// CHECK-NEXT:    func.return %r
// STRICT-LABEL: func.func @exponential
// STRICT-NEXT:    %r = math.exp %x : vector<8xf32>
func.func @exponential(%x: vector<8xf32>) -> vector<8xf32> {
  %r = math.exp %x : vector<8xf32>
  func.return %r : vector<8xf32>
}

// -----

// Where nothing overflows, in one: the coefficients are so small that no scale is subnormal.
// CHECK-LABEL: func.func @nonpositive
// CHECK:         %[[CLAMPED:.*]] = arith.maximumf %x, %{{.*}} : vector<8xf32>
// CHECK-NOT:     arith.minimumf
// CHECK-NOT:     arith.shrsi
// CHECK:         %[[BITS:.*]] = arith.shli
// CHECK-NEXT:    %[[SCALE:.*]] = arith.bitcast %[[BITS]] : vector<8xi32> to vector<8xf32>
// CHECK-NEXT:    %r = arith.mulf %{{.*}}, %[[SCALE]] : vector<8xf32>
// CHECK-NEXT:    func.return %r
// STRICT-LABEL: func.func @nonpositive
// STRICT-NEXT:    %r = math.exp %x
func.func @nonpositive(%x: vector<8xf32>) -> vector<8xf32> {
  %r = math.exp %x {stepwell.nonpositive} : vector<8xf32>
  func.return %r : vector<8xf32>
}

// -----

// The same on a scalar.
// CHECK-LABEL: func.func @scalar
// CHECK-NOT:     vector
// CHECK-NOT:     math.exp
// CHECK:         func.return %r : f64
func.func @scalar(%x: f64) -> f64 {
  %r = math.exp %x : f64
  func.return %r : f64
}

// -----

// The C library's sine is asked for only where a lane is beyond the reach of the reduction.
// CHECK-LABEL: func.func @sine
// CHECK:         %[[LARGEST:.*]] = vector.reduction <maxsi>, %{{.*}} : vector<4xi64> into i64
// CHECK:         %[[BEYOND:.*]] = arith.cmpi sgt, %[[LARGEST]], %{{.*}} : i64
// CHECK-NEXT:    %r = scf.if %[[BEYOND]] -> (vector<4xf64>) {
// CHECK-NEXT:      math.sin %x {stepwell.libm} : vector<4xf64>
// CHECK:         } else {
// CHECK-NEXT:      scf.yield
func.func @sine(%x: vector<4xf64>) -> vector<4xf64> {
  %r = math.sin %x : vector<4xf64>
  func.return %r : vector<4xf64>
}

// -----

// A sigmoid is recognised: its exponential is of -|x|.
// CHECK-LABEL: func.func @sigmoid
// CHECK:         %[[MAGNITUDE:.*]] = math.absf %x : f32
// CHECK-NEXT:    arith.negf %[[MAGNITUDE]] : f32
// STRICT-LABEL: func.func @sigmoid
// STRICT:         math.exp
func.func @sigmoid(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %minus = arith.negf %x : f32
  %e = math.exp %minus : f32
  %sum = arith.addf %one, %e : f32
  %r = arith.divf %one, %sum : f32
  func.return %r : f32
}

// -----

// What depends on the base alone, which the loop does not change, is computed before the loop: the divisions of its
// logarithm are. Of a base that the loop loads, nothing is.
// CHECK-LABEL: func.func @powers_of_one
// CHECK-COUNT-2: arith.divf
// CHECK:         scf.for
// CHECK-NOT:     arith.divf
// CHECK-NOT:     scf.if
// CHECK:         vector.store
// CHECK-LABEL: func.func @powers_of_many
// CHECK-NOT:     arith.divf
// CHECK:         scf.for
// CHECK-COUNT-2: arith.divf
func.func @powers_of_one(%x: vector<8xf64>, %y: memref<80xf64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c80 = arith.constant 80 : index
  scf.for %i = %c0 to %c80 step %c8 {
    %v = vector.load %y[%i] : memref<80xf64>, vector<8xf64>
    %r = math.powf %x, %v : vector<8xf64>
    vector.store %r, %y[%i] : memref<80xf64>, vector<8xf64>
  }
  func.return
}
func.func @powers_of_many(%x: vector<8xf64>, %y: memref<80xf64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c80 = arith.constant 80 : index
  scf.for %i = %c0 to %c80 step %c8 {
    %v = vector.load %y[%i] : memref<80xf64>, vector<8xf64>
    %r = math.powf %v, %x : vector<8xf64>
    vector.store %r, %y[%i] : memref<80xf64>, vector<8xf64>
  }
  func.return
}

// -----

// Powers of one number ask for special cases only where that has some. Lanes of different numbers each may.
// CHECK-LABEL: func.func @powers_of_a_number
// CHECK:         %[[POSITIVE:.*]] = arith.cmpf ogt, %x,
// CHECK:         %[[FINITE:.*]] = arith.cmpf olt, %x,
// CHECK:         %[[NOT_1:.*]] = arith.cmpf one, %x,
// CHECK:         %[[PLAIN:.*]] = arith.andi %{{.*}}, %[[NOT_1]]
// CHECK:         scf.for
// CHECK:           %r = scf.if %[[PLAIN]] -> (vector<8xf64>) {
// CHECK-NEXT:        scf.yield %[[POWER:.*]] : vector<8xf64>
// CHECK-NEXT:      } else {
// CHECK:             arith.bitcast %[[POWER]]
func.func @powers_of_a_number(%x: f64, %y: memref<80xf64>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c80 = arith.constant 80 : index
  %b = vector.broadcast %x : f64 to vector<8xf64>
  scf.for %i = %c0 to %c80 step %c8 {
    %v = vector.load %y[%i] : memref<80xf64>, vector<8xf64>
    %r = math.powf %b, %v : vector<8xf64>
    vector.store %r, %y[%i] : memref<80xf64>, vector<8xf64>
  }
  func.return
}

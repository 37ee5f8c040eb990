// RUN: stepwell-opt %s --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

// CHECK: found no integer predicate, expected one such as 'slt'
func.func @f(%a: vector<8xi32>) {
  %0 = arith.cmpi larger, %a, %a : vector<8xi32>
  func.return
}

// -----

// CHECK: found no float predicate, expected one such as 'olt'
func.func @f(%a: vector<8xf32>) {
  %0 = arith.cmpf larger, %a, %a : vector<8xf32>
  func.return
}

// -----

// CHECK: found a condition of vector<4xi1>, expected i1 or vector<8xi1>; mend it
func.func @f(%m: vector<4xi1>, %a: vector<8xf32>) {
  %0 = arith.select %m, %a, %a : vector<4xi1>, vector<8xf32>
  func.return
}

// -----

// CHECK: found a result of vector<4xi1>, expected vector<8xi1>; mend its type
func.func @f(%a: vector<8xf32>) {
  %0 = "arith.cmpf"(%a, %a) <{predicate = 4 : i64}> : (vector<8xf32>, vector<8xf32>) -> vector<4xi1>
  func.return
}

// -----

// CHECK: found a cast of vector<8xi32> to vector<4xf32>, expected as many lanes of what arith.sitofp casts to
func.func @f(%a: vector<8xi32>) {
  %0 = arith.sitofp %a : vector<8xi32> to vector<4xf32>
  func.return
}

// -----

// CHECK: found a cast of vector<8xi32> to vector<8xi8>, expected as many lanes of what arith.extsi casts to
func.func @f(%a: vector<8xi32>) {
  %0 = arith.extsi %a : vector<8xi32> to vector<8xi8>
  func.return
}

// -----

// CHECK: found a cast of vector<8xindex> to vector<8xindex>, expected as many lanes of what arith.index_cast casts to
func.func @f(%a: vector<8xindex>) {
  %0 = arith.index_cast %a : vector<8xindex> to vector<8xindex>
  func.return
}

// -----

// CHECK: found a cast of vector<8xf32> to vector<8xf64>, expected as many lanes of what arith.fptosi casts to
func.func @f(%a: vector<8xf32>) {
  %0 = arith.fptosi %a : vector<8xf32> to vector<8xf64>
  func.return
}

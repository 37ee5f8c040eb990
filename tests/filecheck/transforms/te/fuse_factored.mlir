// RUN: stepwell-opt %s -p "te-fuse{target=zen4}" | filecheck %s
// RUN: stepwell-opt %s -p "te-fuse{fp=strict target=zen4}" | filecheck %s --check-prefix=STRICT
// RUN: stepwell-opt %s --remarks -p "te-fuse{target=zen4}" 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// A sum over all of what a chain of rows makes is one of each row in the chain, of which nothing else is stored.
// CHECK-LABEL: func.func @unit_and_total(
// CHECK-NEXT:    %unit, %total = te.kernel "norms_unit_total" (%x_1 = %x)
// CHECK:           %total_1 = te.compute [%i_2 = 1000] add [%j_2 = 1000]
// CHECK:           te.yield %unit_1, %total_1 : tensor<1000x1000xf32>, tensor<1000xf32>
// CHECK:         %total_1 = te.kernel "total" (%total_2 = %total)
// CHECK-NEXT:      %total_3 = te.compute [] add [%i = 1000] (%total_4 = %total_2[%i]) : (tensor<1000xf32>) -> tensor<f32> {
// WHY: remark: te-fuse: reduced row by row first, with what makes its operands: predicted

// Where the order of sums of floats is kept, it is not.
// STRICT-LABEL: func.func @unit_and_total(
// STRICT:         te.compute [] add [%i = 1000, %j = 1000]
func.func @unit_and_total(%x: tensor<1000x1000xf32>) -> (tensor<1000x1000xf32>, tensor<f32>) {
  %norms = te.compute [%i = 1000] add [%j = 1000] (%a = %x[%i, %j]) : (tensor<1000x1000xf32>) -> tensor<1000xf32> {
    %square = arith.mulf %a, %a : f32
    te.yield %square : f32
  }
  %unit = te.compute [%i = 1000, %j = 1000] (%a = %x[%i, %j], %b = %norms[%i]) : (tensor<1000x1000xf32>, tensor<1000xf32>) -> tensor<1000x1000xf32> {
    %d = arith.divf %a, %b : f32
    te.yield %d : f32
  }
  %total = te.compute [] add [%i = 1000, %j = 1000] (%a = %unit[%i, %j]) : (tensor<1000x1000xf32>) -> tensor<f32> { te.yield %a : f32 }
  func.return %unit, %total : tensor<1000x1000xf32>, tensor<f32>
}

// The largest of all is the same in any order.
// STRICT-LABEL: func.func @largest(
// STRICT:         te.compute [%i_2 = 1000] max [%j_2 = 1000]
// STRICT:         te.compute [] max [%i = 1000]
func.func @largest(%x: tensor<1000x1000xf32>) -> (tensor<1000x1000xf32>, tensor<f32>) {
  %norms = te.compute [%i = 1000] add [%j = 1000] (%a = %x[%i, %j]) : (tensor<1000x1000xf32>) -> tensor<1000xf32> { te.yield %a : f32 }
  %unit = te.compute [%i = 1000, %j = 1000] (%a = %x[%i, %j], %b = %norms[%i]) : (tensor<1000x1000xf32>, tensor<1000xf32>) -> tensor<1000x1000xf32> {
    %d = arith.divf %a, %b : f32
    te.yield %d : f32
  }
  %most = te.compute [] max [%i = 1000, %j = 1000] (%a = %unit[%i, %j]) : (tensor<1000x1000xf32>) -> tensor<f32> { te.yield %a : f32 }
  func.return %unit, %most : tensor<1000x1000xf32>, tensor<f32>
}

// Nor where nothing goes by rows: what is stored, and its sum.
// CHECK-LABEL: func.func @no_rows(
// CHECK:         te.compute [] add [%i = 1000, %j = 1000]
func.func @no_rows(%x: tensor<1000x1000xf32>) -> (tensor<1000x1000xf32>, tensor<f32>) {
  %exp = te.compute [%i = 1000, %j = 1000] (%a = %x[%i, %j]) : (tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
    %e = math.exp %a : f32
    te.yield %e : f32
  }
  %total = te.compute [] add [%i = 1000, %j = 1000] (%a = %exp[%i, %j]) : (tensor<1000x1000xf32>) -> tensor<f32> { te.yield %a : f32 }
  func.return %exp, %total : tensor<1000x1000xf32>, tensor<f32>
}

// Nor for floats that are added up in wider ones.
// CHECK-LABEL: func.func @narrow(
// CHECK:         te.compute [] add [%i = 1000, %j = 1000]
func.func @narrow(%x: tensor<1000x1000xf16>) -> (tensor<1000x1000xf16>, tensor<f16>) {
  %norms = te.compute [%i = 1000] add [%j = 1000] (%a = %x[%i, %j]) : (tensor<1000x1000xf16>) -> tensor<1000xf16> { te.yield %a : f16 }
  %unit = te.compute [%i = 1000, %j = 1000] (%a = %x[%i, %j], %b = %norms[%i]) : (tensor<1000x1000xf16>, tensor<1000xf16>) -> tensor<1000x1000xf16> {
    %d = arith.divf %a, %b : f16
    te.yield %d : f16
  }
  %total = te.compute [] add [%i = 1000, %j = 1000] (%a = %unit[%i, %j]) : (tensor<1000x1000xf16>) -> tensor<f16> { te.yield %a : f16 }
  func.return %unit, %total : tensor<1000x1000xf16>, tensor<f16>
}

// Nor where sums within the vectors of each row are predicted to take longer than it does to read what is stored again.
// CHECK-LABEL: func.func @short_rows(
// CHECK:         te.compute [] add [%i = 300, %j = 10]
// WHY: remark: te-fuse: not reduced row by row first, with what makes its operands: predicted to take
func.func @short_rows(%x: tensor<300x10xf32>) -> (tensor<300x10xf32>, tensor<f32>) {
  %norms = te.compute [%i = 300] add [%j = 10] (%a = %x[%i, %j]) : (tensor<300x10xf32>) -> tensor<300xf32> { te.yield %a : f32 }
  %unit = te.compute [%i = 300, %j = 10] (%a = %x[%i, %j], %b = %norms[%i]) : (tensor<300x10xf32>, tensor<300xf32>) -> tensor<300x10xf32> {
    %d = arith.divf %a, %b : f32
    te.yield %d : f32
  }
  %total = te.compute [] add [%i = 300, %j = 10] (%a = %unit[%i, %j]) : (tensor<300x10xf32>) -> tensor<f32> { te.yield %a : f32 }
  func.return %unit, %total : tensor<300x10xf32>, tensor<f32>
}

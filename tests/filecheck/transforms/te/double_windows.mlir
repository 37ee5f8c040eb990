// RUN: stepwell-opt %s -p te-double-windows{target=x86-64-v3} | filecheck %s
// RUN: stepwell-opt %s --remarks -p te-double-windows{target=x86-64-v3} 2>&1 >/dev/null | filecheck %s --check-prefix=WHY

// A window of eleven is made of two of eight, which overlap; the places that fill no block are written by themselves.

// WHY: 'moving': a window of 11 is made of windows half as wide
// CHECK-LABEL: func.func @moving(
// CHECK:         te.loops "moving" (%a = %x_1) -> (%moving) : (tensor<2x3000xf32>) -> tensor<2x2989xf32> {
// CHECK-NEXT:      loop.for parallel "i.block" %i_block = 0 to 2 {
// CHECK-NEXT:        loop.for parallel "j.block" %j_block = 0 to [[N:[0-9]+]] {
// CHECK:               loop.for parallel "j.of_2"
// CHECK-NEXT:            %[[A:.*]] = loop.load %a[%i_block + %{{.*}}, %j_block * [[SIZE:[0-9]+]] + 1 + %[[J:.*]]]
// CHECK-NEXT:            %[[B:.*]] = loop.load %a[%i_block + %{{.*}}, %j_block * [[SIZE]] + 1 + (%[[J]] + 1)]
// CHECK-NEXT:            arith.minimumf %[[A]], %[[B]] : f32
// CHECK:               loop.for parallel "j.of_4"
// CHECK:                 loop.load %{{.*}}[%{{.*}}, %[[K:.*]] + 2]
// CHECK:               loop.for parallel "j.of_8"
// CHECK:               loop.for parallel "j.of_11"
// CHECK:                 loop.load %{{.*}}[%{{.*}}, %{{.*}} + 3]
// CHECK:                 loop.store %{{.*}}, %moving[
// CHECK:             loop.for parallel "j.of_11.rest"
func.func @moving(%x: tensor<2x3000xf32>) -> tensor<2x2989xf32> {
  %y = te.kernel "moving" (%a = %x) : (tensor<2x3000xf32>) -> tensor<2x2989xf32> {
    %r = te.compute [%i = 2, %j = 2989] (%v1 = %a[%i, %j + 1], %v2 = %a[%i, %j + 2], %v3 = %a[%i, %j + 3], %v4 = %a[%i, %j + 4], %v5 = %a[%i, %j + 5], %v6 = %a[%i, %j + 6], %v7 = %a[%i, %j + 7], %v8 = %a[%i, %j + 8], %v9 = %a[%i, %j + 9], %v10 = %a[%i, %j + 10], %v11 = %a[%i, %j + 11]) : (tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>, tensor<2x3000xf32>) -> tensor<2x2989xf32> {
      %m1 = arith.minimumf %v1, %v2 : f32
      %m2 = arith.minimumf %m1, %v3 : f32
      %m3 = arith.minimumf %m2, %v4 : f32
      %m4 = arith.minimumf %v6, %v5 : f32
      %m5 = arith.minimumf %m3, %m4 : f32
      %m6 = arith.minimumf %m5, %v7 : f32
      %m7 = arith.minimumf %m6, %v8 : f32
      %m8 = arith.minimumf %m7, %v9 : f32
      %m9 = arith.minimumf %m8, %v10 : f32
      %m10 = arith.minimumf %m9, %v11 : f32
      te.yield %m10 : f32
    }
    te.yield %r : tensor<2x2989xf32>
  }
  func.return %y : tensor<2x2989xf32>
}

// Few elements, and a window with a gap, are joined one by one.

// CHECK-LABEL: func.func @narrow(
// CHECK-NOT:     te.loops
func.func @narrow(%x: tensor<99xf32>) -> tensor<90xf32> {
  %y = te.kernel "narrow" (%a = %x) : (tensor<99xf32>) -> tensor<90xf32> {
    %r = te.compute [%i = 90] (%v1 = %a[%i], %v2 = %a[%i + 1], %v3 = %a[%i + 2], %v4 = %a[%i + 3], %v5 = %a[%i + 9]) : (tensor<99xf32>, tensor<99xf32>, tensor<99xf32>, tensor<99xf32>, tensor<99xf32>) -> tensor<90xf32> {
      %m1 = arith.minimumf %v1, %v2 : f32
      %m2 = arith.minimumf %m1, %v3 : f32
      %m3 = arith.minimumf %m2, %v4 : f32
      %m4 = arith.minimumf %m3, %v5 : f32
      te.yield %m4 : f32
    }
    te.yield %r : tensor<90xf32>
  }
  func.return %y : tensor<90xf32>
}

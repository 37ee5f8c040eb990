// RUN: stepwell-opt %s -p 'loop-simplify{function=f},loop-simplify{function=comparisons}' | filecheck %s

// Divisions are done where the ranges and steps of loops decide them, and only there.
// CHECK:      loop.store %a, %B[%b floordiv 4, %i]
// CHECK:      loop.for parallel "u"
// CHECK:        loop.store %{{.*}}, %B[%u, %v]
// CHECK:      loop.for parallel "w"
// CHECK:        loop.store %{{.*}}, %B[%w floordiv 4, %w mod 4]
// CHECK:      loop.for parallel "q"
// CHECK:        loop.load %A[%q]
// CHECK-NEXT:   loop.store %{{.*}}, %B[%q, 3]
func.func private @f(%A: memref<40xi32>, %B: memref<10x4xi32>) attributes {stepwell.noalias} {
  loop.for parallel "b" %b = 0 to 40 step 4 {
    loop.for parallel "i" %i = 0 to 4 {
      %a = loop.load %A[%b + %i] : memref<40xi32>
      loop.store %a, %B[(%b + %i) floordiv 4, (%b + %i) mod 4] : memref<10x4xi32>
    }
  }
  loop.for parallel "u" %u = 0 to 10 {
    loop.for parallel "v" %v = 0 to 4 {
      %a = loop.load %A[%u * 4 + %v] : memref<40xi32>
      loop.store %a, %B[(%u * 4 + %v) floordiv 4, (%u * 4 + %v) mod 4] : memref<10x4xi32>
    }
  }
  loop.for parallel "w" %w = 0 to 37 {
    %a = loop.load %A[%w] : memref<40xi32>
    loop.store %a, %B[%w floordiv 4, %w mod 4] : memref<10x4xi32>
  }
  loop.for parallel "q" %q = 0 to 10 {
    %a = loop.load %A[(%q * 4 + 3) floordiv 4] : memref<40xi32>
    loop.store %a, %B[(%q * 4 + 3) floordiv 4, (%q * 4 + 3) mod 4] : memref<10x4xi32>
  }
  func.return
}

// What selects by a comparison that the loops' ranges decide takes what it always does; one of both stays.
// CHECK-LABEL: func.func @comparisons(
// CHECK:         loop.for
// CHECK-NOT:       arith.cmpi
// CHECK:           loop.store %a, %A
// CHECK:         loop.for
// CHECK:           arith.cmpi sge
// CHECK-NEXT:      arith.select
func.func @comparisons(%A: memref<64xf32>, %a: f32, %b: f32) {
  %c9 = arith.constant 9 : index
  loop.for parallel "x" %x = 0 to 9 {
    %at = affine.apply affine_map<(d0) -> (d0)> (%x)
    %less = arith.cmpi slt, %at, %c9 : index
    %v = arith.select %less, %a, %b : f32
    loop.store %v, %A[%x] : memref<64xf32>
  }
  loop.for parallel "y" %y = 0 to 10 {
    %at = affine.apply affine_map<(d0) -> (d0)> (%y)
    %more = arith.cmpi sge, %at, %c9 : index
    %v = arith.select %more, %a, %b : f32
    loop.store %v, %A[%y] : memref<64xf32>
  }
  func.return
}

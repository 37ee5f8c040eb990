// RUN: stepwell-opt %s -p convert-loop-to-core | filecheck %s

// What a loop does not change is loaded before it, once. Where the contract allows it, what divides every element is
// inverted there.
// CHECK-LABEL: @scaled
func.func private @scaled(%x: memref<8x64xf32>, %s: memref<8xf32>, %y: memref<8x64xf32> {stepwell.result}) {
  // CHECK:      scf.for %i
  // CHECK-NEXT:   %b = memref.load %s[%i] : memref<8xf32>
  // CHECK-NEXT:   %[[R:.*]] = arith.divf %{{.*}}, %b fastmath<arcp> : f32
  // CHECK-NEXT:   %[[V:.*]] = vector.broadcast %[[R]] : f32 to vector<16xf32>
  // CHECK-NEXT:   scf.for %block
  loop.for parallel "i" %i = 0 to 8 {
    loop.for parallel "block" %block = 0 to 4 {
      loop.for parallel vector "lane" %lane = 0 to 16 {
        %a = loop.load %x[%i, %lane + %block * 16] : memref<8x64xf32>
        %b = loop.load %s[%i] : memref<8xf32>
        // CHECK:          arith.mulf %a, %[[V]] fastmath<arcp> : vector<16xf32>
        %q = arith.divf %a, %b fastmath<arcp> : f32
        loop.store %q, %y[%i, %lane + %block * 16] : memref<8x64xf32>
      }
    }
  }
  func.return
}

// Without the flag the division stays.
// CHECK-LABEL: @exact
func.func private @exact(%x: memref<64xf32>, %s: memref<1xf32>, %y: memref<64xf32> {stepwell.result}) {
  // CHECK:      %b = memref.load %s
  // CHECK:      scf.for %i
  loop.for parallel "i" %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %b = loop.load %s[0] : memref<1xf32>
    // CHECK:        arith.divf %a, %b : f32
    %q = arith.divf %a, %b : f32
    loop.store %q, %y[%i] : memref<64xf32>
  }
  func.return
}

// A load stays where the loop stores to its buffer,
// CHECK-LABEL: @stored
func.func private @stored(%x: memref<64xf32>, %y: memref<64xf32> {stepwell.result}) {
  // CHECK:      scf.for %i
  // CHECK:        memref.load %y
  loop.for serial "i" %i = 0 to 64 {
    %a = loop.load %y[0] : memref<64xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
  func.return
}

// or to one that may be the same,
// CHECK-LABEL: @may_alias
func.func @may_alias(%s: memref<64xf32>, %y: memref<64xf32>) {
  // CHECK:      scf.for %i
  // CHECK:        memref.load %s
  loop.for serial "i" %i = 0 to 64 {
    %a = loop.load %s[0] : memref<64xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
  func.return
}

// or where the element may not exist: the loop may have no iteration.
// CHECK-LABEL: @may_be_outside
func.func private @may_be_outside(%s: memref<?xf32>, %n: index, %y: memref<64xf32> {stepwell.result}) {
  // CHECK:      scf.for %i
  // CHECK:        memref.load %s
  loop.for parallel "i" %i = 0 to 64 {
    %a = loop.load %s[%n] : memref<?xf32>
    loop.store %a, %y[%i] : memref<64xf32>
  }
  func.return
}

// Into loops on threads all is passed that they use: only what divides is loaded before them.
// CHECK-LABEL: @on_threads
func.func private @on_threads(%x: memref<64xf32>, %s: memref<2xf32>, %y: memref<64xf32> {stepwell.result}) {
  // CHECK:      %divisor = memref.load %s
  // CHECK:      "scf.parallel"
  // CHECK:        %factor = memref.load %s
  loop.for parallel threads "i" %i = 0 to 64 {
    %a = loop.load %x[%i] : memref<64xf32>
    %divisor = loop.load %s[0] : memref<2xf32>
    %factor = loop.load %s[1] : memref<2xf32>
    %q = arith.divf %a, %divisor : f32
    %p = arith.mulf %q, %factor : f32
    loop.store %p, %y[%i] : memref<64xf32>
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-stage{buffer=product/A into=left scope=arena order=1,0 panel=4 pad=4 element=f32},loop-stage{buffer=product/C at=i into=tile scope=register element=f32}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-stage{buffer=begun/C at=i into=tile element=f32}' | filecheck %s --check-prefix BEGUN
// RUN: stepwell-opt %s -p 'loop-stage{buffer=halves/A at=i element=f32}' | filecheck %s --check-prefix HALVES
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=product/A at=i element=bf16}' 2>&1 | filecheck %s --check-prefix NARROW
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=product/A at=i element=f23}' 2>&1 | filecheck %s --check-prefix WORD
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=long/C at=i element=f32}' 2>&1 | filecheck %s --check-prefix LONG
// RUN: stepwell-opt %s -p 'loop-stage{buffer=long/C at=k.block element=f32}' | filecheck %s --check-prefix BLOCK
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=used/A at=i element=f32}' 2>&1 | filecheck %s --check-prefix USED
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=used/C at=i element=f32}' 2>&1 | filecheck %s --check-prefix OTHER

// What extends an element is done while it is copied, and sums of integers are made in floats, from 0.
// CHECK-LABEL: func.func private @product
// CHECK-NEXT:    %left = loop.alloc arena : memref<2x40x4xf32>
// CHECK:           %[[LOADED:.*]] = loop.load %A[%c0, %c1] : memref<5x40xi8>
// CHECK-NEXT:      %[[IN:.*]] = arith.sitofp %[[LOADED]] : i8 to f32
// CHECK-NEXT:      loop.yield %[[IN]] : f32
// CHECK:         %tile = loop.alloc register : memref<1x7xf32>
// CHECK:           arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      loop.store {{.*}}, %tile
// CHECK:           %a = loop.load %left[%i floordiv 4, %k, %i mod 4] : memref<2x40x4xf32>
// CHECK-NEXT:      %b = loop.load %B[%k, %j] : memref<40x7xi8>
// CHECK-NEXT:      %c = loop.load %tile[0, %j] : memref<1x7xf32>
// CHECK-NEXT:      %[[B:.*]] = arith.sitofp %b : i8 to f32
// CHECK-NEXT:      %[[P:.*]] = arith.mulf %a, %[[B]] fastmath<reassoc,contract> : f32
// CHECK-NEXT:      %[[S:.*]] = arith.addf %c, %[[P]] fastmath<reassoc,contract> : f32
// CHECK-NEXT:      loop.store %[[S]], %tile[0, %j] : memref<1x7xf32>
// CHECK:           %[[OLD:.*]] = loop.load %C[%i, %c1_{{.*}}] : memref<5x7xi32>
// CHECK-NEXT:      %[[OUT:.*]] = arith.fptosi {{.*}} : f32 to i32
// CHECK-NEXT:      arith.addi %[[OLD]], %[[OUT]] : i32
func.func private @product(%A: memref<5x40xi8>, %B: memref<40x7xi8>, %C: memref<5x7xi32>) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.for parallel "j" %j = 0 to 7 {
      loop.for reduction "k" %k = 0 to 40 {
        %a = loop.load %A[%i, %k] : memref<5x40xi8>
        %b = loop.load %B[%k, %j] : memref<40x7xi8>
        %x = arith.extsi %a : i8 to i32
        %y = arith.extsi %b : i8 to i32
        %p = arith.muli %x, %y : i32
        %c = loop.load %C[%i, %j] : memref<5x7xi32>
        %s = arith.addi %c, %p : i32
        loop.store %s, %C[%i, %j] : memref<5x7xi32>
      }
    }
  }
  func.return
}

// A sum that begins with a number there does not add what was stored before.
// BEGUN-LABEL: func.func private @begun
// BEGUN:         %tile = loop.alloc stack : memref<1x7xf32>
// BEGUN:         arith.constant 3.000000e+00 : f32
// BEGUN:         arith.uitofp
// BEGUN:         %[[OUT:.*]] = arith.fptosi {{.*}} : f32 to i32
// BEGUN-NEXT:    loop.store %[[OUT]], %C
func.func private @begun(%A: memref<5x40xi8>, %B: memref<40x7xi8>, %C: memref<5x7xi32>) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.for parallel "j.init" %j = 0 to 7 {
      %z = arith.constant 3 : i32
      loop.store %z, %C[%i, %j] : memref<5x7xi32>
    }
    loop.for parallel "j" %j = 0 to 7 {
      loop.for reduction "k" %k = 0 to 40 {
        %a = loop.load %A[%i, %k] : memref<5x40xi8>
        %b = loop.load %B[%k, %j] : memref<40x7xi8>
        %x = arith.extui %a : i8 to i32
        %y = arith.extsi %b : i8 to i32
        %p = arith.muli %x, %y : i32
        %c = loop.load %C[%i, %j] : memref<5x7xi32>
        %s = arith.addi %c, %p : i32
        loop.store %s, %C[%i, %j] : memref<5x7xi32>
      }
    }
  }
  func.return
}

// HALVES-LABEL: func.func private @halves
// HALVES:         %A.staged = loop.alloc stack : memref<1x8xf32>
// HALVES:         arith.extf {{.*}} : bf16 to f32
// HALVES-NEXT:    loop.store {{.*}}, %A.staged
// HALVES:         %a = loop.load %A.staged[0, %j] : memref<1x8xf32>
// HALVES-NEXT:    loop.store %a, %C
func.func private @halves(%A: memref<4x8xbf16>, %C: memref<4x8xf32>) {
  loop.for parallel "i" %i = 0 to 4 {
    loop.for parallel "j" %j = 0 to 8 {
      %a = loop.load %A[%i, %j] : memref<4x8xbf16>
      %x = arith.extf %a : bf16 to f32
      loop.store %x, %C[%i, %j] : memref<4x8xf32>
    }
  }
  func.return
}

// A type that does not hold every element of what is read, and none at all.
// NARROW: element="bf16") is refused: bf16 does not hold every i8 as what it is extended to
// WORD: element="f23") is refused: element is 'f23', expected one of f32, f64, f16

// More terms than are exact, unless a part of them is added up at a time.
// LONG: is refused: a sum may be as large as 32768000, and f32 holds every integer up to 16777216; split the loop over its terms and stage inside
// BLOCK-LABEL: func.func private @long
// BLOCK:         loop.for serial "k.block"
// BLOCK-NEXT:      %C.staged = loop.alloc stack : memref<1x7xf32>
func.func private @long(%A: memref<5x2000xi8>, %B: memref<2000x7xi8>, %C: memref<5x7xi32>) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.for reduction "k.block" %kb = 0 to 2 {
      loop.for reduction "k" %k = 0 to 1000 {
        loop.for parallel "j" %j = 0 to 7 {
          %a = loop.load %A[%i, %kb * 1000 + %k] : memref<5x2000xi8>
          %b = loop.load %B[%kb * 1000 + %k, %j] : memref<2000x7xi8>
          %x = arith.extsi %a : i8 to i32
          %y = arith.extsi %b : i8 to i32
          %p = arith.muli %x, %y : i32
          %c = loop.load %C[%i, %j] : memref<5x7xi32>
          %s = arith.addi %c, %p : i32
          loop.store %s, %C[%i, %j] : memref<5x7xi32>
        }
      }
    }
  }
  func.return
}

// USED: is refused: an element is used by 'arith.addi', not only extended to a wider type; leave out element
// OTHER: is refused: what is added up is no product of integers that were extended from a narrower type; leave out element
func.func private @used(%A: memref<5x7xi32>, %C: memref<5x7xi32>) {
  loop.for parallel "i" %i = 0 to 5 {
    loop.for reduction "j" %j = 0 to 7 {
      %a = loop.load %A[%i, %j] : memref<5x7xi32>
      %c = loop.load %C[%i, 0] : memref<5x7xi32>
      %s = arith.addi %c, %a : i32
      loop.store %s, %C[%i, 0] : memref<5x7xi32>
    }
  }
  func.return
}

// RUN: stepwell-opt %s -p convert-loop-to-core --split-input-file | filecheck %s

// The rows of a register tile are alike: one of them stands for all in a loop that LLVM writes out. What they have in common
// is loaded before.
// CHECK-LABEL: func.func private @tile
// CHECK:         %tile = memref.alloca() : memref<6x8xf32>
// CHECK:         scf.for %k =
// CHECK-NEXT:      %[[B:.*]] = vector.load %b[%k, %c0] : memref<64x8xf32>, vector<8xf32>
// CHECK-NEXT:      scf.for %i =
// CHECK-NEXT:        %[[A:.*]] = memref.load %a[%i, %k]
// CHECK-NEXT:        vector.broadcast %[[A]]
// CHECK-NEXT:        arith.mulf %{{.*}}, %[[B]]
// CHECK-NEXT:        vector.load %tile[%i, %c0]
// CHECK-NEXT:        arith.addf
// CHECK-NEXT:        vector.store %{{.*}}, %tile[%i, %c0]
// CHECK-NEXT:      } {stepwell.mode = "unroll"}
func.func private @tile(%a: memref<6x64xf32>, %b: memref<64x8xf32>, %c: memref<6x8xf32>) {
  %tile = loop.alloc register : memref<6x8xf32>
  loop.for reduction "k" %k = 0 to 64 {
    loop.for parallel unroll "i" %i = 0 to 6 {
      loop.for parallel vector "j" %j = 0 to 8 {
        %x = loop.load %a[%i, %k] : memref<6x64xf32>
        %y = loop.load %b[%k, %j] : memref<64x8xf32>
        %p = arith.mulf %x, %y fastmath<contract> : f32
        %old = loop.load %tile[%i, %j] : memref<6x8xf32>
        %new = arith.addf %old, %p fastmath<reassoc,contract> : f32
        loop.store %new, %tile[%i, %j] : memref<6x8xf32>
      }
    }
  }
  func.return
}

// -----

// A buffer that a row stores to is loaded from in each.
// CHECK-LABEL: func.func private @stored_to
// CHECK:         scf.for %i =
// CHECK-NEXT:      vector.load %b[%c0]
// CHECK-NEXT:      vector.store %{{.*}}, %b[%i]
func.func private @stored_to(%b: memref<64xf32>) {
  loop.for serial unroll "i" %i = 0 to 6 {
    loop.for parallel vector "j" %j = 0 to 8 {
      %y = loop.load %b[%j] : memref<64xf32>
      loop.store %y, %b[%i + %j] : memref<64xf32>
    }
  }
  func.return
}

// -----

// Few rows, rows under a condition of their own, and scalars are written out here.
// CHECK-LABEL: func.func private @others
// CHECK-NOT:     scf.for
// CHECK:         func.return
func.func private @others(%a: memref<6x8xf32>, %n: index) {
  loop.for parallel unroll "few" %i = 0 to 3 {
    loop.for parallel vector "j" %j = 0 to 8 {
      %x = loop.load %a[%i, %j] : memref<6x8xf32>
      %y = arith.addf %x, %x : f32
      loop.store %y, %a[%i, %j] : memref<6x8xf32>
    }
  }
  loop.for parallel unroll "some" %i = 0 to 6 {
    loop.if (%n - %i - 1 >= 0) {
      loop.for parallel vector "j.some" %j = 0 to 8 {
        %x = loop.load %a[%i, %j] : memref<6x8xf32>
        %y = arith.addf %x, %x : f32
        loop.store %y, %a[%i, %j] : memref<6x8xf32>
      }
    }
  }
  loop.for parallel unroll "scalars" %i = 0 to 6 {
    %x = loop.load %a[%i, 0] : memref<6x8xf32>
    %y = arith.addf %x, %x : f32
    loop.store %y, %a[%i, 0] : memref<6x8xf32>
  }
  func.return
}


// -----

// Two vectors of a row are written out here, and with them all loops over the same tile, and over what these share with it.
// CHECK-LABEL: func.func private @shared
// CHECK-NOT:     stepwell.mode
// CHECK:         func.return
func.func private @shared(%a: memref<6x64xf32>, %b: memref<64x16xf32>, %c: memref<6x16xf32>) {
  %tile = loop.alloc register : memref<6x16xf32>
  %panel = loop.alloc stack : memref<6x16xf32>
  loop.for reduction "k" %k = 0 to 64 {
    loop.for parallel unroll "i" %i = 0 to 6 {
      loop.for parallel unroll "v" %v = 0 to 2 {
        loop.for parallel vector "j" %j = 0 to 8 {
          %x = loop.load %a[%i, %k] : memref<6x64xf32>
          %y = loop.load %b[%k, %v * 8 + %j] : memref<64x16xf32>
          %p = arith.mulf %x, %y fastmath<contract> : f32
          %old = loop.load %tile[%i, %v * 8 + %j] : memref<6x16xf32>
          %new = arith.addf %old, %p fastmath<reassoc,contract> : f32
          loop.store %new, %tile[%i, %v * 8 + %j] : memref<6x16xf32>
        }
      }
    }
  }
  loop.for parallel unroll "i.out" %i = 0 to 6 {
    loop.for parallel vector "j.out" %j = 0 to 16 {
      %x = loop.load %tile[%i, %j] : memref<6x16xf32>
      loop.store %x, %panel[%i, %j] : memref<6x16xf32>
    }
  }
  loop.for parallel unroll "i.finish" %i = 0 to 6 {
    loop.for parallel vector "j.finish" %j = 0 to 16 {
      %x = loop.load %panel[%i, %j] : memref<6x16xf32>
      loop.store %x, %c[%i, %j] : memref<6x16xf32>
    }
  }
  func.return
}

// Four billion iterations stay a loop.
// CHECK-LABEL: func.func @too_many
// CHECK:         scf.for
func.func @too_many(%a: memref<4294967296xi8>) {
  loop.for parallel unroll "i" %i = 0 to 4294967296 {
    %x = arith.constant 1 : i8
    loop.store %x, %a[%i] : memref<4294967296xi8>
  }
  func.return
}

// RUN: stepwell-opt %s -p 'loop-stage{buffer=sums/C at=b into=part scope=register accumulate=true}' | filecheck %s --check-prefix SUMS
// RUN: stepwell-opt %s -p 'loop-stage{buffer=greatest/C at=b accumulate=true}' | filecheck %s --check-prefix GREATEST
// RUN: stepwell-opt %s -p 'loop-stage{buffer=sums/C at=i.tile pads=4 accumulate=true}' | filecheck %s --check-prefix PADDED
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=strict/C at=b accumulate=true}' 2>&1 | filecheck %s --check-prefix STRICT
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=sums/A at=b accumulate=true}' 2>&1 | filecheck %s --check-prefix READ
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=mixed/C at=b accumulate=true}' 2>&1 | filecheck %s --check-prefix MIXED
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=sums/C at=b element=f64 accumulate=true}' 2>&1 | filecheck %s --check-prefix BOTH

// The copy begins with -0, to which 0 and -0 are added unchanged, and is added to the buffer when the block of terms is complete.
// SUMS-LABEL: func.func private @sums
// SUMS:         loop.for serial "b" %b = 0 to 2 {
// SUMS-NEXT:      %part = loop.alloc register : memref<10xf32>
// SUMS-NEXT:      loop.for parallel "part.in0" %c0 = 0 to 10 {
// SUMS-NEXT:        %0 = arith.constant -0.000000e+00 : f32
// SUMS-NEXT:        loop.store %0, %part[%c0]
// SUMS-NEXT:      }
// SUMS-NEXT:      loop.for parallel "i.tile"
// SUMS:             %s = arith.addf %c, %a fastmath<reassoc> : f32
// SUMS-NEXT:        loop.store %s, %part[%i]
// SUMS:           loop.for parallel "part.out0" %c0_1 = 0 to 10 {
// SUMS-NEXT:        %1 = loop.load %part[%c0_1]
// SUMS-NEXT:        %2 = loop.load %C[%c0_1]
// SUMS-NEXT:        %3 = arith.addf %2, %1 fastmath<reassoc> : f32
// SUMS-NEXT:        loop.store %3, %C[%c0_1]
// PADDED-LABEL: func.func private @sums
// PADDED:         loop.for parallel "i.tile" %t = 0 to 10 step 4 {
// PADDED-NEXT:      %C.staged = loop.alloc stack : memref<4xf32>
// PADDED-NEXT:      loop.for parallel "C.staged.in0" %c0 = 0 to 4 {
// PADDED-NEXT:        %0 = arith.constant -0.000000e+00 : f32
// PADDED:           loop.for parallel "C.staged.out0" %c0_1 = 0 to min(4, -%t + 10) {
// READ: error: {{.*}}stage_accumulate.mlir:{{.*}}: stage("sums/A", at="b", accumulate=True) is refused: 'loop.load' is no part of an update whose order does not matter; leave out accumulate; floating-point sums and products need fastmath<reassoc>
// BOTH: error: {{.*}} is refused: element is given with accumulate; leave out one of them
func.func private @sums(%A: memref<2x5x10xf32> {stepwell.noalias}, %C: memref<10xf32> {stepwell.noalias}) {
  loop.for serial "b" %b = 0 to 2 {
    loop.for parallel "i.tile" %t = 0 to 10 step 4 {
      loop.for reduction "k" %k = 0 to 5 {
        loop.for parallel "i" %i = %t to min(%t + 4, 10) {
          %a = loop.load %A[%b, %k, %i] : memref<2x5x10xf32>
          %c = loop.load %C[%i] : memref<10xf32>
          %s = arith.addf %c, %a fastmath<reassoc> : f32
          loop.store %s, %C[%i] : memref<10xf32>
        }
      }
    }
  }
  func.return
}

// GREATEST-LABEL: func.func private @greatest
// GREATEST:         %0 = arith.constant {{0xff800000|0xFF800000|-inf.*}} : f32
// GREATEST:         loop.for parallel "C.staged.out0"
// GREATEST:         %3 = arith.maximumf %1, %2 : f32
func.func private @greatest(%A: memref<2x5x10xf32> {stepwell.noalias}, %C: memref<10xf32> {stepwell.noalias}) {
  loop.for serial "b" %b = 0 to 2 {
    loop.for reduction "k" %k = 0 to 5 {
      loop.for parallel "i" %i = 0 to 10 {
        %a = loop.load %A[%b, %k, %i] : memref<2x5x10xf32>
        %c = loop.load %C[%i] : memref<10xf32>
        %s = arith.maximumf %a, %c : f32
        loop.store %s, %C[%i] : memref<10xf32>
      }
    }
  }
  func.return
}

// STRICT: error: {{.*}}: stage("strict/C", at="b", accumulate=True) is refused: 'loop.load' is no part of an update whose order does not matter; leave out accumulate; floating-point sums and products need fastmath<reassoc>
func.func private @strict(%A: memref<2x10xf32> {stepwell.noalias}, %C: memref<10xf32> {stepwell.noalias}) {
  loop.for serial "b" %b = 0 to 2 {
    loop.for parallel "i" %i = 0 to 10 {
      %a = loop.load %A[%b, %i] : memref<2x10xf32>
      %c = loop.load %C[%i] : memref<10xf32>
      %s = arith.addf %c, %a : f32
      loop.store %s, %C[%i] : memref<10xf32>
    }
  }
  func.return
}

// MIXED: error: {{.*}} is refused: updates are by add and max, expected one operator with an identity; leave out accumulate
func.func private @mixed(%A: memref<2x10xi32> {stepwell.noalias}, %C: memref<10xi32> {stepwell.noalias}) {
  loop.for serial "b" %b = 0 to 2 {
    loop.for parallel "i" %i = 0 to 10 {
      %a = loop.load %A[%b, %i] : memref<2x10xi32>
      %c = loop.load %C[%i] : memref<10xi32>
      %s = arith.addi %c, %a : i32
      loop.store %s, %C[%i] : memref<10xi32>
    }
    loop.for parallel "j" %j = 0 to 10 {
      %a = loop.load %A[%b, %j] : memref<2x10xi32>
      %c = loop.load %C[%j] : memref<10xi32>
      %s = arith.maxsi %c, %a : i32
      loop.store %s, %C[%j] : memref<10xi32>
    }
  }
  func.return
}

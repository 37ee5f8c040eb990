// RUN: stepwell-opt %s -p 'loop-parallel{loop=f/i}' | filecheck %s
// RUN: not stepwell-opt %s -p 'loop-parallel{loop=f/k}' 2>&1 | filecheck %s --check-prefix REDUCTION
// RUN: not stepwell-opt %s -p 'loop-parallel{loop=f/i},loop-parallel{loop=f/j}' 2>&1 | filecheck %s --check-prefix TWICE
// RUN: not stepwell-opt %s -p 'loop-parallel{loop=scratch/i}' 2>&1 | filecheck %s --check-prefix SCRATCH
// RUN: not stepwell-opt %s -p 'loop-parallel{loop=wave/i}' 2>&1 | filecheck %s --check-prefix WAVE
// RUN: not stepwell-opt %s -p 'loop-parallel{loop=call/i}' 2>&1 | filecheck %s --check-prefix CALL
// RUN: not stepwell-opt %s -p 'loop-parallel{loop=indirect/i}' 2>&1 | filecheck %s --check-prefix INDIRECT
// RUN: stepwell-opt %s -p 'loop-parallel{loop=inside/i}' | filecheck %s --check-prefix INSIDE

// CHECK: loop.for parallel threads "i" %i = 0 to 17 {
// REDUCTION: error: {{.*}}parallel("f/k") is refused: {{.*}} dependence through '%C' at distance (0, 0, <); iterations (i=0, j=0, k=0) and (i=0, j=0, k=1) would be raced; rfactor 'k', or choose 'i' or 'j'
// TWICE: error: {{.*}}parallel("f/j") is refused: it stands inside loop 'i', which is marked 'threads'; mark one of the two
func.func private @f(%A: memref<17x17xf32>, %B: memref<17x17xf32>, %C: memref<17x17xf32>) {
  loop.for serial "i" %i = 0 to 17 {
    loop.for serial "j" %j = 0 to 17 {
      loop.for serial "k" %k = 0 to 17 {
        %a = loop.load %A[%i, %k] : memref<17x17xf32>
        %b = loop.load %B[%k, %j] : memref<17x17xf32>
        %p = arith.mulf %a, %b : f32
        %c = loop.load %C[%i, %j] : memref<17x17xf32>
        %s = arith.addf %c, %p fastmath<reassoc> : f32
        loop.store %s, %C[%i, %j] : memref<17x17xf32>
      }
    }
  }
  func.return
}

// SCRATCH: error: {{.*}}parallel("scratch/i") is refused: {{.*}} dependence through '%T' at distance (<{{.*}}); iterations (i=0, j=0) and (i=1, j=0) would be raced; give each iteration a buffer of its own: stage 'T' at 'i'
func.func private @scratch(%A: memref<17x17xf32>, %B: memref<17x17xf32>) {
  %T = loop.alloc stack : memref<17xf32>
  loop.for serial "i" %i = 0 to 17 {
    loop.for parallel "j" %j = 0 to 17 {
      %a = loop.load %A[%i, %j] : memref<17x17xf32>
      loop.store %a, %T[%j] : memref<17xf32>
    }
    loop.for parallel "k" %k = 0 to 17 {
      %a = loop.load %T[16 - %k] : memref<17xf32>
      loop.store %a, %B[%i, %k] : memref<17x17xf32>
    }
  }
  func.return
}

// INSIDE-LABEL: func.func private @inside
// INSIDE: loop.for parallel threads "i"
func.func private @inside(%A: memref<17x17xf32>, %B: memref<17x17xf32>) {
  loop.for serial "i" %i = 0 to 17 {
    %T = loop.alloc stack : memref<17xf32>
    loop.for parallel "j" %j = 0 to 17 {
      %a = loop.load %A[%i, %j] : memref<17x17xf32>
      loop.store %a, %T[%j] : memref<17xf32>
    }
    loop.for parallel "k" %k = 0 to 17 {
      %a = loop.load %T[16 - %k] : memref<17xf32>
      loop.store %a, %B[%i, %k] : memref<17x17xf32>
    }
  }
  func.return
}

// WAVE: error: {{.*}}flow dependence through '%A' at distance (1, -1); iterations (i=1, j=2) and (i=2, j=1) would be raced; choose 'j', which is parallel
func.func private @wave(%A: memref<17x17xf32>) {
  loop.for serial "i" %i = 1 to 16 {
    loop.for serial "j" %j = 1 to 16 {
      %a = loop.load %A[%i - 1, %j + 1] : memref<17x17xf32>
      loop.store %a, %A[%i, %j] : memref<17x17xf32>
    }
  }
  func.return
}

// CALL: error: {{.*}}parallel("call/i") is refused: 'func.call' ({{.*}}) has unknown effects, which may have to happen in order
func.func private @print()
func.func private @call() {
  loop.for serial "i" %i = 1 to 16 {
    func.call @print() : () -> ()
  }
  func.return
}

// INDIRECT: error: {{.*}}parallel("indirect/i") is refused: the store to '%A' ({{.*}}) must come after the store to '%A' ({{.*}}): output dependence through '%A' at distance (<) that may exist (an access is not affine); iterations (i=0) and (i=1) would be raced
func.func private @indirect(%A: memref<17xf32>, %B: memref<17xindex>, %v: f32) {
  loop.for serial "i" %i = 0 to 17 {
    %n = loop.load %B[%i] : memref<17xindex>
    loop.store %v, %A[%n] : memref<17xf32>
  }
  func.return
}

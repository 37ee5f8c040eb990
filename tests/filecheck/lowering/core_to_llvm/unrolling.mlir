// RUN: stepwell-opt %s -p convert-loop-to-core,convert-core-to-llvm | filecheck %s
// RUN: stepwell-opt %s -p convert-loop-to-core,convert-core-to-llvm | stepwell-opt | filecheck %s
// RUN: stepwell compile %s --target x86-64-v3 --emit llvm-ir -o - | filecheck %s --check-prefix IR

// LLVM writes loops out as it sees fit where they have four iterations at most. Others stay as a schedule left them.

// CHECK-LABEL: llvm.func @long
// CHECK:         llvm.br ^{{.*}}({{.*}}) {stepwell.no_unroll}
// IR-LABEL:    @long(
// IR:            br i1 {{.*}} !llvm.loop ![[LOOP:[0-9]+]]
func.func @long(%A: memref<16xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c5 step %c1 {
    memref.store %v, %A[%i] : memref<16xf32>
  }
  func.return
}

// CHECK-LABEL: llvm.func @short
// CHECK-NOT:     stepwell.no_unroll
func.func @short(%A: memref<16xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c16 step %c4 {
    memref.store %v, %A[%i] : memref<16xf32>
  }
  func.return
}

// The rest of a block: no more iterations than a whole one has.
// CHECK-LABEL: llvm.func @block
// CHECK-NOT:     stepwell.no_unroll
func.func @block(%A: memref<16xf32>, %v: f32, %low: index, %n: index) {
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  %end = arith.addi %low, %c4 : index
  %high = arith.minsi %end, %n : index
  scf.for %i = %low to %high step %c1 {
    memref.store %v, %A[%i] : memref<16xf32>
  }
  func.return
}

// CHECK-LABEL: llvm.func @open
// CHECK:         {stepwell.no_unroll}
func.func @open(%A: memref<16xf32>, %v: f32, %low: index, %high: index) {
  %c1 = arith.constant 1 : index
  scf.for %i = %low to %high step %c1 {
    memref.store %v, %A[%i] : memref<16xf32>
  }
  func.return
}

// Four iterations that load as much as half of a register file holds.
// CHECK-LABEL: llvm.func @wide
// CHECK:         {stepwell.no_unroll}
func.func @wide(%A: memref<256xf32>, %B: memref<256xf32>) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c256 step %c64 {
    %a = vector.load %A[%i] : memref<256xf32>, vector<64xf32>
    vector.store %a, %B[%i] : memref<256xf32>, vector<64xf32>
  }
  func.return
}

// Numbers that stand in all lanes take registers, too.
// CHECK-LABEL: llvm.func @broadcast
// CHECK:         {stepwell.no_unroll}
func.func @broadcast(%A: memref<4xf32>, %B: memref<256xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %a = memref.load %A[%i] : memref<4xf32>
    %v = vector.broadcast %a : f32 to vector<64xf32>
    vector.store %v, %B[%c0] : memref<256xf32>, vector<64xf32>
  }
  func.return
}

// CHECK-LABEL: llvm.func @narrow
// CHECK-NOT:     stepwell.no_unroll
func.func @narrow(%A: memref<128xf32>, %B: memref<128xf32>) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c128 step %c32 {
    %a = vector.load %A[%i] : memref<128xf32>, vector<32xf32>
    vector.store %a, %B[%i] : memref<128xf32>, vector<32xf32>
  }
  func.return
}

// Three iterations, each of which loads 14 vectors in a loop of its own.
// CHECK-LABEL: llvm.func @nested
// CHECK:         {stepwell.no_unroll}
// CHECK:         {stepwell.no_unroll}
// CHECK-LABEL: llvm.func @written_out
func.func @nested(%A: memref<256xf32>, %B: memref<256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c14 = arith.constant 14 : index
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c14 step %c1 {
      %at = arith.addi %i, %j : index
      %a = vector.load %A[%at] : memref<256xf32>, vector<16xf32>
      vector.store %a, %B[%at] : memref<256xf32>, vector<16xf32>
    }
  }
  func.return
}

// A loop that a schedule has written out: neither unrolled nor put into vectors, however short it is.
// CHECK:         llvm.br ^{{.*}}({{.*}}) {stepwell.no_vectors, stepwell.no_unroll}
// IR-LABEL:    @written_out(
// IR-NOT:        <{{[0-9]+}} x float>
// IR:            br i1 {{.*}} !llvm.loop
func.func @written_out(%A: memref<64xf32>, %B: memref<64xf32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 64 attributes {stepwell.unrolled} {
    %a = loop.load %A[%i] : memref<64xf32>
    loop.store %a, %B[%i] : memref<64xf32>
  }
  func.return
}

// One row of a register tile stands for all: LLVM writes them out, and keeps what they sum up in registers.
// CHECK-LABEL: llvm.func @rows
// CHECK:         llvm.alloca %{{.*}} x !llvm.array<40 x f32>
// CHECK:         llvm.br ^{{.*}}({{.*}}) {stepwell.unroll}
// IR-LABEL:    @rows(
// IR-NOT:        alloca
// IR-COUNT-5:    fadd contract <8 x float>
// IR-NOT:        fadd x float>
func.func @rows(%A: memref<5x64xf32>, %B: memref<64x8xf32>, %C: memref<5x8xf32>) attributes {stepwell.noalias} {
  %tile = loop.alloc register : memref<5x8xf32>
  loop.for parallel unroll "first" %i = 0 to 5 {
    loop.for parallel vector "first.j" %j = 0 to 8 {
      %old = loop.load %C[%i, %j] : memref<5x8xf32>
      loop.store %old, %tile[%i, %j] : memref<5x8xf32>
    }
  }
  loop.for reduction "k" %k = 0 to 64 {
    loop.for parallel unroll "i" %i = 0 to 5 {
      loop.for parallel vector "j" %j = 0 to 8 {
        %a = loop.load %A[%i, %k] : memref<5x64xf32>
        %b = loop.load %B[%k, %j] : memref<64x8xf32>
        %p = arith.mulf %a, %b : f32
        %old = loop.load %tile[%i, %j] : memref<5x8xf32>
        %new = arith.addf %old, %p : f32
        loop.store %new, %tile[%i, %j] : memref<5x8xf32>
      }
    }
  }
  loop.for parallel unroll "last" %i = 0 to 5 {
    loop.for parallel vector "last.j" %j = 0 to 8 {
      %sum = loop.load %tile[%i, %j] : memref<5x8xf32>
      loop.store %sum, %C[%i, %j] : memref<5x8xf32>
    }
  }
  func.return
}

// LLVM 22 may end the process by an assertion where it puts a sum of greater numbers into lanes: these loops stay as they are. Those around
// them are not its to put there.
// CHECK-LABEL: llvm.func @greatest
// CHECK:         llvm.call_intrinsic "llvm.maxnum.f32"
// CHECK:         llvm.br ^{{.*}}({{.*}}) {stepwell.no_vectors, stepwell.no_unroll}
// CHECK:         llvm.br ^{{.*}}({{.*}}) {stepwell.no_unroll}
// IR-LABEL:    @greatest(
// IR:            call nsz float @llvm.maxnum.f32
// IR-NOT:        x float>
// IR:            ret
func.func @greatest(%A: memref<9x31xf32>, %out: memref<9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c31 = arith.constant 31 : index
  %first = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c9 step %c1 {
    %m = scf.for %j = %c0 to %c31 step %c1 iter_args(%so_far = %first) -> (f32) {
      %a = memref.load %A[%i, %j] : memref<9x31xf32>
      %next = arith.maxnumf %so_far, %a : f32
      scf.yield %next : f32
    }
    memref.store %m, %out[%i] : memref<9xf32>
  }
  func.return
}

// IR-DAG:      ![[LOOP]] = distinct !{![[LOOP]], ![[OFF:[0-9]+]]
// IR-DAG:      !{!"llvm.loop.unroll.disable"}
// IR-DAG:      !{!"llvm.loop.vectorize.enable", i1 false}

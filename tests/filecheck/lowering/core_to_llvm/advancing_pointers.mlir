// RUN: stepwell-opt %s -p "convert-core-to-llvm{vector_bits=512}" | filecheck %s
// RUN: stepwell-opt %s -p "convert-core-to-llvm{vector_bits=512 own_loads=true}" | filecheck %s --check-prefix=OWN
// RUN: stepwell-opt %s -p "convert-core-to-llvm{vector_bits=256}" | filecheck %s --check-prefix=NONE

// Rows of %a go into all lanes: all are numbers away from a pointer that advances with the loop.
// CHECK-LABEL: llvm.func @one_register
// CHECK:         %[[ROW:.*]] = llvm.mul %row, %c128
// CHECK:         %[[START:.*]] = llvm.getelementptr %a[%[[ROW]]]
// CHECK:         llvm.br ^[[LOOP:.*]](%c0, %[[START]] : i64, !llvm.ptr)
// CHECK-NEXT:  ^[[LOOP]](%k: i64, %[[AT:.*]]: !llvm.ptr):
// CHECK:         %[[FURTHER:.*]] = llvm.mul %i, %c128
// CHECK-NEXT:    %[[PLACE:.*]] = llvm.getelementptr %[[AT]][%[[FURTHER]]]
// CHECK-NEXT:    llvm.load %[[PLACE]] {{.*}} -> f32
// CHECK:         %[[NEXT:.*]] = llvm.getelementptr %[[AT]][1]
// CHECK-NEXT:    %[[HIDDEN:.*]] = llvm.inline_asm "", "=r,0" %[[NEXT]]
// CHECK-NEXT:    llvm.br ^[[LOOP]](%{{.*}}, %[[HIDDEN]] : i64, !llvm.ptr)

// NONE-NOT:    llvm.inline_asm
func.func @one_register(%a: memref<64x128xf32>, %c: memref<8x16xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  scf.for %k = %c0 to %c128 step %c1 {
    scf.for %i = %c0 to %c8 step %c1 {
      %at = arith.addi %i, %row : index
      %x = memref.load %a[%at, %k] : memref<64x128xf32>
      %xs = vector.broadcast %x : f32 to vector<16xf32>
      vector.store %xs, %c[%i, %c0] : memref<8x16xf32>, vector<16xf32>
    } {stepwell.mode = "unroll"}
  }
  func.return
}

// Two registers, or two multiply-adds with one, load each by itself where that is free.
// CHECK-LABEL: llvm.func @two_registers
// CHECK-NOT:     llvm.inline_asm

// OWN-LABEL:   llvm.func @two_registers
// OWN:         ^{{.*}}(%{{.*}}: i64, %[[A:.*]]: !llvm.ptr, %[[B:.*]]: !llvm.ptr):
// OWN:           %[[P:.*]] = llvm.getelementptr %[[A]]
// OWN-NEXT:      %[[X:.*]] = llvm.load %[[P]] {{.*}} -> f32
// OWN:           %[[Q:.*]] = llvm.getelementptr %[[B]]
// OWN-NEXT:      %[[Y:.*]] = llvm.load %[[Q]] {{.*}} -> f32
// OWN:           llvm.insertelement %[[X]]
// OWN:           llvm.insertelement %[[Y]]
// OWN:           llvm.shufflevector {{.*}} : vector<16xf32>
// OWN:           llvm.inline_asm
// OWN:           llvm.inline_asm
func.func @two_registers(%a: memref<64x128xf32>, %c: memref<8x32xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  scf.for %k = %c0 to %c128 step %c1 {
    scf.for %i = %c0 to %c8 step %c1 {
      %at = arith.addi %i, %row : index
      %x = memref.load %a[%at, %k] : memref<64x128xf32>
      %xs = vector.broadcast %x : f32 to vector<32xf32>
      vector.store %xs, %c[%i, %c0] : memref<8x32xf32>, vector<32xf32>
    } {stepwell.mode = "unroll"}
  }
  func.return
}

// RUN: stepwell-opt %s -p convert-core-to-llvm --split-input-file | filecheck %s

// An address is computed once, where it is certain to be known later: not what a branch or a loop has computed.
// CHECK-LABEL: llvm.func @once
// CHECK:         %[[P:.*]] = llvm.getelementptr inbounds %x[%i, %j]
// CHECK-NEXT:    llvm.load %[[P]]
// CHECK-NEXT:    llvm.store %{{.*}}, %[[P]]
// CHECK:         llvm.cond_br
// CHECK:         llvm.store %{{.*}}, %[[P]]
// CHECK:         %[[Q:.*]] = llvm.getelementptr inbounds %x[%j, %i]
// CHECK-NEXT:    llvm.store %{{.*}}, %[[Q]]
// CHECK:         %[[R:.*]] = llvm.getelementptr inbounds %x[%j, %i]
// CHECK-NEXT:    llvm.store %{{.*}}, %[[R]]
// CHECK-NOT:     llvm.getelementptr
func.func @once(%c: i1, %x: memref<8x8xf32>, %i: index, %j: index) {
  %v = memref.load %x[%i, %j] : memref<8x8xf32>
  memref.store %v, %x[%i, %j] : memref<8x8xf32>
  scf.if %c {
    memref.store %v, %x[%i, %j] : memref<8x8xf32>
    memref.store %v, %x[%j, %i] : memref<8x8xf32>
    scf.yield
  }
  memref.store %v, %x[%j, %i] : memref<8x8xf32>
  func.return
}

// -----

// A copy element by element computes the addresses in its own loop.
// CHECK-LABEL: llvm.func @copied
// CHECK-COUNT-3: llvm.getelementptr
// CHECK-NOT:     llvm.getelementptr
func.func @copied(%x: memref<8xf32, strided<[2]>>, %y: memref<8xf32>, %i: index) {
  "memref.copy"(%x, %y) : (memref<8xf32, strided<[2]>>, memref<8xf32>) -> ()
  %v = memref.load %x[%i] : memref<8xf32, strided<[2]>>
  func.return
}

// -----

// Another view of the memory has other addresses.
// CHECK-LABEL: llvm.func @views
// CHECK:         llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         llvm.getelementptr inbounds %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
func.func @views(%x: memref<64xi8>, %i: index) {
  %c0 = arith.constant 0 : index
  %a = memref.view %x[%c0][] : memref<64xi8> to memref<8xf32>
  %b = memref.view %x[%c0][] : memref<64xi8> to memref<8xf64>
  %v = memref.load %a[%i] : memref<8xf32>
  %w = memref.load %b[%i] : memref<8xf64>
  func.return
}

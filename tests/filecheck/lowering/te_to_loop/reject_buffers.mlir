// RUN: stepwell-opt %s -p convert-te-to-loop --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @argument(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  te.kernel "k" (%a = %x) into (%x) : (memref<4xf32>) -> memref<4xf32> {
    %s = te.compute [%i = 4] (%v = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> { te.yield %v : f32 }
    te.yield %s : tensor<4xf32>
  }
  func.return
}
// CHECK: reject_buffers.mlir:{{[0-9]+}}:3: found kernel 'k' writing into the argument %x, which is only read, expected a result or a buffer; give it another destination

// -----

"memref.global"() <{sym_name = "c", type = memref<4xf32>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
func.func @constant(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  %c = memref.get_global @c : memref<4xf32>
  te.kernel "k" (%a = %x) into (%c) : (memref<4xf32>) -> memref<4xf32> {
    te.yield %a : tensor<4xf32>
  }
  func.return
}
// CHECK: reject_buffers.mlir:{{[0-9]+}}:3: found kernel 'k' writing into a constant, which is only read, expected a result or a buffer; give it another destination

// -----

// Two halves of rows are apart, though the addresses that they span overlap; rows that reach into the next are not.
func.func @overlap(%y: memref<4x6xf32> {stepwell.result}) {
  %three = arith.constant 3 : index
  %two = arith.constant 2 : index
  %a = memref.reinterpret_cast %y to offset: [0], sizes: [4, 3], strides: [6, 1] : memref<4x6xf32> to memref<4x3xf32, strided<[6, 1]>>
  %b = memref.reinterpret_cast %y to offset: [%three], sizes: [4, 3], strides: [6, 1] : memref<4x6xf32> to memref<4x3xf32, strided<[6, 1], offset: ?>>
  te.kernel "right" (%s = %a) into (%b) : (memref<4x3xf32, strided<[6, 1]>>) -> memref<4x3xf32, strided<[6, 1], offset: ?>> {
    te.yield %s : tensor<4x3xf32>
  }
  %c = memref.reinterpret_cast %y to offset: [%two], sizes: [4, 3], strides: [6, 1] : memref<4x6xf32> to memref<4x3xf32, strided<[6, 1], offset: ?>>
  te.kernel "wrong" (%s = %a) into (%c) : (memref<4x3xf32, strided<[6, 1]>>) -> memref<4x3xf32, strided<[6, 1], offset: ?>> {
    te.yield %s : tensor<4x3xf32>
  }
  func.return
}
// CHECK: reject_buffers.mlir:{{[0-9]+}}:3: found kernel 'wrong' writing into elements of another operand, expected buffers that are apart, or one operand that it updates in place; give it another destination

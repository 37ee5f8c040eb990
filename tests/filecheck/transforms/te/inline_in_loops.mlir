// RUN: stepwell-opt %s -p te-inline-in-loops | filecheck %s
// RUN: stepwell-opt %s --remarks -p te-inline-in-loops 2>&1 >/dev/null | filecheck %s --check-prefix=WHY
// RUN: stepwell-opt %s -p te-inline-in-loops,convert-te-to-loop,loop-plan-memory | filecheck %s --check-prefix=MEMORY

// A kernel of few elements stands in the loop that runs it at each step; before the loop, and with more elements, it is called.
// What only such kernels use is on the stack.

// WHY: 'small' stands in the loop: it costs 4 additions
// WHY: 'large' is called at each step: it costs 65 additions, more than 64

// CHECK-LABEL: func.func @steps(
// CHECK:         te.kernel "small"
// CHECK:         scf.for
// CHECK:           te.kernel inline "small"
// CHECK:           te.kernel "large"

// MEMORY-LABEL: func.func @steps(
// MEMORY-SAME:      %arena: memref<640xi8> {stepwell.arena}
// MEMORY-DAG:     %state = loop.alloc stack : memref<4xf32>
// MEMORY-DAG:     %many = memref.view %arena
// MEMORY:         scf.for
// MEMORY-NOT:       call
// MEMORY:           loop.load %state
// MEMORY:           func.call @steps.large
func.func @steps(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %state = loop.alloc arena : memref<4xf32>
  %many = loop.alloc arena : memref<65xf32>
  %others = loop.alloc arena : memref<65xf32>
  "memref.copy"(%x, %state) : (memref<4xf32>, memref<4xf32>) -> ()
  te.kernel "small" (%a = %x) into (%y) : (memref<4xf32>) -> memref<4xf32> {
    %r = te.compute [%i = 4] (%v = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
      %w = arith.addf %v, %v : f32
      te.yield %w : f32
    }
    te.yield %r : tensor<4xf32>
  }
  scf.for %t = %c0 to %c9 step %c1 {
    te.kernel "small" (%a = %state) into (%state) : (memref<4xf32>) -> memref<4xf32> {
      %r = te.compute [%i = 4] (%v = %a[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
        %w = arith.addf %v, %v : f32
        te.yield %w : f32
      }
      te.yield %r : tensor<4xf32>
    }
    te.kernel "large" (%a = %many) into (%others) : (memref<65xf32>) -> memref<65xf32> {
      %r = te.compute [%i = 65] (%v = %a[%i]) : (tensor<65xf32>) -> tensor<65xf32> {
        %w = arith.addf %v, %v : f32
        te.yield %w : f32
      }
      te.yield %r : tensor<65xf32>
    }
  }
  "memref.copy"(%state, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

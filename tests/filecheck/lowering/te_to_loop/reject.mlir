// RUN: stepwell-opt %s -p convert-te-to-loop --split-input-file --parsing-diagnostics --verify-diagnostics | filecheck %s

func.func @graph(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.exp %x : tensor<4xf32>
  func.return %r : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found 'graph.exp', expected only te operations; run convert-graph-to-te first

// -----

func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  func.return %x : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:1: found 2 blocks in 'blocks', expected one, of straight-line code over tensors; express the branch with te.compute

// -----

func.func @dynamic_argument(%x: tensor<?xf32>) -> tensor<4xf32> {
  %r = te.compute [%i = 4] (%a = %x[%i]) : (tensor<?xf32>) -> tensor<4xf32> {
    te.yield %a : f32
  }
  func.return %r : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found 'te.compute' with the dynamic shape tensor<?xf32>, expected static extents for te-bufferize; give the sizes as numbers

// -----

func.func @dynamic_inside_a_kernel(%x: tensor<4xf32>, %n: index) -> tensor<f32> {
  %r = te.kernel "k" (%y = %x, %m = %n) : (tensor<4xf32>, index) -> tensor<f32> {
    %s = te.compute [%i = %m] (%a = %y[%i]) : (tensor<4xf32>) -> tensor<?xf32> {
      te.yield %a : f32
    }
    %t = te.compute [] add [%k = %m] (%a = %s[%k]) : (tensor<?xf32>) -> tensor<f32> {
      te.yield %a : f32
    }
    te.yield %t : tensor<f32>
  }
  func.return %r : tensor<f32>
}
// CHECK: reject.mlir:{{[0-9]+}}:10: found 'te.compute' with the dynamic shape tensor<?xf32>, expected static extents for te-bufferize; give the sizes as numbers

// -----

func.func private @dynamic_declaration(tensor<?xf32>)
// CHECK: reject.mlir:{{[0-9]+}}:1: found 'func.func' with the dynamic shape tensor<?xf32>, expected static extents for te-bufferize; give the sizes as numbers

// -----

func.func @element(%x: tensor<4xf32>, %n: index) -> f32 {
  %v = tensor.extract %x[%n] : tensor<4xf32>
  func.return %v : f32
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found 'tensor.extract' on tensors, which te-bufferize has no buffers for; express it with te.compute

// -----

func.func @branch(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %r = scf.if %c -> (tensor<4xf32>) {
    scf.yield %x : tensor<4xf32>
  } else {
    %y = te.compute [%i = 4] (%a = %x[%i]) : (tensor<4xf32>) -> tensor<4xf32> {
      te.yield %a : f32
    }
    scf.yield %y : tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:8: found 'scf.if' on tensors, which te-bufferize has no buffers for; express it with te.compute

// -----

func.func @inside_a_branch(%x: tensor<4xf32>, %c: i1, %n: index) {
  scf.if %c {
    %v = tensor.extract %x[%n] : tensor<4xf32>
  }
  func.return
}
// CHECK: reject.mlir:{{[0-9]+}}:3: found 'scf.if' on tensors, which te-bufferize has no buffers for; express it with te.compute

// -----

func.func @tensor_in_a_body(%x: tensor<4xf32>, %c: tensor<3xi1>) -> tensor<3xf32> {
  %r = te.compute [%i = 3] (%t = %x, %b = %c[%i]) : (tensor<4xf32>, tensor<3xi1>) -> tensor<3xf32> {
    %z = arith.constant 0.0 : f32
    %v = scf.if %b -> (f32) {
      %e = tensor.extract %t[%i] : tensor<4xf32>
      scf.yield %e : f32
    } else {
      scf.yield %z : f32
    }
    te.yield %v : f32
  }
  func.return %r : tensor<3xf32>
}
// CHECK: reject.mlir:{{[0-9]+}}:12: found 'tensor.extract' on a tensor in the body of a te.compute, expected only scalars, and tensor.extract outside of inner regions; read the element before

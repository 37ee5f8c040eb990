// RUN: stepwell-opt %s -p 'convert-te-to-loop{fp=strict}' | filecheck %s --check-prefix STRICT
// RUN: stepwell-opt %s -p 'convert-te-to-loop{fp=contract}' | filecheck %s --check-prefix CONTRACT
// RUN: stepwell-opt %s -p 'convert-te-to-loop{fp=fast}' | filecheck %s --check-prefix FAST
// RUN: not stepwell-opt %s -p 'convert-te-to-loop{fp=loose}' 2>&1 | filecheck %s --check-prefix LOOSE

// LOOSE: error: {{.*}}found fp='loose', expected one of strict, contract, fast; choose one of them

// Strictly, the loops of the sum keep their order, although the other one is contiguous.
// STRICT-LABEL: func.func @sum(
// STRICT:         loop.for reduction "k"
// STRICT-NEXT:      loop.for reduction "l"
// STRICT:             arith.mulf %a, %a : f32
// STRICT:             arith.subf %p, %a fastmath<nnan> : f32
// STRICT:             arith.addf %{{.*}}, %q : f32

// CONTRACT-LABEL: func.func @sum(
// CONTRACT:         loop.for reduction "l"
// CONTRACT-NEXT:      loop.for reduction "k"
// CONTRACT:             arith.mulf %a, %a fastmath<contract> : f32
// CONTRACT:             arith.subf %p, %a fastmath<nnan,contract> : f32
// CONTRACT:             arith.addf %{{.*}}, %q fastmath<reassoc,contract> : f32

// FAST-LABEL: func.func @sum(
// FAST:             arith.mulf %a, %a fastmath<fast> : f32
// FAST:             arith.addf %{{.*}}, %q fastmath<fast> : f32
func.func @sum(%x: tensor<7x3xf32>) -> tensor<f32> {
  %s = te.compute [] add [%k = 3, %l = 7] (%a = %x[%l, %k]) : (tensor<7x3xf32>) -> tensor<f32> {
    %p = arith.mulf %a, %a : f32
    %q = arith.subf %p, %a fastmath<nnan> : f32
    te.yield %q : f32
  }
  func.return %s : tensor<f32>
}

// The maximum starts from minus infinity, which `fast` would promise not to occur.
// STRICT-LABEL:   func.func @max(
// STRICT:           arith.maximumf %a, %{{.*}} : f32
// CONTRACT-LABEL: func.func @max(
// CONTRACT:         arith.maximumf %a, %{{.*}} fastmath<reassoc,nsz,contract> : f32
// FAST-LABEL:     func.func @max(
// FAST:             arith.maximumf %a, %{{.*}} fastmath<reassoc,nsz,contract> : f32
func.func @max(%x: tensor<7xf32>) -> tensor<f32> {
  %s = te.compute [] max [%k = 7] (%a = %x[%k]) : (tensor<7xf32>) -> tensor<f32> {
    te.yield %a : f32
  }
  func.return %s : tensor<f32>
}

// RUN: stepwell-opt %s -p loop-merge-kernels | filecheck %s
// RUN: stepwell-opt %s --remarks -p loop-merge-kernels 2>&1 >/dev/null | filecheck %s --check-prefix REMARK

// Kernels that differ in their names and in those of their loops and buffers are one, whatever constants they are
// given. `@other` computes something else, `@marked` is promised constants, `@own` has one of its own, and `@kept` is public.
// REMARK: remark: loop-merge-kernels: 'second' is the same kernel, and is compiled once
// REMARK-NOT: remark

"memref.global"() <{sym_name = "one", type = memref<4xf32>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "two", type = memref<4xf32>, initial_value = dense<2.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()

// CHECK-LABEL: func.func private @first(
// CHECK-NOT:   @second
// CHECK-LABEL: func.func private @other
// CHECK-LABEL: func.func private @marked
// CHECK-LABEL: func.func private @own
// CHECK-LABEL: func.func private @own_2
// CHECK-LABEL: func.func @kept
// CHECK-LABEL: func.func @main
// CHECK:         func.call @first(%a, %one, %b)
// CHECK-NEXT:    func.call @first(%b, %two, %c)
// CHECK-NEXT:    func.call @other(%a, %one, %c)
// CHECK-NEXT:    func.call @marked(%a, %one, %c)
// CHECK-NEXT:    func.call @own(%c)
// CHECK-NEXT:    func.call @own_2(%c)
// CHECK-NEXT:    func.call @kept(%a, %c)

func.func private @first(%x: memref<4xf32>, %w: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %x[%i] : memref<4xf32>
    %1 = loop.load %w[%i] : memref<4xf32>
    %2 = arith.addf %0, %1 : f32
    loop.store %2, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func private @second(%u: memref<4xf32>, %v: memref<4xf32>, %z: memref<4xf32> {stepwell.result}) {
  loop.for parallel "n" %n = 0 to 4 {
    %0 = loop.load %u[%n] : memref<4xf32>
    %1 = loop.load %v[%n] : memref<4xf32>
    %2 = arith.addf %0, %1 : f32
    loop.store %2, %z[%n] : memref<4xf32>
  }
  func.return
}

func.func private @other(%x: memref<4xf32>, %w: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %x[%i] : memref<4xf32>
    %1 = loop.load %w[%i] : memref<4xf32>
    %2 = arith.mulf %0, %1 : f32
    loop.store %2, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func private @marked(%x: memref<4xf32>, %w: memref<4xf32> {stepwell.constant}, %y: memref<4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %x[%i] : memref<4xf32>
    %1 = loop.load %w[%i] : memref<4xf32>
    %2 = arith.addf %0, %1 : f32
    loop.store %2, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func private @own(%y: memref<4xf32> {stepwell.result}) {
  %w = memref.get_global @one : memref<4xf32>
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %w[%i] : memref<4xf32>
    loop.store %0, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func private @own_2(%y: memref<4xf32> {stepwell.result}) {
  %w = memref.get_global @two : memref<4xf32>
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %w[%i] : memref<4xf32>
    loop.store %0, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func @kept(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %x[%i] : memref<4xf32>
    loop.store %0, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func @main(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32> {stepwell.result}) {
  %one = memref.get_global @one : memref<4xf32>
  %two = memref.get_global @two : memref<4xf32>
  func.call @first(%a, %one, %b) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  func.call @second(%b, %two, %c) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  func.call @other(%a, %one, %c) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  func.call @marked(%a, %one, %c) : (memref<4xf32>, memref<4xf32>, memref<4xf32>) -> ()
  func.call @own(%c) : (memref<4xf32>) -> ()
  func.call @own_2(%c) : (memref<4xf32>) -> ()
  func.call @kept(%a, %c) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

// RUN: stepwell-opt %s -p loop-merge-kernels | filecheck %s

// Kernels that differ in their names, in those of their loops and buffers, and in the constants they read are one:
// it is given the constants that differ. `@other` computes something else, and `@kept` is public.

"memref.global"() <{sym_name = "one", type = memref<4xf32>, initial_value = dense<1.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "two", type = memref<4xf32>, initial_value = dense<2.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "both", type = memref<4xf32>, initial_value = dense<3.0> : tensor<4xf32>, sym_visibility = "private", constant}> : () -> ()

// CHECK-LABEL: func.func private @first(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}, %own: memref<4xf32>) {
// CHECK-NEXT:    %shared = memref.get_global @both
// CHECK-NEXT:    loop.for parallel "i" %i = 0 to 4 {
// CHECK-NOT:   @second
// CHECK-LABEL: func.func private @other
// CHECK-LABEL: func.func @kept
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %own = memref.get_global @one : memref<4xf32>
// CHECK-NEXT:    func.call @first(%a, %b, %own)
// CHECK-NEXT:    %[[TWO:.*]] = memref.get_global @two : memref<4xf32>
// CHECK-NEXT:    func.call @first(%b, %c, %[[TWO]])
// CHECK-NEXT:    func.call @other(%a, %c)
// CHECK-NEXT:    func.call @kept(%a, %c)

func.func private @first(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  %own = memref.get_global @one : memref<4xf32>
  %shared = memref.get_global @both : memref<4xf32>
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %x[%i] : memref<4xf32>
    %1 = loop.load %own[%i] : memref<4xf32>
    %2 = loop.load %shared[%i] : memref<4xf32>
    %3 = arith.addf %0, %1 : f32
    %4 = arith.mulf %3, %2 : f32
    loop.store %4, %y[%i] : memref<4xf32>
  }
  func.return
}

func.func private @second(%u: memref<4xf32>, %v: memref<4xf32> {stepwell.result}) {
  %mine = memref.get_global @two : memref<4xf32>
  %common = memref.get_global @both : memref<4xf32>
  loop.for parallel "n" %n = 0 to 4 {
    %0 = loop.load %u[%n] : memref<4xf32>
    %1 = loop.load %mine[%n] : memref<4xf32>
    %2 = loop.load %common[%n] : memref<4xf32>
    %3 = arith.addf %0, %1 : f32
    %4 = arith.mulf %3, %2 : f32
    loop.store %4, %v[%n] : memref<4xf32>
  }
  func.return
}

func.func private @other(%x: memref<4xf32>, %y: memref<4xf32> {stepwell.result}) {
  loop.for parallel "i" %i = 0 to 4 {
    %0 = loop.load %x[%i] : memref<4xf32>
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
  func.call @first(%a, %b) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @second(%b, %c) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @other(%a, %c) : (memref<4xf32>, memref<4xf32>) -> ()
  func.call @kept(%a, %c) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}

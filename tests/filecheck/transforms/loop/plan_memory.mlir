// RUN: stepwell-opt %s -p loop-plan-memory | filecheck %s

// Two buffers alive at the same time stand apart; the third takes the place of the first. Offsets are
// multiples of 64 bytes, and so is the size.
// CHECK-LABEL: func.func @reuse(
// CHECK-SAME:    %x: memref<20xf32>, %y: memref<20xf32> {stepwell.result}, %arena: memref<256xi8> {stepwell.arena}) {
// CHECK-NEXT:    %[[O0:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %a = memref.view %arena[%[[O0]]][] : memref<256xi8> to memref<20xf32>
// CHECK-NEXT:    func.call @f(%x, %a)
// CHECK-NEXT:    %[[O1:.*]] = arith.constant 128 : index
// CHECK-NEXT:    %b = memref.view %arena[%[[O1]]][] : memref<256xi8> to memref<20xf32>
// CHECK-NEXT:    func.call @f(%a, %b)
// CHECK-NEXT:    %[[O2:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %c = memref.view %arena[%[[O2]]][] : memref<256xi8> to memref<20xf32>
// CHECK-NEXT:    func.call @f(%b, %c)
// CHECK-NEXT:    func.call @f(%c, %y)
func.func private @f(memref<20xf32>, memref<20xf32>)
func.func @reuse(%x: memref<20xf32>, %y: memref<20xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<20xf32>
  func.call @f(%x, %a) : (memref<20xf32>, memref<20xf32>) -> ()
  %b = loop.alloc arena : memref<20xf32>
  func.call @f(%a, %b) : (memref<20xf32>, memref<20xf32>) -> ()
  %c = loop.alloc arena : memref<20xf32>
  func.call @f(%b, %c) : (memref<20xf32>, memref<20xf32>) -> ()
  func.call @f(%c, %y) : (memref<20xf32>, memref<20xf32>) -> ()
  func.return
}

// A buffer is alive through the whole loop that uses it, and while a view of it is used.
// CHECK-LABEL: func.func @across(
// CHECK-SAME:    %arena: memref<192xi8> {stepwell.arena}
// CHECK:         arith.constant 0 : index
// CHECK-NEXT:    %a = memref.view
// CHECK:         arith.constant 64 : index
// CHECK-NEXT:    %b = memref.view
// CHECK:         arith.constant 128 : index
// CHECK-NEXT:    %c = memref.view
func.func @across(%y: memref<4xf32> {stepwell.result}, %one: f32) {
  %a = loop.alloc arena : memref<4xf32>
  %view = "memref.cast"(%a) : (memref<4xf32>) -> memref<?xf32>
  loop.store %one, %view[0] : memref<?xf32>
  %b = loop.alloc arena : memref<4xf32>
  loop.store %one, %b[0] : memref<4xf32>
  %c = loop.alloc arena : memref<4xf32>
  loop.for serial "t" %t = 0 to 4 {
    %v = loop.load %b[%t] : memref<4xf32>
    loop.store %v, %c[%t] : memref<4xf32>
  }
  %w = loop.load %view[0] : memref<?xf32>
  loop.store %w, %y[0] : memref<4xf32>
  func.return
}

// Only arena buffers of static size move; one that nothing uses goes away; attributes stay.
// CHECK-LABEL: func.func @kinds(
// CHECK-SAME:    %n: index, %y: memref<4xi1> {note = "kept", stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
// CHECK-NEXT:    %s = loop.alloc stack : memref<4xi1>
// CHECK-NEXT:    %t = loop.alloc thread : memref<4xi1>
// CHECK-NEXT:    %d = loop.alloc arena(%n) : memref<?xi1>
// CHECK-NEXT:    %{{.*}} = arith.constant 0 : index
// CHECK-NEXT:    %a = memref.view
// CHECK-NEXT:    loop.load %a[0]
// CHECK-NEXT:    func.return
func.func @kinds(%n: index, %y: memref<4xi1> {note = "kept", stepwell.result}) {
  %s = loop.alloc stack : memref<4xi1>
  %t = loop.alloc thread : memref<4xi1>
  %d = loop.alloc arena(%n) : memref<?xi1>
  %a = loop.alloc arena : memref<4xi1>
  %u = loop.alloc arena : memref<1000xi1>
  %v = loop.load %a[0] : memref<4xi1>
  func.return
}

// Left alone: a function that is called, one with an arena already, and one that works in place.
// CHECK-LABEL: func.func @called(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}) {
// CHECK-NEXT:    loop.alloc arena
func.func @called(%y: memref<4xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<4xf32>
  %v = loop.load %a[0] : memref<4xf32>
  loop.store %v, %y[0] : memref<4xf32>
  func.return
}
// CHECK-LABEL: func.func @planned(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
// CHECK-NEXT:    loop.alloc arena
func.func @planned(%y: memref<4xf32> {stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
  %a = loop.alloc arena : memref<4xf32>
  func.call @called(%a) : (memref<4xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME:    %y: memref<4xf32>) {
// CHECK-NEXT:    loop.alloc arena
func.func @in_place(%y: memref<4xf32>) {
  %a = loop.alloc arena : memref<4xf32>
  %v = loop.load %a[0] : memref<4xf32>
  loop.store %v, %y[0] : memref<4xf32>
  func.return
}

// Nothing to do adds no argument.
// CHECK-LABEL: func.func @nothing(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}) {
func.func @nothing(%y: memref<4xf32> {stepwell.result}) {
  func.return
}

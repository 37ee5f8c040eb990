// RUN: stepwell-opt %s -p loop-plan-memory | filecheck %s
// RUN: stepwell-opt %s -p loop-plan-memory,loop-plan-memory | filecheck %s

// A private function takes its buffers from an argument; each caller gives it a part of its own.
// CHECK-LABEL: func.func private @inner(
// CHECK-SAME:    %x: memref<20xf32>, %y: memref<20xf32> {stepwell.result}, %arena: memref<128xi8> {stepwell.arena}) {
// CHECK-NEXT:    %{{.*}} = arith.constant 0 : index
// CHECK-NEXT:    %a = memref.view %arena[%{{.*}}][] : memref<128xi8> to memref<20xf32>
func.func private @inner(%x: memref<20xf32>, %y: memref<20xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<20xf32>
  "memref.copy"(%x, %a) : (memref<20xf32>, memref<20xf32>) -> ()
  "memref.copy"(%a, %y) : (memref<20xf32>, memref<20xf32>) -> ()
  func.return
}

// Its own buffer is alive during both calls, which can have the same place for theirs.
// CHECK-LABEL: func.func private @outer(
// CHECK-SAME:    %arena: memref<256xi8> {stepwell.arena}) {
// CHECK-NEXT:    %[[A:.*]] = arith.constant 128 : index
// CHECK-NEXT:    %a = memref.view %arena[%[[A]]][] : memref<256xi8> to memref<20xf32>
// CHECK-NEXT:    %[[B:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %arena_1 = memref.view %arena[%[[B]]][] : memref<256xi8> to memref<128xi8>
// CHECK-NEXT:    func.call @inner(%x, %a, %arena_1) {note = "kept"} : (memref<20xf32>, memref<20xf32>, memref<128xi8>) -> ()
// CHECK-NEXT:    %[[C:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %arena_2 = memref.view %arena[%[[C]]][] : memref<256xi8> to memref<128xi8>
// CHECK-NEXT:    func.call @inner(%a, %y, %arena_2)
func.func private @outer(%x: memref<20xf32>, %y: memref<20xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<20xf32>
  func.call @inner(%x, %a) {note = "kept"} : (memref<20xf32>, memref<20xf32>) -> ()
  func.call @inner(%a, %y) : (memref<20xf32>, memref<20xf32>) -> ()
  func.return
}

// A result of the call goes on.
// CHECK-LABEL: func.func private @scalar(
// CHECK-SAME:    %arena: memref<64xi8> {stepwell.arena}) -> index {
func.func private @scalar(%y: memref<4xf32> {stepwell.result}) -> index {
  %a = loop.alloc arena : memref<4xf32>
  "memref.copy"(%a, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  %n = arith.constant 7 : index
  func.return %n : index
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %arena: memref<384xi8> {stepwell.arena}) -> index {
// CHECK:         func.call @inner(%x, %b, %arena_1)
// CHECK:         memref.view %arena[%{{.*}}][] : memref<384xi8> to memref<256xi8>
// CHECK-NEXT:    func.call @outer(%b, %y, %arena_2)
// CHECK:         %n = func.call @scalar(%z, %arena_3) : (memref<4xf32>, memref<64xi8>) -> index
// CHECK-NEXT:    func.return %n : index
func.func @main(%x: memref<20xf32>, %y: memref<20xf32> {stepwell.result}, %z: memref<4xf32> {stepwell.result}) -> index {
  %b = loop.alloc arena : memref<20xf32>
  func.call @inner(%x, %b) : (memref<20xf32>, memref<20xf32>) -> ()
  func.call @outer(%b, %y) : (memref<20xf32>, memref<20xf32>) -> ()
  %n = func.call @scalar(%z) : (memref<4xf32>) -> index
  func.return %n : index
}

// The steps of a serial loop share one place, which is used again.
// CHECK-LABEL: func.func private @in_a_serial_loop(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
func.func private @in_a_serial_loop(%y: memref<4xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<4xf32>
  "memref.copy"(%a, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func @in_order(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
// CHECK:         scf.for
// CHECK-NOT:       loop.alloc
// CHECK:           func.call @in_a_serial_loop(%y, %{{.*}})
func.func @in_order(%y: memref<4xf32> {stepwell.result}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %t = %c0 to %c4 step %c1 {
    func.call @in_a_serial_loop(%y) : (memref<4xf32>) -> ()
  }
  func.return
}

// The iterations of a loop on threads must not share one place; nor must a function and its own calls.
// CHECK-LABEL: func.func private @in_a_loop(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}) {
// CHECK-NEXT:    loop.alloc arena
func.func private @in_a_loop(%y: memref<4xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<4xf32>
  "memref.copy"(%a, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func @looping(
// CHECK-NOT:     stepwell.arena
// CHECK:         func.call @in_a_loop(%y) : (memref<4xf32>) -> ()
func.func @looping(%y: memref<4xf32> {stepwell.result}) {
  func.call @in_a_loop(%y) : (memref<4xf32>) -> ()
  loop.for parallel threads "t" %t = 0 to 4 {
    func.call @in_a_loop(%y) : (memref<4xf32>) -> ()
  }
  func.return
}
// CHECK-LABEL: func.func private @recursive(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}) {
// CHECK-NEXT:    loop.alloc arena
func.func private @recursive(%y: memref<4xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<4xf32>
  func.call @recursive(%a) : (memref<4xf32>) -> ()
  func.return
}

// What a function without an arena calls has none either: one that works in place, one that others call.
// CHECK-LABEL: func.func private @of_in_place(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}) {
func.func private @of_in_place(%y: memref<4xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<4xf32>
  "memref.copy"(%a, %y) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME:    %y: memref<4xf32>) {
func.func @in_place(%y: memref<4xf32>) {
  func.call @of_in_place(%y) : (memref<4xf32>) -> ()
  func.return
}

// Buffers that nothing uses add no argument.
// CHECK-LABEL: func.func private @unused(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}) {
// CHECK-NEXT:    func.return
func.func private @unused(%y: memref<4xf32> {stepwell.result}) {
  %a = loop.alloc arena : memref<4xf32>
  func.return
}
// CHECK-LABEL: func.func @of_unused(
// CHECK-SAME:    %y: memref<4xf32> {stepwell.result}) {
func.func @of_unused(%y: memref<4xf32> {stepwell.result}) {
  func.call @unused(%y) : (memref<4xf32>) -> ()
  func.return
}

// RUN: stepwell-opt %s -p "convert-graph-to-te,te-fuse,te-bufferize" | filecheck %s
// RUN: stepwell-opt %s -p "convert-graph-to-te,te-fuse,te-bufferize,convert-te-to-loop,loop-plan-memory" | filecheck %s --check-prefix=MEMORY

// The slices are views that move from step to step, and the state is updated in its buffer, the caller's array.
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME:      %xs: memref<7x4xf32>, %h0: memref<4xf32>, %last: memref<4xf32> {stepwell.result}, %ys: memref<7x4xf32> {stepwell.result})
// CHECK-NEXT:    "memref.copy"(%h0, %last)
// CHECK:         scf.for %t =
// CHECK:           affine.apply affine_map<(d0) -> ({{.*}}d0 * -4{{.*}}24{{.*}})> (%t)
// CHECK-NEXT:      %x = memref.reinterpret_cast %xs
// CHECK:           te.kernel "n_y" (%h = %last, %x_1 = %x) into (%last, %y)
// CHECK-NOT:       memref.copy
// CHECK:         func.return
func.func @in_place(%xs: tensor<7x4xf32>, %h0: tensor<4xf32>) -> (tensor<4xf32>, tensor<7x4xf32>) {
  %last, %ys = graph.scan 7 reverse carry (%h = %h0) over (%x = %xs)
      : (tensor<4xf32>, tensor<7x4xf32>) -> (tensor<4xf32>, tensor<7x4xf32>) {
    %n = graph.add %h, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %y = graph.exp %n : tensor<4xf32>
    graph.yield %n, %y : tensor<4xf32>, tensor<4xf32>
  }
  func.return %last, %ys : tensor<4xf32>, tensor<7x4xf32>
}

// A product reads all of the state for each element of the next: that has a buffer of its own, which is copied. Nothing
// is allocated in a step.
// CHECK-LABEL: func.func @product(
// CHECK:         scf.for
// CHECK:           %[[NEXT:.*]] = loop.alloc arena : memref<4x4xf32>
// CHECK:           te.kernel {{.*}} into (%[[NEXT]])
// CHECK:           "memref.copy"(%[[NEXT]], %last)
// MEMORY-LABEL: func.func @product(
// MEMORY-SAME:      %arena: memref<{{[0-9]+}}xi8> {stepwell.arena}
// MEMORY-NOT:     alloc
// MEMORY:         scf.for
// MEMORY-NOT:     alloc
// MEMORY:           memref.view %arena
// MEMORY-NOT:     alloc
// MEMORY:         func.return
func.func @product(%a: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %last = graph.scan 7 carry (%h = %a) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
    %n = graph.matmul %h, %a : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
    graph.yield %n : tensor<4x4xf32>
  }
  func.return %last : tensor<4x4xf32>
}

// Two states that exchange their places are both kept aside before either is replaced.
// CHECK-LABEL: func.func @exchange(
// CHECK:         scf.for
// CHECK-NEXT:      %b = loop.alloc arena : memref<2xf32>
// CHECK-NEXT:      "memref.copy"(%b1, %b)
// CHECK-NEXT:      %a = loop.alloc arena : memref<2xf32>
// CHECK-NEXT:      "memref.copy"(%a1, %a)
// CHECK-NEXT:      "memref.copy"(%b, %a1)
// CHECK-NEXT:      "memref.copy"(%a, %b1)
// CHECK:         func.return
func.func @exchange(%a0: tensor<2xf32>, %b0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a1, %b1 = graph.scan 3 carry (%a = %a0, %b = %b0)
      : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
    graph.yield %b, %a : tensor<2xf32>, tensor<2xf32>
  }
  func.return %a1, %b1 : tensor<2xf32>, tensor<2xf32>
}

// A step that cannot write over a large state writes into a spare buffer, and a state that becomes another hands its
// buffer on: three buffers change places. After three steps each is where it started.
// CHECK-LABEL: func.func @leapfrog(
// CHECK-SAME:      %now3: memref<9x9xf32> {stepwell.result})
// CHECK:         "memref.copy"(%before0, %before3)
// CHECK-NEXT:    "memref.copy"(%now0, %now3)
// CHECK:         iter_args(%before = %before3, %now = %now3, %next = %{{[a-z0-9_]+}})
// CHECK-NOT:       memref.copy
// CHECK:           te.kernel {{.*}} into (%next)
// CHECK-NOT:       memref.copy
// CHECK:           scf.yield %now, %next, %before
// CHECK-NOT:     memref.copy
// CHECK:         func.return
func.func @leapfrog(%before0: tensor<9x9xf32>, %now0: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %before3, %now3 = graph.scan 3 carry (%before = %before0, %now = %now0)
      : (tensor<9x9xf32>, tensor<9x9xf32>) -> (tensor<9x9xf32>, tensor<9x9xf32>) {
    %next = graph.matmul %now, %before : tensor<9x9xf32>, tensor<9x9xf32> -> tensor<9x9xf32>
    graph.yield %now, %next : tensor<9x9xf32>, tensor<9x9xf32>
  }
  func.return %now3 : tensor<9x9xf32>
}

// Where the step reads the state before element for element alone, the next one is written over that: two buffers do.
// CHECK-LABEL: func.func @over_the_one_before(
// CHECK:         iter_args(%before = %{{[a-z0-9_]+}}, %now = %{{[a-z0-9_]+}}) -> (memref<9x9xf32>, memref<9x9xf32>)
// CHECK-NOT:       memref.copy
// CHECK:           te.kernel {{.*}} into (%before)
// CHECK-NOT:       memref.copy
// CHECK:           scf.yield %now, %before
func.func @over_the_one_before(%before0: tensor<9x9xf32>, %now0: tensor<9x9xf32>) -> tensor<9x9xf32> {
  %before3, %now3 = graph.scan 3 carry (%before = %before0, %now = %now0)
      : (tensor<9x9xf32>, tensor<9x9xf32>) -> (tensor<9x9xf32>, tensor<9x9xf32>) {
    %next = graph.sub %now, %before : tensor<9x9xf32>, tensor<9x9xf32> -> tensor<9x9xf32>
    graph.yield %now, %next : tensor<9x9xf32>, tensor<9x9xf32>
  }
  func.return %now3 : tensor<9x9xf32>
}

// Both branches write into the caller's array.
// CHECK-LABEL: func.func @branches(
// CHECK:         %[[FLAG:.*]] = memref.load %flag[] : memref<i1>
// CHECK-NEXT:    scf.if %[[FLAG]] {
// CHECK-NEXT:      te.kernel "e" (%x_1 = %x) into (%e)
// CHECK:         } else {
// CHECK-NEXT:      "memref.copy"(%x, %e)
func.func @branches(%flag: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %e = graph.if %flag : tensor<i1> -> tensor<4xf32> {
    %e = graph.exp %x : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %e : tensor<4xf32>
}

// The flag has a buffer too, which the last kernel of a step writes.
// CHECK-LABEL: func.func @while(
// CHECK:         %flag = loop.alloc arena : memref<i1>
// CHECK:         scf.while{{.*}} : () -> () {
// CHECK-NEXT:      %[[GO:.*]] = memref.load %flag[] : memref<i1>
// CHECK-NEXT:      scf.condition(%[[GO]])
// CHECK:           te.kernel {{.*}} into ({{.*}}%flag{{.*}})
func.func @while(%go: tensor<i1>, %k0: tensor<i64>, %end: tensor<i64>) -> tensor<i64> {
  %n = graph.while %go carry (%k = %k0) : (tensor<i1>, tensor<i64>) -> tensor<i64> {
    %next = graph.add %k, %k : tensor<i64>, tensor<i64> -> tensor<i64>
    %again = graph.lt %next, %end : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %again, %next : tensor<i1>, tensor<i64>
  }
  func.return %n : tensor<i64>
}

// A state that is a result for each step as well is read where the step before wrote it as a row: nothing is copied but the
// last row, which the caller has as the last value too.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT:     memref.copy
// CHECK:         %[[START:.*]] = "memref.cast"(%h0) : (memref<80xf32>) -> memref<80xf32, strided<[1], offset: ?>>
// CHECK:         scf.for {{.*}} iter_args(%h = %[[START]])
// CHECK-NOT:       memref.copy
// CHECK:           %n = memref.reinterpret_cast %ys
// CHECK:           te.kernel {{.*}} (%h_1 = %h, {{.*}} into (%n)
// CHECK-NOT:       memref.copy
// CHECK:           scf.yield %n
// CHECK:         %[[ROW:.*]] = memref.reinterpret_cast %ys
// CHECK-NEXT:    "memref.copy"(%[[ROW]], %last)
// CHECK-NEXT:    func.return
func.func @rows(%xs: tensor<7x80xf32>, %h0: tensor<80xf32>) -> (tensor<80xf32>, tensor<7x80xf32>) {
  %last, %ys = graph.scan 7 carry (%h = %h0) over (%x = %xs)
      : (tensor<80xf32>, tensor<7x80xf32>) -> (tensor<80xf32>, tensor<7x80xf32>) {
    %n = graph.add %h, %x : tensor<80xf32>, tensor<80xf32> -> tensor<80xf32>
    graph.yield %n, %n : tensor<80xf32>, tensor<80xf32>
  }
  func.return %last, %ys : tensor<80xf32>, tensor<7x80xf32>
}

// One that another state takes over is needed after its row: it is copied.
// CHECK-LABEL: func.func @handed_on(
// CHECK:         scf.for
// CHECK-NOT:       iter_args
// CHECK:           "memref.copy"(%n, %{{.*}})
// CHECK:         func.return
func.func @handed_on(%xs: tensor<7x80xf32>, %h0: tensor<80xf32>) -> tensor<7x80xf32> {
  %before, %now, %ys = graph.scan 7 carry (%g = %h0, %h = %h0) over (%x = %xs)
      : (tensor<80xf32>, tensor<80xf32>, tensor<7x80xf32>) -> (tensor<80xf32>, tensor<80xf32>, tensor<7x80xf32>) {
    %s = graph.sub %h, %g : tensor<80xf32>, tensor<80xf32> -> tensor<80xf32>
    %n = graph.add %s, %x : tensor<80xf32>, tensor<80xf32> -> tensor<80xf32>
    graph.yield %h, %n, %n : tensor<80xf32>, tensor<80xf32>, tensor<80xf32>
  }
  func.return %ys : tensor<7x80xf32>
}

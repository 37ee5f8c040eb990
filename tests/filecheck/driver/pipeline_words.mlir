// RUN: stepwell-opt %s -p "loop-split{loop=f/i factor=4},loop-split{loop=f/i.inner factor=2 outer=a.b}" | filecheck %s

// Names and paths in options need no quotes.
// CHECK:      loop.for serial "i.outer"
// CHECK-NEXT:   loop.for serial "a.b"

func.func @f(%A: memref<8xf32>) {
  loop.for serial "i" %i = 0 to 8 { }
  func.return
}

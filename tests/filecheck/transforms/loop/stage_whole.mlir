// RUN: stepwell-opt %s -p 'loop-stage{buffer=f/B into=Bp panel=4}' | filecheck %s
// RUN: stepwell-opt %s -p 'loop-stage{buffer=f/C order=1,0}' | filecheck %s --check-prefix OUT
// RUN: not stepwell-opt %s -p 'loop-stage{buffer=f/D}' 2>&1 | filecheck %s --check-prefix UNUSED

// Without a loop the whole function gets one copy, in front of the first nest that uses the buffer.
// CHECK:      %D = loop.alloc
// CHECK-NEXT: loop.for parallel "z"
// CHECK:      %Bp = loop.alloc stack : memref<2x6x4xf32>
// CHECK-NEXT: loop.for parallel "Bp.in0" %c0 = 0 to 6 {
// CHECK-NEXT:   loop.for parallel "Bp.in1" %c1 = 0 to 8 {
// CHECK:          loop.store %{{.*}}, %Bp[%c1 floordiv 4, %c0, %c1 mod 4]
// CHECK:      loop.for parallel "i"
// CHECK:        loop.load %Bp[%j floordiv 4, %i, %j mod 4]

// What is written is copied out behind the last one.
// OUT:      %C.staged = loop.alloc stack : memref<7x6xf32>
// OUT:      loop.for parallel "i"
// OUT:        loop.store %b, %C.staged[%j, %i]
// OUT:      loop.for parallel "C.staged.out0" %c0 = 0 to 6 {
// OUT-NEXT:   loop.for parallel "C.staged.out1" %c1 = 0 to 7 {
// OUT-NEXT:     %[[V:.*]] = loop.load %C.staged[%c1, %c0]
// OUT-NEXT:     loop.store %[[V]], %C[%c0, %c1]

// UNUSED: error: {{.*}}stage("f/D") is refused: function 'f' does not use '%D'
func.func private @f(%B: memref<6x7xf32>, %C: memref<6x7xf32>) attributes {stepwell.noalias} {
  %zero = arith.constant 0.0 : f32
  %D = loop.alloc stack : memref<1xf32>
  loop.for parallel "z" %z = 0 to 7 {
    %x = arith.addf %zero, %zero : f32
  }
  loop.for parallel "i" %i = 0 to 6 {
    loop.for parallel "j" %j = 0 to 7 {
      %b = loop.load %B[%i, %j] : memref<6x7xf32>
      loop.store %b, %C[%i, %j] : memref<6x7xf32>
    }
  }
  func.return
}

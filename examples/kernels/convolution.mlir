// A 2-D convolution of 3 channels with 5 filters of 3 x 3, without padding.
// Seven loops: four parallel, three of the reduction.
func.func @convolution(%x: memref<2x3x9x9xf32>, %w: memref<5x3x3x3xf32>, %y: memref<2x5x7x7xf32> {stepwell.result}) {
  %zero = arith.constant 0.0 : f32
  loop.for parallel "n" %n = 0 to 2 {
    loop.for parallel "f" %f = 0 to 5 {
      loop.for parallel "i" %i = 0 to 7 {
        loop.for parallel "j" %j = 0 to 7 {
          loop.store %zero, %y[%n, %f, %i, %j] : memref<2x5x7x7xf32>
          loop.for reduction "c" %c = 0 to 3 {
            loop.for reduction "u" %u = 0 to 3 {
              loop.for reduction "v" %v = 0 to 3 {
                %a = loop.load %x[%n, %c, %i + %u, %j + %v] : memref<2x3x9x9xf32>
                %b = loop.load %w[%f, %c, %u, %v] : memref<5x3x3x3xf32>
                %o = loop.load %y[%n, %f, %i, %j] : memref<2x5x7x7xf32>
                %p = arith.mulf %a, %b : f32
                %s = arith.addf %o, %p fastmath<reassoc,contract> : f32
                loop.store %s, %y[%n, %f, %i, %j] : memref<2x5x7x7xf32>
              }
            }
          }
        }
      }
    }
  }
  func.return
}

// 3mm: G = (A B) (C D), a chain of three matrix products.
// The first two are independent of each other.
func.func @three_mm(%A: memref<9x11xf64>, %B: memref<11x13xf64>, %C: memref<13x7xf64>, %D: memref<7x10xf64>, %G: memref<9x10xf64> {stepwell.result}) {
  %zero = arith.constant 0.0 : f64
  %E = loop.alloc arena : memref<9x13xf64>
  %F = loop.alloc arena : memref<13x10xf64>
  loop.for parallel "i" %i = 0 to 9 {
    loop.for parallel "j" %j = 0 to 13 {
      loop.store %zero, %E[%i, %j] : memref<9x13xf64>
      loop.for reduction "k" %k = 0 to 11 {
        %a = loop.load %A[%i, %k] : memref<9x11xf64>
        %b = loop.load %B[%k, %j] : memref<11x13xf64>
        %t = loop.load %E[%i, %j] : memref<9x13xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %E[%i, %j] : memref<9x13xf64>
      }
    }
  }
  loop.for parallel "i2" %i = 0 to 13 {
    loop.for parallel "j2" %j = 0 to 10 {
      loop.store %zero, %F[%i, %j] : memref<13x10xf64>
      loop.for reduction "k2" %k = 0 to 7 {
        %a = loop.load %C[%i, %k] : memref<13x7xf64>
        %b = loop.load %D[%k, %j] : memref<7x10xf64>
        %t = loop.load %F[%i, %j] : memref<13x10xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %F[%i, %j] : memref<13x10xf64>
      }
    }
  }
  loop.for parallel "i3" %i = 0 to 9 {
    loop.for parallel "j3" %j = 0 to 10 {
      loop.store %zero, %G[%i, %j] : memref<9x10xf64>
      loop.for reduction "k3" %k = 0 to 13 {
        %a = loop.load %E[%i, %k] : memref<9x13xf64>
        %b = loop.load %F[%k, %j] : memref<13x10xf64>
        %t = loop.load %G[%i, %j] : memref<9x10xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %G[%i, %j] : memref<9x10xf64>
      }
    }
  }
  func.return
}

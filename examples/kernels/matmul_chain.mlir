// A chain of matrix products from left to right: E = ((A B) C) D.
// A row of each product needs only that row of the one before.
func.func @matmul_chain(%A: memref<15x9xf64>, %B: memref<9x13xf64>, %C: memref<13x11xf64>, %D: memref<11x19xf64>, %E: memref<15x19xf64> {stepwell.result}) {
  %zero = arith.constant 0.0 : f64
  %T = loop.alloc arena : memref<15x13xf64>
  %U = loop.alloc arena : memref<15x11xf64>
  loop.for parallel "i" %i = 0 to 15 {
    loop.for parallel "j" %j = 0 to 13 {
      loop.store %zero, %T[%i, %j] : memref<15x13xf64>
      loop.for reduction "k" %k = 0 to 9 {
        %a = loop.load %A[%i, %k] : memref<15x9xf64>
        %b = loop.load %B[%k, %j] : memref<9x13xf64>
        %t = loop.load %T[%i, %j] : memref<15x13xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %T[%i, %j] : memref<15x13xf64>
      }
    }
  }
  loop.for parallel "i2" %i = 0 to 15 {
    loop.for parallel "j2" %j = 0 to 11 {
      loop.store %zero, %U[%i, %j] : memref<15x11xf64>
      loop.for reduction "k2" %k = 0 to 13 {
        %a = loop.load %T[%i, %k] : memref<15x13xf64>
        %b = loop.load %C[%k, %j] : memref<13x11xf64>
        %t = loop.load %U[%i, %j] : memref<15x11xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %U[%i, %j] : memref<15x11xf64>
      }
    }
  }
  loop.for parallel "i3" %i = 0 to 15 {
    loop.for parallel "j3" %j = 0 to 19 {
      loop.store %zero, %E[%i, %j] : memref<15x19xf64>
      loop.for reduction "k3" %k = 0 to 11 {
        %a = loop.load %U[%i, %k] : memref<15x11xf64>
        %b = loop.load %D[%k, %j] : memref<11x19xf64>
        %t = loop.load %E[%i, %j] : memref<15x19xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %E[%i, %j] : memref<15x19xf64>
      }
    }
  }
  func.return
}

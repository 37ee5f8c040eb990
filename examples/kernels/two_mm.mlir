// 2mm: D = (A B) C, two matrix products in a row.
// Each is tilable; the second can start on a row as soon as the first has finished it.
func.func @two_mm(%A: memref<17x13xf64>, %B: memref<13x19xf64>, %C: memref<19x11xf64>, %D: memref<17x11xf64> {stepwell.result}) {
  %zero = arith.constant 0.0 : f64
  %T = loop.alloc arena : memref<17x19xf64>
  loop.for parallel "i" %i = 0 to 17 {
    loop.for parallel "j" %j = 0 to 19 {
      loop.store %zero, %T[%i, %j] : memref<17x19xf64>
      loop.for reduction "k" %k = 0 to 13 {
        %a = loop.load %A[%i, %k] : memref<17x13xf64>
        %b = loop.load %B[%k, %j] : memref<13x19xf64>
        %t = loop.load %T[%i, %j] : memref<17x19xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %T[%i, %j] : memref<17x19xf64>
      }
    }
  }
  loop.for parallel "i2" %i = 0 to 17 {
    loop.for parallel "j2" %j = 0 to 11 {
      loop.store %zero, %D[%i, %j] : memref<17x11xf64>
      loop.for reduction "k2" %k = 0 to 19 {
        %a = loop.load %T[%i, %k] : memref<17x19xf64>
        %b = loop.load %C[%k, %j] : memref<19x11xf64>
        %t = loop.load %D[%i, %j] : memref<17x11xf64>
        %p = arith.mulf %a, %b : f64
        %s = arith.addf %t, %p fastmath<reassoc,contract> : f64
        loop.store %s, %D[%i, %j] : memref<17x11xf64>
      }
    }
  }
  func.return
}

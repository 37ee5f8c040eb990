// Gauss-Seidel: as Jacobi, but in place, so that each point sees the new values of those before it.
// No loop is parallel, and tiles of (t, i, j) are only legal after skewing i and j by t.
func.func @gauss_seidel(%A: memref<21x21xf64>) {
  %fifth = arith.constant 0.2 : f64
  loop.for serial "t" %t = 0 to 6 {
    loop.for serial "i" %i = 1 to 20 {
      loop.for serial "j" %j = 1 to 20 {
        %c = loop.load %A[%i, %j] : memref<21x21xf64>
        %w = loop.load %A[%i, %j - 1] : memref<21x21xf64>
        %e = loop.load %A[%i, %j + 1] : memref<21x21xf64>
        %n = loop.load %A[%i - 1, %j] : memref<21x21xf64>
        %s = loop.load %A[%i + 1, %j] : memref<21x21xf64>
        %0 = arith.addf %c, %w : f64
        %1 = arith.addf %0, %e : f64
        %2 = arith.addf %1, %n : f64
        %3 = arith.addf %2, %s : f64
        %4 = arith.mulf %3, %fifth : f64
        loop.store %4, %A[%i, %j] : memref<21x21xf64>
      }
    }
  }
  func.return
}

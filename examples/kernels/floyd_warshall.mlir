// Floyd-Warshall: shortest paths between all pairs of nodes, in place.
// The outer loop carries every dependence; the two inner ones are not parallel as written.
func.func @floyd_warshall(%D: memref<17x17xf64>) {
  loop.for serial "k" %k = 0 to 17 {
    loop.for serial "i" %i = 0 to 17 {
      loop.for serial "j" %j = 0 to 17 {
        %d = loop.load %D[%i, %j] : memref<17x17xf64>
        %a = loop.load %D[%i, %k] : memref<17x17xf64>
        %b = loop.load %D[%k, %j] : memref<17x17xf64>
        %s = arith.addf %a, %b : f64
        %m = arith.minimumf %d, %s : f64
        loop.store %m, %D[%i, %j] : memref<17x17xf64>
      }
    }
  }
  func.return
}

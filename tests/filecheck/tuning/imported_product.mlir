// RUN: stepwell-opt %s -p "convert-affine-to-loop,schedule-by-rules{target=zen3}" --remarks 2>&1 | filecheck %s

// A product as upstream tools write it, its sum initialised in the loops around: its loops are distributed, and it
// gets the schedule that a product of our own gets.

// CHECK: scheduled as contraction: tile
// CHECK: func.func @product
// CHECK: loop.alloc register : memref<{{.*}}xf32>
func.func @product(
    %A: memref<192x192xf32> {stepwell.noalias}, %B: memref<192x192xf32> {stepwell.noalias},
    %C: memref<192x192xf32> {stepwell.noalias}) {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 192 {
    affine.for %j = 0 to 192 {
      affine.store %zero, %C[%i, %j] : memref<192x192xf32>
      affine.for %k = 0 to 192 {
        %a = affine.load %A[%i, %k] : memref<192x192xf32>
        %b = affine.load %B[%k, %j] : memref<192x192xf32>
        %c = affine.load %C[%i, %j] : memref<192x192xf32>
        %p = arith.mulf %a, %b fastmath<contract> : f32
        %s = arith.addf %c, %p fastmath<reassoc,contract> : f32
        affine.store %s, %C[%i, %j] : memref<192x192xf32>
      }
    }
  }
  func.return
}

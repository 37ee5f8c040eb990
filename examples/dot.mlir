// A dot product in upstream dialects only: a loop that carries the sum from iteration to iteration.
// `stepwell.result` says which memref the caller gets back; without it every one is in and out.
func.func @dot(%x: memref<37xf32>, %y: memref<37xf32>, %dot: memref<f32> {stepwell.result}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %end = arith.constant 37 : index
  %nothing = arith.constant 0.0 : f32
  %total = scf.for %i = %zero to %end step %one iter_args(%sum = %nothing) -> (f32) {
    %a = memref.load %x[%i] : memref<37xf32>
    %b = memref.load %y[%i] : memref<37xf32>
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    scf.yield %next : f32
  }
  memref.store %total, %dot[] : memref<f32>
  func.return
}

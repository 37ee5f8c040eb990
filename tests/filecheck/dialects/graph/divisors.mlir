// RUN: stepwell-opt %s | stepwell-opt | filecheck %s
// RUN: stepwell-opt %s -p convert-graph-to-te | filecheck %s --check-prefix=TE

// Euclid's algorithm takes at most 13 steps of 8 bits; they are left out where the rest is 0, eight at a time.

// CHECK-LABEL: func.func @divisors
// TE-LABEL: func.func @divisors
func.func @divisors(%x: tensor<7xi8>, %y: tensor<7xi8>) {
  // CHECK-NEXT: %a = graph.gcd %x, %y : tensor<7xi8>
  // TE: te.loops "gcd" ({{.*}}) : (tensor<7xi8>, tensor<7xi8>) -> tensor<7xi8> {
  // TE: loop.for serial "i" %i = 0 to 7 {
  // TE: loop.for serial "t" %t = 0 to 2 {
  // TE: loop.for serial "v"
  // TE: loop.for serial "s" %s = 0 to 8 {
  // TE: loop.for serial "w"
  %a = graph.gcd %x, %y : tensor<7xi8>
  // CHECK-NEXT: %b = graph.bit_count %x : tensor<7xi8>
  %b = graph.bit_count %x : tensor<7xi8>
  func.return
}

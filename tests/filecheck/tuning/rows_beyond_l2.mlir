// RUN: stepwell compile %s --emit plan --target zen4 | filecheck %s --check-prefix=QUICK
// RUN: stepwell compile %s --emit plan --target icelake-server | filecheck %s --check-prefix=SLOW

// Short rows that lie a little beyond L2 are gone through one nest after the other where they come quickly from there: the sums of a row
// that all is done to at once would be waited for. Where they come slowly, all is done to a row at once.

// QUICK:      chosen rows: (axes 0, blocks of {{[0-9]+}} lanes), (axes 0 1, blocks
// QUICK-NOT:  outer loops fused
// QUICK-SAME: predicted
// SLOW: chosen rows: {{.*}}, 1 outer loops fused
func.func @norm(%x: tensor<1500x90xf32>, %scale: tensor<90xf32>, %shift: tensor<90xf32>) -> tensor<1500x90xf32> {
  %y = graph.layer_norm %x, %scale, %shift axis = 1 epsilon = 1.0e-5 : tensor<1500x90xf32>, tensor<90xf32>, tensor<90xf32> -> tensor<1500x90xf32>
  func.return %y : tensor<1500x90xf32>
}

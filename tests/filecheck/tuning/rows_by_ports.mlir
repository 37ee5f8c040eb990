// RUN: stepwell compile %s --emit plan --target zen4 | filecheck %s --check-prefix=PORTS
// RUN: stepwell compile %s --emit plan --target icelake-server | filecheck %s --check-prefix=SHARED

// Rows that are in L2 are gone through one nest after the other where arithmetic takes no longer than what moves, as additions have
// ports of their own. Where they share those of multiply-adds, what moves passes meanwhile, and all that is done to a row is done at once.

// PORTS:      chosen rows: (axes 0, blocks of {{[0-9]+}} lanes), (axes 0 1, blocks
// PORTS-NOT:  outer loops fused
// PORTS-SAME: predicted
// SHARED: chosen rows: {{.*}}, 1 outer loops fused
func.func @norm(%x: tensor<723x90xf32>, %scale: tensor<90xf32>, %shift: tensor<90xf32>) -> tensor<723x90xf32> {
  %y = graph.layer_norm %x, %scale, %shift axis = 1 epsilon = 1.0e-5 : tensor<723x90xf32>, tensor<90xf32>, tensor<90xf32> -> tensor<723x90xf32>
  func.return %y : tensor<723x90xf32>
}

// RUN: stepwell compile %s --emit plan --target zen4 | filecheck %s

// Short rows that stay in L2 are gone through one nest after the other: the sums of a row that all is done to at once would be
// waited for. Beyond L2, from where the rows would come again for each nest, all is done to a row at once.

// CHECK-LABEL: near.
// CHECK-NEXT:    chosen rows: (axes 0, blocks of {{[0-9]+}} lanes), (axes 0 1, blocks
// CHECK-NOT:     outer loops fused
// CHECK-SAME:    predicted
// CHECK-LABEL: far.
// CHECK-NEXT:    chosen rows: {{.*}}, 1 outer loops fused
func.func @near(%x: tensor<723x90xf32>, %scale: tensor<90xf32>, %shift: tensor<90xf32>) -> tensor<723x90xf32> {
  %y = graph.layer_norm %x, %scale, %shift axis = 1 epsilon = 1.0e-5 : tensor<723x90xf32>, tensor<90xf32>, tensor<90xf32> -> tensor<723x90xf32>
  func.return %y : tensor<723x90xf32>
}

func.func @far(%x: tensor<1500x90xf32>, %scale: tensor<90xf32>, %shift: tensor<90xf32>) -> tensor<1500x90xf32> {
  %y = graph.layer_norm %x, %scale, %shift axis = 1 epsilon = 1.0e-5 : tensor<1500x90xf32>, tensor<90xf32>, tensor<90xf32> -> tensor<1500x90xf32>
  func.return %y : tensor<1500x90xf32>
}

// RUN: stepwell-opt %s -p graph-simplify-movement,canonicalize | filecheck %s

// The first few elements, and a single one of a long row, are found without sorting the rest.
// CHECK-LABEL: func.func @few
// CHECK-NEXT:    %[[V:.*]], %[[I:.*]] = graph.sort %x axis = 1 places = [0, 5]
// CHECK-NEXT:    %[[U:.*]] = graph.slice %[[V]] starts = [0, 1] stops = [3, 5] steps = [1, 2]
// CHECK-NEXT:    func.return %[[I]]
func.func @few(%x: tensor<3x900xf64>) -> (tensor<3x5xi64>, tensor<3x2xf64>) {
  %v, %i = graph.sort %x axis = 1 : tensor<3x900xf64> -> tensor<3x900xf64>, tensor<3x900xi64>
  %0 = graph.slice %i starts = [0, 0] stops = [3, 5] steps = [1, 1] : tensor<3x900xi64> -> tensor<3x5xi64>
  %1 = graph.slice %v starts = [0, 1] stops = [3, 5] steps = [1, 2] : tensor<3x900xf64> -> tensor<3x2xf64>
  func.return %0, %1 : tensor<3x5xi64>, tensor<3x2xf64>
}

// CHECK-LABEL: func.func @middle_and_last
// CHECK-DAG:     graph.sort %x axis = 0 descending places = [4000, 4002]
// CHECK-DAG:     graph.sort %x axis = 0 descending places = [7999, 8000]
// CHECK-NOT:     graph.sort
// CHECK:         func.return
func.func @middle_and_last(%x: tensor<8000xf32>) -> (tensor<2xf32>, tensor<1xf32>) {
  %v, %i = graph.sort %x axis = 0 descending : tensor<8000xf32> -> tensor<8000xf32>, tensor<8000xi64>
  %0 = graph.slice %v starts = [4000] stops = [4002] steps = [1] : tensor<8000xf32> -> tensor<2xf32>
  %1 = graph.slice %v starts = [7999] stops = [8000] steps = [1] : tensor<8000xf32> -> tensor<1xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<1xf32>
}

// What is read of the rest of the row asks for a sort, and so do many places.
// CHECK-LABEL: func.func @refused
// CHECK-NEXT:    graph.sort %x axis = 0 : tensor
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.sort %x axis = 0 descending : tensor
// CHECK-NEXT:    graph.slice
func.func @refused(%x: tensor<8000xf32>) -> (tensor<2xf32>, tensor<8000xf32>, tensor<100xf32>) {
  %v, %i = graph.sort %x axis = 0 : tensor<8000xf32> -> tensor<8000xf32>, tensor<8000xi64>
  %0 = graph.slice %v starts = [0] stops = [2] steps = [1] : tensor<8000xf32> -> tensor<2xf32>
  %w, %j = graph.sort %x axis = 0 descending : tensor<8000xf32> -> tensor<8000xf32>, tensor<8000xi64>
  %1 = graph.slice %w starts = [0] stops = [100] steps = [1] : tensor<8000xf32> -> tensor<100xf32>
  func.return %0, %v, %1 : tensor<2xf32>, tensor<8000xf32>, tensor<100xf32>
}

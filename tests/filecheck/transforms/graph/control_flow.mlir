// RUN: stepwell-opt %s -p canonicalize | filecheck %s

// What is known of a condition or a number of steps leaves no region.

// CHECK-LABEL: func.func @if_true
// CHECK-NEXT:    %e = graph.exp %x
// CHECK-NEXT:    func.return %e
func.func @if_true(%x: tensor<4xf32>) -> tensor<4xf32> {
  %flag = graph.constant dense<true> : tensor<i1>
  %y = graph.if %flag : tensor<i1> -> tensor<4xf32> {
    %e = graph.exp %x : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A branch that is never taken goes with what only it used, as does one inside the branch that is taken.
// CHECK-LABEL: func.func @if_false
// CHECK-NEXT:    %e = graph.exp %x
// CHECK-NEXT:    func.return %e
func.func @if_false(%x: tensor<4xf32>) -> tensor<4xf32> {
  %no = graph.constant dense<false> : tensor<i1>
  %yes = graph.not %no : tensor<i1>
  %unused = graph.tanh %x : tensor<4xf32>
  %y = graph.if %no : tensor<i1> -> tensor<4xf32> {
    graph.yield %unused : tensor<4xf32>
  } else {
    %z = graph.if %yes : tensor<i1> -> tensor<4xf32> {
      %e = graph.exp %x : tensor<4xf32>
      graph.yield %e : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    graph.yield %z : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @if_unknown
// CHECK:         graph.if %flag
func.func @if_unknown(%flag: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.if %flag : tensor<i1> -> tensor<4xf32> {
    %e = graph.exp %x : tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// CHECK-LABEL: func.func @while_false
// CHECK-NEXT:    func.return %k0
func.func @while_false(%k0: tensor<i64>) -> tensor<i64> {
  %go = graph.constant dense<false> : tensor<i1>
  %n = graph.while %go carry (%k = %k0) : (tensor<i1>, tensor<i64>) -> tensor<i64> {
    graph.yield %go, %k : tensor<i1>, tensor<i64>
  }
  func.return %n : tensor<i64>
}

// CHECK-LABEL: func.func @no_steps
// CHECK-NEXT:    %[[NONE:.*]] = graph.constant dense<> : tensor<0x2xf32>
// CHECK-NEXT:    func.return %h0, %[[NONE]]
func.func @no_steps(%h0: tensor<2xf32>) -> (tensor<2xf32>, tensor<0x2xf32>) {
  %last, %ys = graph.scan 0 carry (%h = %h0) : (tensor<2xf32>) -> (tensor<2xf32>, tensor<0x2xf32>) {
    graph.yield %h, %h : tensor<2xf32>, tensor<2xf32>
  }
  func.return %last, %ys : tensor<2xf32>, tensor<0x2xf32>
}

// A scan that nothing needs is gone.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT:    func.return %h0
func.func @unused(%h0: tensor<2xf32>) -> tensor<2xf32> {
  %last = graph.scan 5 carry (%h = %h0) : (tensor<2xf32>) -> tensor<2xf32> {
    %e = graph.exp %h : tensor<2xf32>
    graph.yield %e : tensor<2xf32>
  }
  func.return %h0 : tensor<2xf32>
}

// A loop that only counts is a scan over its numbers; the last of them is known.
// CHECK-LABEL: func.func @counts
// CHECK-DAG:     %[[NUMBERS:.*]] = graph.constant dense<[3, 5, 7, 9]> : tensor<4xi32>
// CHECK-DAG:     %[[LAST:.*]] = graph.constant dense<11> : tensor<i32>
// CHECK:         %[[Y:.*]] = graph.scan 4 carry (%[[Z:.*]] = %x) over (%[[I:.*]] = %[[NUMBERS]])
// CHECK-NEXT:      %[[N:.*]] = graph.mul %[[Z]], %[[I]]
// CHECK-NEXT:      graph.yield %[[N]] : tensor<2xi32>
// CHECK:         func.return %[[LAST]], %[[Y]]
func.func @counts(%x: tensor<2xi32>) -> (tensor<i32>, tensor<2xi32>) {
  %three = graph.constant dense<3> : tensor<i32>
  %two = graph.constant dense<2> : tensor<i32>
  %ten = graph.constant dense<10> : tensor<i32>
  %go = graph.constant dense<true> : tensor<i1>
  %n, %y = graph.while %go carry (%i = %three, %z = %x) : (tensor<i1>, tensor<i32>, tensor<2xi32>) -> (tensor<i32>, tensor<2xi32>) {
    %next = graph.add %i, %two : tensor<i32>, tensor<i32> -> tensor<i32>
    %m = graph.mul %z, %i : tensor<2xi32>, tensor<i32> -> tensor<2xi32>
    %again = graph.gt %ten, %next : tensor<i32>, tensor<i32> -> tensor<i1>
    graph.yield %again, %next, %m : tensor<i1>, tensor<i32>, tensor<2xi32>
  }
  func.return %n, %y : tensor<i32>, tensor<2xi32>
}

// Too many numbers for a table: the counter stays in the state.
// CHECK-LABEL: func.func @counts_far
// CHECK:         graph.scan 2000000000 carry (%i = %{{.*}}, %z = %x) :
func.func @counts_far(%x: tensor<i64>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %far = graph.constant dense<2000000000> : tensor<i64>
  %go = graph.constant dense<true> : tensor<i1>
  %n, %y = graph.while %go carry (%i = %zero, %z = %x) : (tensor<i1>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>) {
    %next = graph.add %i, %one : tensor<i64>, tensor<i64> -> tensor<i64>
    %m = graph.mul %z, %i : tensor<i64>, tensor<i64> -> tensor<i64>
    %again = graph.lt %next, %far : tensor<i64>, tensor<i64> -> tensor<i1>
    graph.yield %again, %next, %m : tensor<i1>, tensor<i64>, tensor<i64>
  }
  func.return %y : tensor<i64>
}

// 3, 6, … 126 and then a number that no i8 holds: the loop goes on as its numbers wrap around.
// CHECK-LABEL: func.func @wraps
// CHECK:         graph.while
func.func @wraps(%x: tensor<2xi8>) -> tensor<2xi8> {
  %zero = graph.constant dense<0> : tensor<i8>
  %three = graph.constant dense<3> : tensor<i8>
  %most = graph.constant dense<126> : tensor<i8>
  %go = graph.constant dense<true> : tensor<i1>
  %n, %y = graph.while %go carry (%i = %zero, %z = %x) : (tensor<i1>, tensor<i8>, tensor<2xi8>) -> (tensor<i8>, tensor<2xi8>) {
    %next = graph.add %i, %three : tensor<i8>, tensor<i8> -> tensor<i8>
    %m = graph.mul %z, %i : tensor<2xi8>, tensor<i8> -> tensor<2xi8>
    %again = graph.le %next, %most : tensor<i8>, tensor<i8> -> tensor<i1>
    graph.yield %again, %next, %m : tensor<i1>, tensor<i8>, tensor<2xi8>
  }
  func.return %y : tensor<2xi8>
}

// What makes no difference to the results is not carried, read or stacked.
// CHECK-LABEL: func.func @unused_states
// CHECK-NEXT:    %[[LAST:.*]] = graph.scan 5 carry (%h = %h0) over (%x = %xs) : (tensor<f32>, tensor<5xf32>) -> tensor<f32>
// CHECK-NEXT:      graph.add %h, %x
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %[[LAST]]
func.func @unused_states(%h0: tensor<f32>, %xs: tensor<5xf32>, %others: tensor<5xf32>) -> tensor<f32> {
  %g, %last, %ys = graph.scan 5 carry (%k = %h0, %h = %h0) over (%x = %xs, %o = %others) : (tensor<f32>, tensor<f32>, tensor<5xf32>, tensor<5xf32>) -> (tensor<f32>, tensor<f32>, tensor<5xf32>) {
    %e = graph.add %k, %o : tensor<f32>, tensor<f32> -> tensor<f32>
    %s = graph.add %h, %x : tensor<f32>, tensor<f32> -> tensor<f32>
    graph.yield %e, %s, %e : tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.return %last : tensor<f32>
}

// More steps than the number of a scan's steps has room for: it stays a loop.
// CHECK-LABEL: func.func @counts_too_far
// CHECK:         graph.while
func.func @counts_too_far(%x: tensor<f32>) -> tensor<f32> {
  %zero = graph.constant dense<0> : tensor<ui64>
  %one = graph.constant dense<1> : tensor<ui64>
  %far = graph.constant dense<18446744073709551615> : tensor<ui64>
  %go = graph.constant dense<true> : tensor<i1>
  %n, %y = graph.while %go carry (%i = %zero, %z = %x) : (tensor<i1>, tensor<ui64>, tensor<f32>) -> (tensor<ui64>, tensor<f32>) {
    %next = graph.add %i, %one : tensor<ui64>, tensor<ui64> -> tensor<ui64>
    %m = graph.mul %z, %x : tensor<f32>, tensor<f32> -> tensor<f32>
    %again = graph.lt %next, %far : tensor<ui64>, tensor<ui64> -> tensor<i1>
    graph.yield %again, %next, %m : tensor<i1>, tensor<ui64>, tensor<f32>
  }
  func.return %y : tensor<f32>
}

// A state that a call is given, which may do more than compute, stays.
// CHECK-LABEL: func.func @state_of_call
// CHECK:         graph.scan 5 carry (%k = %x, %h = %x) :
func.func @state_of_call(%x: tensor<f32>) -> tensor<f32> {
  %unused, %last = graph.scan 5 carry (%k = %x, %h = %x) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %e = func.call @called(%k) : (tensor<f32>) -> tensor<f32>
    %s = graph.add %h, %x : tensor<f32>, tensor<f32> -> tensor<f32>
    graph.yield %e, %s : tensor<f32>, tensor<f32>
  }
  func.return %last : tensor<f32>
}
func.func private @called(%x: tensor<f32>) -> tensor<f32> {
  func.return %x : tensor<f32>
}

// RUN: stepwell-opt %s -p te-narrow-steps | filecheck %s
// RUN: stepwell-opt %s --remarks -p te-narrow-steps 2>&1 >/dev/null | filecheck %s --check-prefix=WHY
// RUN: stepwell-opt %s -p te-narrow-steps,te-bufferize,convert-te-to-loop | filecheck %s --check-prefix=LOOP

// Of the last state the first element is used, and each step reads one element further: the last step computes one element.

// WHY: of 'next' later steps need 50%
// CHECK-LABEL: func.func @triangle(
// CHECK:         te.kernel "next"
// CHECK-SAME:      {stepwell.needed = [affine_map<(d0) -> (0, ((d0 * -1) + 7))>]}
// LOOP:        func.func private @triangle.next(
// LOOP-SAME:     %step: index {stepwell.step}
// LOOP-SAME:     {stepwell.result, stepwell.needed = affine_map<(d0) -> (0, ((d0 * -1) + 7))>}
// LOOP-LABEL:  func.func @triangle(
// LOOP:          scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// LOOP:            func.call @triangle.next(%{{.*}}, %[[T]], %{{.*}}) :
func.func @triangle(%x: tensor<9xf32>) -> tensor<1xf32> {
  %last = te.scan 8 carry (%state = %x) over () : (tensor<9xf32>) -> tensor<9xf32> {
    %y = te.kernel "next" (%s = %state) : (tensor<9xf32>) -> tensor<9xf32> {
      %r = te.compute [%i = 9] (%a = %s[%i], %b = %s[%i + 1] else 0.0 : f32) : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32> {
        %c = arith.addf %a, %b : f32
        te.yield %c : f32
      }
      te.yield %r : tensor<9xf32>
    }
    te.yield %y : tensor<9xf32>
  }
  %first = te.kernel "first" (%l = %last) : (tensor<9xf32>) -> tensor<1xf32> {
    %r = te.compute [%i = 1] (%a = %l[%i]) : (tensor<9xf32>) -> tensor<1xf32> {
      te.yield %a : f32
    }
    te.yield %r : tensor<1xf32>
  }
  func.return %first : tensor<1xf32>
}

// What is stacked, divides integers (by zero, where nobody wrote) or leaves little out is computed whole.

// CHECK-LABEL: func.func @whole(
// CHECK-NOT:     stepwell.needed
func.func @whole(%x: tensor<9xi32>, %y: tensor<9xf32>) -> (tensor<1xi32>, tensor<8x9xf32>, tensor<1xf32>) {
  %last = te.scan 8 carry (%state = %x) over () : (tensor<9xi32>) -> tensor<9xi32> {
    %y1 = te.kernel "divided" (%s = %state) : (tensor<9xi32>) -> tensor<9xi32> {
      %r = te.compute [%i = 9] (%a = %s[%i], %b = %s[%i + 1] else 1 : i32) : (tensor<9xi32>, tensor<9xi32>) -> tensor<9xi32> {
        %c = arith.divsi %a, %b : i32
        te.yield %c : i32
      }
      te.yield %r : tensor<9xi32>
    }
    te.yield %y1 : tensor<9xi32>
  }
  %first = te.kernel "first" (%l = %last) : (tensor<9xi32>) -> tensor<1xi32> {
    %r = te.compute [%i = 1] (%a = %l[%i]) : (tensor<9xi32>) -> tensor<1xi32> {
      te.yield %a : i32
    }
    te.yield %r : tensor<1xi32>
  }
  %end, %every = te.scan 8 carry (%state = %y) over () : (tensor<9xf32>) -> (tensor<9xf32>, tensor<8x9xf32>) {
    %z = te.kernel "stacked" (%s = %state) : (tensor<9xf32>) -> tensor<9xf32> {
      %r = te.compute [%i = 9] (%a = %s[%i]) : (tensor<9xf32>) -> tensor<9xf32> {
        %c = arith.addf %a, %a : f32
        te.yield %c : f32
      }
      te.yield %r : tensor<9xf32>
    }
    te.yield %z, %z : tensor<9xf32>, tensor<9xf32>
  }
  %far = te.scan 90 carry (%state = %y) over () : (tensor<9xf32>) -> tensor<9xf32> {
    %z = te.kernel "long" (%s = %state) : (tensor<9xf32>) -> tensor<9xf32> {
      %r = te.compute [%i = 9] (%a = %s[%i], %b = %s[%i + 1] else 0.0 : f32) : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32> {
        %c = arith.addf %a, %b : f32
        te.yield %c : f32
      }
      te.yield %r : tensor<9xf32>
    }
    te.yield %z : tensor<9xf32>
  }
  %one = te.kernel "one" (%l = %far) : (tensor<9xf32>) -> tensor<1xf32> {
    %r = te.compute [%i = 1] (%a = %l[%i]) : (tensor<9xf32>) -> tensor<1xf32> {
      te.yield %a : f32
    }
    te.yield %r : tensor<1xf32>
  }
  func.return %first, %every, %one : tensor<1xi32>, tensor<8x9xf32>, tensor<1xf32>
}

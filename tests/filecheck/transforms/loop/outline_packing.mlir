// RUN: stepwell-opt %s -p loop-outline-packing | filecheck %s
// RUN: stepwell-opt %s --remarks -p loop-outline-packing 2>&1 >/dev/null | filecheck %s --check-prefix REMARK
// RUN: stepwell-opt %s -p loop-outline-packing > %t.once.mlir && stepwell-opt %t.once.mlir -p loop-outline-packing > %t.twice.mlir && diff %t.once.mlir %t.twice.mlir

// REMARK: outline_packing.mlir:{{[0-9]+}}:13: remark: loop-outline-packing: 'packed' is filled once, at load, by 'pack.packed'
// REMARK: remark: loop-outline-packing: 't' is not filled at load: it is read before all of it is stored
// REMARK: remark: loop-outline-packing: 't' is not filled at load: it would make 256 elements of 4
// REMARK: remark: loop-outline-packing: 'packed' is filled once, at load, by 'layer.packed'
// REMARK: remark: loop-outline-packing: 't' is not filled at load: 'mixed' is called with what is no constant
// REMARK: remark: loop-outline-packing: 't' is not filled at load: 'exported' is not called by this module alone

// What is filled at load has no contents in the text. Constants that only the copies read stay: the load function
// reads them.
// CHECK:      sym_name = "w_packed", type = memref<2x3x4xi32>, initial_value, sym_visibility = "private"}> {stepwell.load}
// CHECK-NEXT: sym_name = "w_turned", type = memref<5x3xi32>, initial_value, sym_visibility = "private"}> {stepwell.load}
// CHECK-NEXT: sym_name = "w_turned_wide", type = memref<5x3xf64>, initial_value, sym_visibility = "private"}> {stepwell.load}
// CHECK-NEXT: sym_name = "w_t", type = memref<3x3xi32>
// CHECK-NEXT: sym_name = "row_t", type = memref<4xi32>
// CHECK-NEXT: sym_name = "w_packed_1", type = memref<2x3x4xi32>
// CHECK-NEXT: sym_name = "v_packed", type = memref<2x3x4xi32>
// CHECK-NEXT: sym_name = "w"
// CHECK-NEXT: sym_name = "v"
// CHECK-NEXT: sym_name = "state"
// CHECK-NEXT: sym_name = "row"
// CHECK-NEXT: sym_name = "never_read"
"memref.global"() <{sym_name = "w", type = memref<3x5xi32>, initial_value = dense<[[1,2,3,4,5],[6,7,8,9,10],[11,12,13,14,15]]> : tensor<3x5xi32>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "v", type = memref<3x5xi32>, initial_value = dense<1> : tensor<3x5xi32>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "state", type = memref<4xi32>, initial_value = dense<7> : tensor<4xi32>, sym_visibility = "private"}> : () -> ()
"memref.global"() <{sym_name = "row", type = memref<4xi32>, initial_value = dense<[1, 2, 3, 4]> : tensor<4xi32>, sym_visibility = "private", constant}> : () -> ()
"memref.global"() <{sym_name = "never_read", type = memref<4xi32>, initial_value = dense<[1, 2, 3, 4]> : tensor<4xi32>, sym_visibility = "private", constant}> : () -> ()


// Into panels of four columns, the last one padded.
// CHECK-LABEL: func.func @pack(
// CHECK-NEXT:    %packed = memref.get_global @w_packed : memref<2x3x4xi32>
// CHECK-NEXT:    loop.for parallel "i"
// CHECK:         loop.load %packed[%i, %j, %k]
// CHECK:       func.func private @pack.packed(%w: memref<3x5xi32> {stepwell.constant}, %packed: memref<2x3x4xi32> {stepwell.result}) {
// CHECK-NEXT:    loop.for parallel "c0" %c0 = 0 to 3 {
// CHECK:         loop.store %v, %packed[%c1 floordiv 4, %c0, %c1 mod 4]
func.func @pack(%y: memref<2x3x4xi32> {stepwell.result}) {
  %w = memref.get_global @w : memref<3x5xi32>
  %packed = loop.alloc arena : memref<2x3x4xi32>
  loop.for parallel "c0" %c0 = 0 to 3 {
    loop.for parallel "c1" %c1 = 0 to 8 {
      %v = loop.if (%c1 * -1 + 4 >= 0) -> (i32) {
        %e = loop.load %w[%c0, %c1] : memref<3x5xi32>
        loop.yield %e : i32
      } else {
        %zero = arith.constant 0 : i32
        loop.yield %zero : i32
      }
      loop.store %v, %packed[%c1 floordiv 4, %c0, %c1 mod 4] : memref<2x3x4xi32>
    }
  }
  loop.for parallel "i" %i = 0 to 2 {
    loop.for parallel "j" %j = 0 to 3 {
      loop.for parallel "k" %k = 0 to 4 {
        %v = loop.load %packed[%i, %j, %k] : memref<2x3x4xi32>
        loop.store %v, %y[%i, %j, %k] : memref<2x3x4xi32>
      }
    }
  }
  func.return
}

// Inside of a loop, but the same in each of its iterations; a second copy is of what the first one made, which load has filled before.
// CHECK-LABEL: func.func @chain(
// CHECK-NEXT:    loop.for parallel threads "i"
// CHECK-NEXT:      %wide = memref.get_global @w_turned_wide : memref<5x3xf64>
// CHECK-NEXT:      %v = loop.load %wide[4, 2]
// CHECK:       func.func private @chain.wide(%turned: memref<5x3xi32> {stepwell.constant}, %wide: memref<5x3xf64> {stepwell.result})
func.func @chain(%y: memref<8xf64> {stepwell.result}) {
  %w = memref.get_global @w : memref<3x5xi32>
  loop.for parallel threads "i" %i = 0 to 8 {
    %turned = loop.alloc arena : memref<5x3xi32>
    loop.for parallel "c0" %c0 = 0 to 5 {
      loop.for parallel vector "c1" %c1 = 0 to 3 {
        %e = loop.load %w[%c1, %c0] : memref<3x5xi32>
        loop.store %e, %turned[%c0, %c1] : memref<5x3xi32>
      }
    }
    %wide = loop.alloc stack : memref<5x3xf64>
    loop.for parallel "d0" %d0 = 0 to 5 {
      loop.for parallel "d1" %d1 = 0 to 3 {
        %e = loop.load %turned[%d0, %d1] : memref<5x3xi32>
        %f = arith.sitofp %e : i32 to f64
        loop.store %f, %wide[%d0, %d1] : memref<5x3xf64>
      }
    }
    %v = loop.load %wide[4, 2] : memref<5x3xf64>
    loop.store %v, %y[%i] : memref<8xf64>
  }
  func.return
}

// Of triangles both bounds move. Two nests fill one buffer.
// CHECK-LABEL: func.func @triangles(
// CHECK-NEXT:    %t = memref.get_global @w_t
// CHECK-NEXT:    loop.for parallel "i"
func.func @triangles(%y: memref<3x3xi32> {stepwell.result}) {
  %w = memref.get_global @w : memref<3x5xi32>
  %t = loop.alloc arena : memref<3x3xi32>
  loop.for parallel "a" %a = 0 to 3 {
    loop.for parallel "b" %b = %a + 1 to 3 {
      %e = loop.load %w[%a, %b] : memref<3x5xi32>
      loop.store %e, %t[%a, %b] : memref<3x3xi32>
    }
  }
  loop.for parallel "c" %c = 0 to 2 {
    %e = loop.load %w[%c + 1, %c] : memref<3x5xi32>
    %n = arith.addi %e, %e : i32
    loop.store %n, %t[%c + 1, %c] : memref<3x3xi32>
  }
  loop.for parallel "i" %i = 0 to 3 {
    loop.for parallel "j" %j = 0 to 3 {
      %v = loop.load %t[%i, %j] : memref<3x3xi32>
      loop.store %v, %y[%i, %j] : memref<3x3xi32>
    }
  }
  func.return
}

// Its contents may change.
// CHECK-LABEL: func.func @not_constant(
// CHECK:         loop.alloc
func.func @not_constant(%y: memref<4xi32> {stepwell.result}) {
  %s = memref.get_global @state : memref<4xi32>
  %t = loop.alloc arena : memref<4xi32>
  loop.for parallel "c" %c = 0 to 4 {
    %e = loop.load %s[%c] : memref<4xi32>
    loop.store %e, %t[%c] : memref<4xi32>
  }
  loop.for parallel "i" %i = 0 to 4 {
    %v = loop.load %t[%i] : memref<4xi32>
    loop.store %v, %y[%i] : memref<4xi32>
  }
  func.return
}

// Iterations that run in order do so at load.
// CHECK-LABEL: func.func @in_order(
// CHECK-NEXT:    %t = memref.get_global @row_t
func.func @in_order(%y: memref<4xi32> {stepwell.result}) {
  %s = memref.get_global @row : memref<4xi32>
  %t = loop.alloc arena : memref<4xi32>
  loop.for serial "c" %c = 0 to 4 {
    %e = loop.load %s[%c] : memref<4xi32>
    loop.store %e, %t[0] : memref<4xi32>
  }
  %v = loop.load %t[0] : memref<4xi32>
  loop.store %v, %y[0] : memref<4xi32>
  func.return
}

// Each iteration of the loop around has another copy.
// CHECK-LABEL: func.func @moves(
// CHECK:         loop.alloc
func.func @moves(%y: memref<4x4xi32> {stepwell.result}) {
  %s = memref.get_global @row : memref<4xi32>
  loop.for parallel "i" %i = 0 to 4 {
    %t = loop.alloc arena : memref<4xi32>
    loop.for parallel "c" %c = 0 to %i {
      %e = loop.load %s[%c] : memref<4xi32>
      loop.store %e, %t[%c] : memref<4xi32>
    }
    loop.for parallel "j" %j = 0 to %i {
      %v = loop.load %t[%j] : memref<4xi32>
      loop.store %v, %y[%i, %j] : memref<4x4xi32>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @stored_later(
// CHECK:         loop.alloc
func.func @stored_later(%y: memref<4xi32> {stepwell.result}) {
  %s = memref.get_global @row : memref<4xi32>
  %t = loop.alloc arena : memref<4xi32>
  loop.for parallel "c" %c = 0 to 4 {
    %e = loop.load %s[%c] : memref<4xi32>
    loop.store %e, %t[%c] : memref<4xi32>
  }
  loop.for parallel "i" %i = 0 to 4 {
    %v = loop.load %t[%i] : memref<4xi32>
    %n = arith.addi %v, %v : i32
    loop.store %n, %t[%i] : memref<4xi32>
    loop.store %v, %y[%i] : memref<4xi32>
  }
  func.return
}

// CHECK-LABEL: func.func @read_between(
// CHECK:         loop.alloc
func.func @read_between(%y: memref<4xi32> {stepwell.result}) {
  %s = memref.get_global @row : memref<4xi32>
  %t = loop.alloc arena : memref<4xi32>
  loop.for parallel "c" %c = 0 to 4 {
    %e = loop.load %s[%c] : memref<4xi32>
    loop.store %e, %t[%c] : memref<4xi32>
  }
  %v = loop.load %t[0] : memref<4xi32>
  loop.store %v, %y[0] : memref<4xi32>
  loop.for parallel "d" %d = 0 to 4 {
    %e = loop.load %s[%d * -1 + 3] : memref<4xi32>
    loop.store %e, %t[%d] : memref<4xi32>
  }
  func.return
}

// Memory would grow.
// CHECK-LABEL: func.func @broadcast(
// CHECK:         loop.alloc
func.func @broadcast(%y: memref<64x4xi32> {stepwell.result}) {
  %s = memref.get_global @row : memref<4xi32>
  %t = loop.alloc arena : memref<64x4xi32>
  loop.for parallel "c" %c = 0 to 64 {
    loop.for parallel "d" %d = 0 to 4 {
      %e = loop.load %s[%d] : memref<4xi32>
      loop.store %e, %t[%c, %d] : memref<64x4xi32>
    }
  }
  loop.for parallel "i" %i = 0 to 64 {
    loop.for parallel "j" %j = 0 to 4 {
      %v = loop.load %t[%i, %j] : memref<64x4xi32>
      loop.store %v, %y[%i, %j] : memref<64x4xi32>
    }
  }
  func.return
}

// The kernel is given what its constant was packed to; what is passed twice is packed once. `@other` packs the
// constant in the same way, by the same function.
// CHECK-LABEL: func.func private @layer(%x: memref<3xi32>, %packed: memref<2x3x4xi32> {stepwell.constant}, %y: memref<8xi32> {stepwell.result}) {
// CHECK-NEXT:    loop.for parallel "j"
// CHECK:       func.func private @layer.packed(%w: memref<3x5xi32> {stepwell.constant}, %packed: memref<2x3x4xi32> {stepwell.result})
func.func private @layer(%x: memref<3xi32>, %w: memref<3x5xi32> {stepwell.constant}, %y: memref<8xi32> {stepwell.result}) {
  %packed = loop.alloc arena : memref<2x3x4xi32>
  loop.for parallel "c0" %c0 = 0 to 3 {
    loop.for parallel "c1" %c1 = 0 to 5 {
      %e = loop.load %w[%c0, %c1] : memref<3x5xi32>
      loop.store %e, %packed[%c1 floordiv 4, %c0, %c1 mod 4] : memref<2x3x4xi32>
    }
  }
  loop.for parallel "j" %j = 0 to 5 {
    %a = loop.load %x[0] : memref<3xi32>
    %b = loop.load %packed[%j floordiv 4, 0, %j mod 4] : memref<2x3x4xi32>
    %c = arith.muli %a, %b : i32
    loop.store %c, %y[%j] : memref<8xi32>
  }
  func.return
}

// The constant is read elsewhere too, so it stays an argument.
// CHECK-LABEL: func.func private @other(%w: memref<3x5xi32> {stepwell.constant}, %packed: memref<2x3x4xi32> {stepwell.constant}, %y: memref<8xi32> {stepwell.result}) {
// CHECK-NOT:   @other.packed
func.func private @other(%w: memref<3x5xi32> {stepwell.constant}, %y: memref<8xi32> {stepwell.result}) {
  %packed = loop.alloc arena : memref<2x3x4xi32>
  loop.for parallel "d0" %d0 = 0 to 3 {
    loop.for parallel "d1" %d1 = 0 to 5 {
      %e = loop.load %w[%d0, %d1] : memref<3x5xi32>
      loop.store %e, %packed[%d1 floordiv 4, %d0, %d1 mod 4] : memref<2x3x4xi32>
    }
  }
  loop.for parallel "j" %j = 0 to 5 {
    %a = loop.load %w[2, %j] : memref<3x5xi32>
    %b = loop.load %packed[%j floordiv 4, 0, %j mod 4] : memref<2x3x4xi32>
    %c = arith.muli %a, %b : i32
    loop.store %c, %y[%j] : memref<8xi32>
  }
  func.return
}

// CHECK-LABEL: func.func private @mixed(
// CHECK:         loop.alloc
func.func private @mixed(%s: memref<4xi32> {stepwell.constant}, %y: memref<4xi32> {stepwell.result}) {
  %t = loop.alloc arena : memref<4xi32>
  loop.for parallel "c" %c = 0 to 4 {
    %e = loop.load %s[%c] : memref<4xi32>
    loop.store %e, %t[%c] : memref<4xi32>
  }
  %v = loop.load %t[0] : memref<4xi32>
  loop.store %v, %y[0] : memref<4xi32>
  func.return
}

// CHECK-LABEL: func.func @exported(
// CHECK:         loop.alloc
func.func @exported(%s: memref<4xi32> {stepwell.constant}, %y: memref<4xi32> {stepwell.result}) {
  %t = loop.alloc arena : memref<4xi32>
  loop.for parallel "c" %c = 0 to 4 {
    %e = loop.load %s[%c] : memref<4xi32>
    loop.store %e, %t[%c] : memref<4xi32>
  }
  %v = loop.load %t[0] : memref<4xi32>
  loop.store %v, %y[0] : memref<4xi32>
  func.return
}

// CHECK-LABEL: func.func @main(
// CHECK:         %[[P:.*]] = memref.get_global @w_packed_1
// CHECK-NEXT:    func.call @layer(%x, %[[P]], %y)
// CHECK:         %[[Q:.*]] = memref.get_global @v_packed
// CHECK-NEXT:    func.call @layer(%x, %[[Q]], %y)
// CHECK:         %[[P2:.*]] = memref.get_global @w_packed_1
// CHECK-NEXT:    func.call @other(%w, %[[P2]], %y)
func.func @main(%x: memref<3xi32>, %z: memref<4xi32>, %y: memref<8xi32> {stepwell.result}, %u: memref<4xi32> {stepwell.result}) {
  %w = memref.get_global @w : memref<3x5xi32>
  %v = memref.get_global @v : memref<3x5xi32>
  %row = memref.get_global @row : memref<4xi32>
  func.call @layer(%x, %w, %y) : (memref<3xi32>, memref<3x5xi32>, memref<8xi32>) -> ()
  func.call @layer(%x, %v, %y) : (memref<3xi32>, memref<3x5xi32>, memref<8xi32>) -> ()
  func.call @other(%w, %y) : (memref<3x5xi32>, memref<8xi32>) -> ()
  func.call @mixed(%row, %u) : (memref<4xi32>, memref<4xi32>) -> ()
  func.call @mixed(%z, %u) : (memref<4xi32>, memref<4xi32>) -> ()
  func.return
}

// Each is packed by one call, in an order in which what is read is filled.
// CHECK-LABEL: func.func private @load.constants() attributes {stepwell.load} {
// CHECK-NEXT:    %w = memref.get_global @w
// CHECK-NEXT:    %packed = memref.get_global @w_packed :
// CHECK-NEXT:    func.call @pack.packed(%w, %packed)
// CHECK:         func.call @chain.turned(
// CHECK:         func.call @chain.wide(
// CHECK:         func.call @triangles.t(
// CHECK:         func.call @in_order.t(
// CHECK:         memref.get_global @w_packed_1
// CHECK-NEXT:    func.call @layer.packed(
// CHECK:         memref.get_global @v_packed
// CHECK-NEXT:    func.call @layer.packed(
// CHECK-NEXT:    func.return

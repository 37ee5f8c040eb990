"""The interpreters on core-level modules: control flow, calls, memory, vectors, and mistakes."""

import numpy as np
import pytest
from stepwell.errors import StepwellError

from .interpreted import f32s, run


def test_scf_for_with_carried_values():
    text = """
    func.func @main(%x: memref<5xf32>) -> f32 {
      %zero = arith.constant 0.0 : f32
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c5 = arith.constant 5 : index
      %r = scf.for %i = %c0 to %c5 step %c2 iter_args(%s = %zero) -> (f32) {
        %v = memref.load %x[%i] : memref<5xf32>
        %t = arith.addf %s, %v : f32
        scf.yield %t : f32
      }
      func.return %r : f32
    }"""
    _, total = run(text, f32s(1, 2, 3, 4, 5))
    assert total == 9
    assert total.dtype == np.float32


def test_scf_if_while_and_parallel():
    text = """
    func.func @main(%n: index) -> (index, index, f32) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %p = arith.cmpi sgt, %n, %c4 : index
      %a = scf.if %p -> (index) {
        scf.yield %c1 : index
      } else {
        scf.yield %c0 : index
      }
      %b = scf.while (%i = %n) : (index) -> index {
        %more = arith.cmpi slt, %i, %c4 : index
        scf.condition(%more) %i : index
      } do {
      ^bb0(%i: index):
        %next = arith.addi %i, %c1 : index
        scf.yield %next : index
      }
      %zero = arith.constant 0.0 : f32
      %s = "scf.parallel"(%c0, %n, %c1, %zero) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
      ^bb0(%i: index):
        %k = arith.index_cast %i : index to i32
        %f = arith.sitofp %k : i32 to f32
        scf.reduce(%f : f32) {
        ^bb1(%l: f32, %r: f32):
          %t = arith.addf %l, %r : f32
          scf.reduce.return %t : f32
        }
      }) : (index, index, index, f32) -> f32
      func.return %a, %b, %s : index, index, f32
    }"""
    assert run(text, np.int64(3)) == (0, 4, 3.0)
    assert run(text, np.int64(6)) == (1, 6, 15.0)


def test_branches_and_calls():
    text = """
    func.func private @twice(%x: i32) -> i32 {
      %r = arith.addi %x, %x : i32
      func.return %r : i32
    }
    func.func @main(%x: i32) -> i32 {
      %c10 = arith.constant 10 : i32
      cf.br ^head(%x : i32)
    ^head(%v: i32):
      %small = arith.cmpi slt, %v, %c10 : i32
      cf.cond_br %small, ^body(%v : i32), ^end(%v : i32)
    ^body(%w: i32):
      %d = func.call @twice(%w) : (i32) -> i32
      cf.br ^head(%d : i32)
    ^end(%r: i32):
      cf.switch %r : i32, [
        default: ^other(%r : i32),
        12: ^twelve(%c10 : i32)
      ]
    ^other(%a: i32):
      func.return %a : i32
    ^twelve(%b: i32):
      func.return %b : i32
    }"""
    assert run(text, np.int32(1)) == 16
    assert run(text, np.int32(3)) == 10


def test_recursion_has_a_frame_for_each_call():
    text = """
    func.func @main(%n: i32) -> i32 {
      %c1 = arith.constant 1 : i32
      %stop = arith.cmpi sle, %n, %c1 : i32
      %r = scf.if %stop -> (i32) {
        scf.yield %c1 : i32
      } else {
        %m = arith.subi %n, %c1 : i32
        %f = func.call @main(%m) : (i32) -> i32
        %p = arith.muli %n, %f : i32
        scf.yield %p : i32
      }
      func.return %r : i32
    }"""
    assert run(text, np.int32(6)) == 720


def test_globals():
    text = """
    "memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<3xf32>, constant,
      initial_value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}> : () -> ()
    "memref.global"() <{sym_name = "state", sym_visibility = "private", type = memref<2xi32>,
      initial_value = dense<7> : tensor<2xi32>}> : () -> ()
    func.func @main(%i: index) -> (f32, i32) {
      %t = memref.get_global @table : memref<3xf32>
      %s = memref.get_global @state : memref<2xi32>
      %v = memref.load %t[%i] : memref<3xf32>
      %one = arith.constant 1 : i32
      memref.store %one, %s[%i] : memref<2xi32>
      %again = memref.get_global @state : memref<2xi32>
      %w = memref.load %again[%i] : memref<2xi32>
      func.return %v, %w : f32, i32
    }"""
    assert run(text, np.int64(1)) == (2.0, 1)
    assert run(text, np.int64(0)) == (1.0, 1)


def test_views():
    text = """
    func.func @main(%x: memref<4x6xf32>, %out: memref<3x2xf32> {stepwell.result},
                    %row: memref<6xf32> {stepwell.result}, %all: memref<24xf32> {stepwell.result}) {
      %s = memref.subview %x[1, 1] [3, 2] [1, 2] : memref<4x6xf32> to memref<3x2xf32, strided<[6, 2], offset: 7>>
      "memref.copy"(%s, %out) : (memref<3x2xf32, strided<[6, 2], offset: 7>>, memref<3x2xf32>) -> ()
      %r = memref.subview %x[2, 0] [1, 6] [1, 1] : memref<4x6xf32> to memref<6xf32, strided<[1], offset: 12>>
      "memref.copy"(%r, %row) : (memref<6xf32, strided<[1], offset: 12>>, memref<6xf32>) -> ()
      %c = memref.collapse_shape %x [[0, 1]] : memref<4x6xf32> into memref<24xf32>
      "memref.copy"(%c, %all) : (memref<24xf32>, memref<24xf32>) -> ()
      func.return
    }"""
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    out, row, everything = run(text, x)
    assert np.array_equal(out, x[1:, 1:5:2])
    assert np.array_equal(row, x[2])
    assert np.array_equal(everything, x.reshape(-1))


def test_views_of_the_arena_are_buffers_of_their_own():
    text = """
    func.func @main(%x: f32, %out: memref<2xf32> {stepwell.result}, %arena: memref<64xi8> {stepwell.arena}) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %a = memref.view %arena[%c16][] : memref<64xi8> to memref<3x2xf32>
      %row = memref.subview %a[1, 0] [1, 2] [1, 1] : memref<3x2xf32> to memref<2xf32, strided<[1], offset: 2>>
      memref.store %x, %row[%c0] : memref<2xf32, strided<[1], offset: 2>>
      %again = memref.reinterpret_cast %row to offset: [2], sizes: [2], strides: [1]
        : memref<2xf32, strided<[1], offset: 2>> to memref<2xf32, strided<[1], offset: 2>>
      "memref.copy"(%again, %out) : (memref<2xf32, strided<[1], offset: 2>>, memref<2xf32>) -> ()
      func.return
    }"""
    out = run(text, np.float32(5))
    assert out[0] == 5
    assert np.isnan(out[1])


def test_fresh_memory_is_poison():
    text = """
    func.func @main(%f: memref<2xf32> {stepwell.result}, %i: memref<2xi32> {stepwell.result}) {
      %a = memref.alloc() : memref<2xf32>
      "memref.copy"(%a, %f) : (memref<2xf32>, memref<2xf32>) -> ()
      memref.dealloc %a : memref<2xf32>
      func.return
    }"""
    floats, ints = run(text)
    assert np.isnan(floats).all()
    assert (np.abs(ints) > 1e6).all()
    assert (ints % 2 == 1).all()


def test_dynamic_sizes():
    text = """
    func.func @main(%x: memref<?x3xf32>) -> (index, index) {
      %c0 = arith.constant 0 : index
      %n = memref.dim %x, %c0 : memref<?x3xf32>
      %t = memref.alloc(%n) : memref<2x?xf32>
      %c1 = arith.constant 1 : index
      %m = memref.dim %t, %c1 : memref<2x?xf32>
      %buffer, %offset, %s0, %s1, %d0, %d1 = memref.extract_strided_metadata %t
        : memref<2x?xf32> -> memref<f32>, index, index, index, index, index
      func.return %m, %d0 : index, index
    }"""
    assert run(text, np.zeros((5, 3), np.float32))[1:] == (5, 5)


def test_vectors():
    text = """
    func.func @main(%x: memref<8xf32>, %out: memref<8xf32> {stepwell.result}, %sum: memref<f32> {stepwell.result}) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c3 = arith.constant 3 : index
      %two = arith.constant 2.0 : f32
      %k = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
      %v = vector.load %x[%c0] : memref<8xf32>, vector<4xf32>
      %b = vector.broadcast %two : f32 to vector<4xf32>
      %r = vector.fma %v, %b, %k : vector<4xf32>
      vector.store %r, %out[%c0] : memref<8xf32>, vector<4xf32>
      %mask = vector.create_mask %c3 : vector<4xi1>
      %m = vector.maskedload %x[%c4], %mask, %k : memref<8xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
      vector.store %m, %out[%c4] : memref<8xf32>, vector<4xf32>
      %s = vector.reduction <add>, %r : vector<4xf32> into f32
      memref.store %s, %sum[] : memref<f32>
      func.return
    }"""
    x = np.arange(8, dtype=np.float32)
    out, total = run(text, x)
    assert list(out) == [1, 4, 7, 10, 4, 5, 6, 4]
    assert total == 22


@pytest.mark.parametrize("at", [(0, 1), (0, -1), (2, 0), (-1, 0)])
@pytest.mark.parametrize("store", [False, True])
def test_vectors_lie_inside(at, store):
    op = (
        "vector.store %v, %x[%i, %j] : memref<2x4xf32>, vector<4xf32>"
        if store
        else "%w = vector.load %x[%i, %j] : memref<2x4xf32>, vector<4xf32>"
    )
    text = f"""
    func.func @main(%x: memref<2x4xf32>, %i: index, %j: index) {{
      %v = arith.constant dense<1.0> : vector<4xf32>
      {op}
      func.return
    }}"""
    with pytest.raises(StepwellError, match=r"of a buffer of shape \[2, 4\]"):
        run(text, np.zeros((2, 4), np.float32), np.int64(at[0]), np.int64(at[1]))


def test_masked_lanes_may_lie_outside():
    text = """
    func.func @main(%x: memref<6xf32>, %n: index) -> f32 {
      %c4 = arith.constant 4 : index
      %zero = arith.constant dense<0.0> : vector<4xf32>
      %mask = vector.create_mask %n : vector<4xi1>
      %v = vector.maskedload %x[%c4], %mask, %zero : memref<6xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
      %s = vector.reduction <add>, %v : vector<4xf32> into f32
      func.return %s : f32
    }"""
    assert run(text, np.ones(6, np.float32), np.int64(2))[1] == 2
    with pytest.raises(StepwellError, match=r"index \[6\] of a buffer of shape \[6\]"):
        run(text, np.ones(6, np.float32), np.int64(3))


OUT_OF_BOUNDS = """
func.func @main(%x: memref<3x4xf32>, %i: index, %j: index) -> f32 {{
  %v = {load} %x[%i, %j] : memref<3x4xf32>
  func.return %v : f32
}}"""


@pytest.mark.parametrize("load", ["memref.load", "loop.load"])
@pytest.mark.parametrize("at", [(3, 0), (0, 4), (-1, 0), (0, -2)])
def test_reads_outside(load, at):
    inputs = np.zeros((3, 4), np.float32), np.int64(at[0]), np.int64(at[1])
    with pytest.raises(StepwellError) as error:
        run(OUT_OF_BOUNDS.format(load=load), *inputs)
    assert f"'{load}' at index {list(at)} of a buffer of shape [3, 4]" in str(error.value)
    assert str(error.value).startswith("test.mlir:3:")
    assert "\n" not in str(error.value)


MISTAKES = {
    "writes outside": (
        """func.func @main(%x: memref<3xf32>, %v: f32, %i: index) {
             memref.store %v, %x[%i] : memref<3xf32>
             func.return
           }""",
        (np.zeros(3, np.float32), np.float32(1), np.int64(3)),
        r"'memref.store' at index \[3\] of a buffer of shape \[3\]",
    ),
    "writes to a constant": (
        """"memref.global"() <{sym_name = "c", sym_visibility = "private", type = memref<3xf32>, constant,
             initial_value = dense<1.0> : tensor<3xf32>}> : () -> ()
           func.func @main(%v: f32, %i: index) {
             %x = memref.get_global @c : memref<3xf32>
             memref.store %v, %x[%i] : memref<3xf32>
             func.return
           }""",
        (np.float32(1), np.int64(0)),
        "'memref.store' into constant memory",
    ),
    "arena too small": (
        """func.func @main(%i: index, %a: memref<8xi8> {stepwell.arena}) {
             %v = memref.view %a[%i][] : memref<8xi8> to memref<2xf32>
             func.return
           }""",
        (np.int64(4),),
        "'memref.view' of bytes 4 to 12 of a buffer of 8",
    ),
    "subview outside": (
        """func.func @main(%x: memref<4xf32>, %i: index) {
             %v = memref.subview %x[%i] [3] [1] : memref<4xf32> to memref<3xf32, strided<[1], offset: ?>>
             func.return
           }""",
        (np.zeros(4, np.float32), np.int64(2)),
        r"'memref.subview' at index \[4\]",
    ),
    "unknown operation": (
        """func.func @main() {
             "test.op"() : () -> ()
             func.return
           }""",
        (),
        "found operation 'test.op', expected one the interpreter knows",
    ),
    "no body": (
        """func.func private @f()
           func.func @main() {
             func.call @f() : () -> ()
             func.return
           }""",
        (),
        "found a call of 'f', which has no body",
    ),
    "failing assertion": (
        """func.func @main(%p: i1) {
             cf.assert %p, "wrong"
             func.return
           }""",
        (np.False_,),
        "assertion failed: wrong",
    ),
    "wrong number of inputs": (
        "func.func @main(%x: f32) { func.return }",
        (),
        "found 0 inputs, expected 1",
    ),
    "wrong shape": (
        "func.func @main(%x: memref<2xf32>) { func.return }",
        (np.zeros(3, np.float32),),
        r"found float32\[3\] for input 'x', expected float32\[2\]",
    ),
    "wrong dtype": (
        "func.func @main(%x: memref<2xf32>) { func.return }",
        (np.zeros(2),),
        r"found float64\[2\] for input 'x', expected float32\[2\]",
    ),
    "wrong order of marks": (
        "func.func @main(%x: memref<2xf32> {stepwell.result}, %y: f32) { func.return }",
        (),
        "found the marked arguments of 'main' out of order",
    ),
    "unknown element type": (
        "func.func @main(%x: memref<2xtf32>) { func.return }",
        (),
        "found 'x' of type memref<2xtf32>",
    ),
    "no entry": (
        "func.func private @f() { func.return }",
        (),
        "found no public function, expected one or one called 'main'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told_in_one_line(mistake):
    text, inputs, message = MISTAKES[mistake]
    with pytest.raises(StepwellError, match=message) as error:
        run(text, *inputs)
    assert str(error.value).startswith("test.mlir:")
    assert "\n" not in str(error.value)


def test_entry_by_name():
    text = """
    func.func @a() -> i32 { %c = arith.constant 1 : i32 func.return %c : i32 }
    func.func @b() -> i32 { %c = arith.constant 2 : i32 func.return %c : i32 }"""
    assert run(text, entry="b") == 2
    with pytest.raises(StepwellError, match="it has 'a', 'b'"):
        run(text, entry="c")
    with pytest.raises(StepwellError, match="found 2 public functions"):
        run(text)


def test_what_goes_wrong_in_a_loop_is_told_of_its_operation(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise MemoryError("none left")

    monkeypatch.setattr("stepwell.interpreters.loop.allocate", fail)
    text = """
    func.func @main() {
      loop.for serial "i" %i = 0 to 2 {
        loop.for serial "j" %j = 0 to %i {
          %a = arith.constant 1.0 : f32
          %T = loop.alloc stack : memref<4xf32>
        }
      }
      func.return
    }"""
    with pytest.raises(StepwellError, match=r":6:\d+: 'loop.alloc' failed: MemoryError: none left"):
        run(text)

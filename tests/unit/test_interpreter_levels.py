"""The interpreters of loop, te and graph, and the calling conventions of every level."""

import itertools

import numpy as np
import pytest
from stepwell.analysis.signature import (
    SIGNATURE_ATTRIBUTE,
    entry_function,
    signature_attribute,
    signature_of,
)
from stepwell.dialects.interfaces import ReferenceSemantics
from stepwell.errors import StepwellError
from stepwell.interpreters.affine import compile_bound, compile_map, compile_set
from stepwell.interpreters.harness import interpret, make_interpreter, random_inputs
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.interpreter import OpCounter
from xdsl.ir import Block, Region
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineMap,
    AffineSet,
)
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from .interpreted import f32s, parse, run


def affine_example():
    d0, d1 = AffineExpr.dimension(0), AffineExpr.dimension(1)
    return [d0 * 3 + d1 * -2 + 5, (d0 - d1) // 3, (d0 - d1 * 2).ceil_div(4), (d0 - 7) % 5]


def test_affine_maps_on_ints_and_arrays():
    map_ = AffineMap(2, 0, tuple(affine_example()))
    compiled = compile_map(map_)
    points = list(itertools.product(range(-6, 7, 3), range(-5, 6, 2)))
    for point in points:
        assert compiled(*point) == map_.eval(point, ())
    arrays = compiled(*(np.array(axis) for axis in zip(*points, strict=True)))
    assert [tuple(row) for row in np.stack(arrays, 1)] == [map_.eval(p, ()) for p in points]
    assert compile_bound(map_, "min")(3, 4) == min(map_.eval((3, 4), ()))
    assert compile_bound(map_, "max")(3, 4) == max(map_.eval((3, 4), ()))


def test_affine_sets():
    zero = AffineExpr.constant(0)
    d0 = AffineExpr.dimension(0)
    constraints = (
        AffineConstraintExpr(AffineConstraintKind.ge, d0 - 2, zero, canonicalize=False),
        AffineConstraintExpr(AffineConstraintKind.le, d0 - 8, zero, canonicalize=False),
        AffineConstraintExpr(AffineConstraintKind.eq, d0 % 2, zero, canonicalize=False),
    )
    holds = compile_set(AffineSet(1, 0, constraints))
    assert [i for i in range(12) if holds(i)] == [2, 4, 6, 8]


def test_graph_operations_by_their_own_semantics():
    text = """
    func.func @main(%x: tensor<8x6xf32>, %w: tensor<6x4xf32>, %u: tensor<4xui8>)
        -> (tensor<8x4xf32>, tensor<4xui8>) {
      %h = graph.matmul %x, %w : tensor<8x6xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
      %y = graph.softmax %h axis = 1 : tensor<8x4xf32>
      %v = graph.add %u, %u : tensor<4xui8>, tensor<4xui8> -> tensor<4xui8>
      func.return %y, %v : tensor<8x4xf32>, tensor<4xui8>
    }"""
    x, w, _ = random_inputs(entry_function(parse(text)), 0)
    found, doubled = run(text, x, w, np.array([1, 2, 200, 255], np.uint8))
    expected = np.exp(x @ w)
    np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), rtol=1e-5)
    assert doubled.dtype == np.uint8
    assert list(doubled) == [2, 4, 144, 254]


@irdl_op_definition
class NegateTwiceOp(IRDLOperation, ReferenceSemantics):
    """An operation of no dialect of ours, known by its interface."""

    name = "example.negate_twice"
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def reference(self, *arrays):
        return np.negative(np.negative(arrays[0]))


def test_an_operation_that_states_its_semantics_needs_no_registration():
    type_ = TensorType(f32, [2])
    block = Block(arg_types=[type_])
    op = NegateTwiceOp(operands=[block.args[0]], result_types=[type_])
    block.add_ops([op, ReturnOp(op.result)])
    module = ModuleOp([FuncOp("main", ([type_], [type_]), Region(block))])
    assert list(interpret(module, [f32s(1, 2)])[0]) == [1, 2]


def test_loops_with_affine_bounds_and_conditions():
    text = """
    func.func @main(%x: memref<10xf32>, %y: memref<10xf32> {stepwell.result}) {
      loop.for parallel "i" %i = 0 to 10 step 4 {
        loop.for serial threads "ii" %ii = %i to min(%i + 4, 10) {
          %v = loop.if (%ii - 1 >= 0) -> (f32) {
            %p = loop.load %x[%ii - 1] : memref<10xf32>
            loop.yield %p : f32
          } else {
            %z = arith.constant 0.0 : f32
            loop.yield %z : f32
          }
          %t = loop.alloc stack : memref<1xf32>
          loop.store %v, %t[0] : memref<1xf32>
          %w = loop.load %t[0] : memref<1xf32>
          loop.store %w, %y[%ii] : memref<10xf32>
        }
      }
      func.return
    }"""
    x = np.arange(1, 11, dtype=np.float32)
    assert list(run(text, x)) == [0, *range(1, 10)]


def test_te_matmul_and_padded_read():
    text = """
    func.func @main(%x: tensor<5x4xf32>, %w: tensor<4x3xf32>) -> (tensor<5x3xf32>, tensor<5x6xf32>) {
      %r = te.compute [%i = 5, %j = 3] add [%k = 4] (%a = %x[%i, %k], %b = %w[%k, %j])
          : (tensor<5x4xf32>, tensor<4x3xf32>) -> tensor<5x3xf32> {
        %p = arith.mulf %a, %b : f32
        te.yield %p : f32
      }
      %s = te.kernel "pad" (%in = %x) : (tensor<5x4xf32>) -> tensor<5x6xf32> {
        %q = te.compute [%i = 5, %j = 6] (%a = %in[%i, %j - 1] else 9.0 : f32)
            : (tensor<5x4xf32>) -> tensor<5x6xf32> {
          te.yield %a : f32
        }
        te.yield %q : tensor<5x6xf32>
      }
      func.return %r, %s : tensor<5x3xf32>, tensor<5x6xf32>
    }"""
    x, w = random_inputs(entry_function(parse(text)), 0)
    product, padded = run(text, x, w)
    np.testing.assert_allclose(product, x @ w, rtol=1e-5)
    assert np.array_equal(padded, np.pad(x, ((0, 0), (1, 1)), constant_values=9))


@pytest.mark.parametrize(
    ("combiner", "element", "data", "expected"),
    [
        ("add", "i8", [100, 100], -56),
        ("mul", "i32", [65536, 65536], 0),
        ("max", "f32", [1, np.nan, 3], np.nan),
        ("min", "f32", [2, -np.inf], -np.inf),
        ("max", "i8", [-1, 3], 3),
        ("umax", "i8", [-1, 3], -1),
        ("umin", "i8", [-1, 3], 3),
        ("and", "i1", [1, 0], 0),
        ("or", "i1", [1, 0], 1),
        ("umax", "i1", [1, 0], 1),
        ("umin", "i1", [1, 0], 0),
        ("add", "i1", [1, 1, 1], 1),
        ("add", "f32", [], 0),
        ("mul", "f32", [], 1),
        ("max", "f32", [], -np.inf),
        ("max", "i8", [], -128),
        ("and", "i1", [], 1),
    ],
)
def test_te_combiners(combiner, element, data, expected):
    dtype = {"f32": np.float32, "i8": np.int8, "i32": np.int32, "i1": np.bool_}[element]
    n = len(data)
    text = f"""
    func.func @main(%x: tensor<{n}x2x{element}>) -> tensor<2x{element}> {{
      %r = te.compute [%j = 2] {combiner} [%k = {n}] (%a = %x[%k, %j])
          : (tensor<{n}x2x{element}>) -> tensor<2x{element}> {{
        te.yield %a : {element}
      }}
      func.return %r : tensor<2x{element}>
    }}"""
    found = run(text, np.repeat(np.array(data, dtype).reshape(n, 1), 2, axis=1))
    assert found.dtype == dtype
    assert np.array_equal(
        found, np.array([expected] * 2).astype(dtype), equal_nan=dtype == np.float32
    )


def test_te_maximum_of_zeros_is_positive():
    text = """
    func.func @main(%x: tensor<2xf32>) -> (tensor<f32>, tensor<f32>) {
      %a = te.compute [] max [%k = 2] (%v = %x[%k]) : (tensor<2xf32>) -> tensor<f32> {
        te.yield %v : f32
      }
      %b = te.compute [] min [%k = 2] (%v = %x[%k]) : (tensor<2xf32>) -> tensor<f32> {
        te.yield %v : f32
      }
      func.return %a, %b : tensor<f32>, tensor<f32>
    }"""
    for x in (f32s(-0.0, 0.0), f32s(0.0, -0.0)):
        greatest, least = run(text, x)
        assert not np.signbit(greatest)
        assert np.signbit(least)
    greatest, least = run(text, f32s(-0.0, -0.0))
    assert np.signbit(greatest)


@pytest.mark.parametrize("combiner", ["argmax", "argmin"])
@pytest.mark.parametrize(
    "data", [[3, 1, 3, 1], [1, np.nan, 0, np.nan], [-np.inf] * 4, [np.inf] * 4]
)
def test_te_arg_reductions_follow_numpy(combiner, data):
    text = f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<i64> {{
      %r = te.compute [] {combiner} [%k = 4] (%a = %x[%k]) : (tensor<4xf32>) -> tensor<i64> {{
        %n = arith.index_cast %k : index to i64
        te.yield %a, %n : f32, i64
      }}
      func.return %r : tensor<i64>
    }}"""
    x = f32s(*data)
    assert run(text, x) == getattr(np, combiner)(x)


def test_te_reads_at_computed_indices_and_iterators():
    text = """
    func.func @main(%x: tensor<4xf32>, %n: tensor<3xi64>) -> (tensor<3xf32>, tensor<2x3xi64>) {
      %r = te.compute [%i = 3] (%t = %x, %a = %n[%i]) : (tensor<4xf32>, tensor<3xi64>) -> tensor<3xf32> {
        %at = arith.index_cast %a : i64 to index
        %v = tensor.extract %t[%at] : tensor<4xf32>
        te.yield %v : f32
      }
      %s = te.compute [%i = 2, %j = 3] () : () -> tensor<2x3xi64> {
        %c10 = arith.constant 10 : index
        %ten = arith.muli %i, %c10 : index
        %sum = arith.addi %ten, %j : index
        %v = arith.index_cast %sum : index to i64
        te.yield %v : i64
      }
      func.return %r, %s : tensor<3xf32>, tensor<2x3xi64>
    }"""
    x = f32s(5, 6, 7, 8)
    taken, iota = run(text, x, np.array([3, 0, 2]))
    assert list(taken) == [8, 5, 7]
    assert iota.tolist() == [[0, 1, 2], [10, 11, 12]]
    with pytest.raises(StepwellError, match=r"index \[4\] of a buffer of shape \[4\]"):
        run(text, x, np.array([3, 4, 2]))


def test_te_spaces_larger_than_a_chunk(monkeypatch):
    monkeypatch.setattr("stepwell.interpreters.te.CHUNK_POINTS", 60)
    text = """
    func.func @main(%x: tensor<7x5xf32>, %w: tensor<5x6xf32>) -> tensor<7x6xf32> {
      %r = te.compute [%i = 7, %j = 6] add [%k = 5] (%a = %x[%i, %k], %b = %w[%k, %j])
          : (tensor<7x5xf32>, tensor<5x6xf32>) -> tensor<7x6xf32> {
        %p = arith.mulf %a, %b : f32
        te.yield %p : f32
      }
      func.return %r : tensor<7x6xf32>
    }"""
    x, w = random_inputs(entry_function(parse(text)), 1)
    np.testing.assert_allclose(run(text, x, w), x @ w, rtol=1e-5, atol=1e-6)


def test_unmarked_buffers_are_read_and_written():
    text = """
    func.func @main(%x: memref<2xf32>, %y: memref<2xf32>) {
      "memref.copy"(%x, %y) : (memref<2xf32>, memref<2xf32>) -> ()
      func.return
    }"""
    x, y = f32s(1, 2), f32s(3, 4)
    first, second = run(text, x, y)
    assert list(first) == list(second) == [1, 2]
    assert list(y) == [3, 4], "inputs are copied"


def test_unsigned_bytes_at_the_boundary():
    text = """
    func.func @main(%x: tensor<2xi8> {stepwell.unsigned}) -> (tensor<2xi8> {stepwell.unsigned}) {
      %r = te.compute [%i = 2] (%a = %x[%i]) : (tensor<2xi8>) -> tensor<2xi8> {
        %c = arith.constant 100 : i8
        %s = arith.maxui %a, %c : i8
        te.yield %s : i8
      }
      func.return %r : tensor<2xi8>
    }"""
    found = run(text, np.array([200, 3], np.uint8))
    assert found.dtype == np.uint8
    assert list(found) == [200, 100]


def test_unsigned_bytes_through_a_view():
    """The view is one of signless memory, to which large numbers of unsigned memory cannot be assigned."""
    text = """
    func.func @main(%x: memref<1x2xi8> {stepwell.unsigned}, %y: memref<2xi8> {stepwell.result, stepwell.unsigned}) {
      %v = memref.reinterpret_cast %x to offset: [0], sizes: [2], strides: [1] : memref<1x2xi8> to memref<2xi8>
      loop.for parallel "i" %i = 0 to 2 {
        %a = loop.load %v[%i] : memref<2xi8>
        loop.store %a, %y[%i] : memref<2xi8>
      }
      func.return
    }"""
    assert list(run(text, np.array([[200, 3]], np.uint8))) == [200, 3]


def test_zero_sizes_and_rank_zero():
    text = """
    func.func @main(%x: tensor<0x3xf32>, %s: tensor<f32>) -> (tensor<3xf32>, tensor<f32>) {
      %r = te.compute [%j = 3] add [%k = 0] (%a = %x[%k, %j]) : (tensor<0x3xf32>) -> tensor<3xf32> {
        te.yield %a : f32
      }
      %t = te.compute [] (%a = %s[]) : (tensor<f32>) -> tensor<f32> {
        %b = arith.addf %a, %a : f32
        te.yield %b : f32
      }
      func.return %r, %t : tensor<3xf32>, tensor<f32>
    }"""
    zeros, double = run(text, np.zeros((0, 3), np.float32), np.array(2, np.float32))
    assert list(zeros) == [0, 0, 0]
    assert double.shape == ()
    assert double == 4


MARKED = """
func.func @main(%x: memref<2x?xi8> {stepwell.unsigned}, %n: i64, %y: memref<f32> {stepwell.result},
                %a: memref<128xi8> {stepwell.arena}) {
  func.return
}
func.func private @helper() {
  func.return
}"""


def test_signatures():
    function = entry_function(parse(MARKED))
    signature = signature_of(function)
    assert signature.convention == "marked"
    assert [spec.name for spec in signature.inputs] == ["x", "n"]
    assert [spec.dtype for spec in signature.inputs] == [np.uint8, np.int64]
    assert signature.inputs[0].shape == (2, None)
    assert signature.inputs[1].scalar
    assert signature.arena_bytes == 128
    assert str(signature) == "main(x: uint8[2, ?], n: int64[]) -> (float32[])"
    function.attributes[SIGNATURE_ATTRIBUTE] = signature_attribute(function)
    assert signature_of(function) == signature


def test_random_inputs_repeat():
    function = entry_function(parse(MARKED))
    first, again = random_inputs(function, 5), random_inputs(function, 5)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert first[0].shape == (2, 3)
    assert first[0].dtype == np.uint8


def test_listeners_see_every_operation():
    counter = OpCounter()
    module = parse("""
    func.func @main(%x: i32) -> i32 {
      %r = arith.addi %x, %x : i32
      func.return %r : i32
    }""")
    interpreter = make_interpreter(module)
    interpreter.listeners = (counter,)
    assert interpreter.call_op("main", (np.int32(2),)) == (4,)
    assert counter.ops == {"arith.addi": 1, "func.return": 1}

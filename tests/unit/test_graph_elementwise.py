"""Element-wise graph operations: every element type, at the graph level, at te, and in NumPy."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from stepwell.dialects import graph
from stepwell.dialects.dtypes import numpy_dtype, ui8
from stepwell.interpreters.harness import interpret
from stepwell.lowering.graph_to_te import ConvertGraphToTePass
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f32, f64, i1, i8, i32, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from .one_operation import Make, module_of, reparsed

FLOATS = (f32, f64)
INTEGERS = (i8, ui8, i32, i64)
NUMBERS = (*FLOATS, *INTEGERS)
EVERY = (*NUMBERS, i1)
BITS = (*INTEGERS, i1)


def check(make: Make, *arrays: np.ndarray, exact: bool = False) -> np.ndarray:
    """Graph and te agree, print and parse to a fixed point; the graph's result."""
    module = module_of(make, *arrays)
    module.verify()
    module = reparsed(module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = interpret(module, arrays)[0]
    ConvertGraphToTePass().apply(Context(), module)
    module.verify()
    found = interpret(reparsed(module), arrays)[0]
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if exact or expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
    else:
        tolerance = 2e-6 if expected.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return expected


def values(element: Any, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Ordinary numbers and, where they fit, all the special ones of the type."""
    dtype = numpy_dtype(element)
    rng = np.random.default_rng(seed)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind == "f":
        array = rng.normal(0, 3, shape).astype(dtype)
        special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            np.inf,
            -np.inf,
            np.nan,
            100.0,
            -100.0,
        ]
    else:
        info = np.iinfo(dtype)
        array = rng.integers(max(info.min, -50), min(info.max, 50), shape).astype(dtype)
        special = [0, 1, info.min, info.max, info.max // 2, max(info.min, -1), 7]
    flat = array.reshape(-1)
    where = rng.permutation(flat.size)[: len(special)]
    flat[where] = np.array(special[: len(where)]).astype(dtype)
    return array


UNARY: dict[str, tuple[Make, tuple[Any, ...]]] = {
    "neg": (graph.NegOp, NUMBERS),
    "abs": (graph.AbsOp, EVERY),
    "sign": (graph.SignOp, NUMBERS),
    "ceil": (graph.CeilOp, NUMBERS),
    "floor": (graph.FloorOp, NUMBERS),
    "round": (graph.RoundOp, NUMBERS),
    "exp": (graph.ExpOp, FLOATS),
    "log": (graph.LogOp, FLOATS),
    "sqrt": (graph.SqrtOp, FLOATS),
    "rsqrt": (graph.RsqrtOp, FLOATS),
    "reciprocal": (graph.ReciprocalOp, FLOATS),
    "sin": (graph.SinOp, FLOATS),
    "cos": (graph.CosOp, FLOATS),
    "tanh": (graph.TanhOp, FLOATS),
    "sigmoid": (graph.SigmoidOp, FLOATS),
    "erf": (graph.ErfOp, FLOATS),
    "relu": (graph.ReluOp, NUMBERS),
    "leaky_relu": (lambda x: graph.LeakyReluOp(x, 0.2), FLOATS),
    "gelu": (graph.GeluOp, FLOATS),
    "gelu_tanh": (lambda x: graph.GeluOp(x, "tanh"), FLOATS),
    "silu": (graph.SiluOp, FLOATS),
    "mish": (graph.MishOp, FLOATS),
    "hard_sigmoid": (graph.HardSigmoidOp, FLOATS),
    "clip": (lambda x: graph.ClipOp(x, 1, 6), NUMBERS),
    "clip_min": (lambda x: graph.ClipOp(x, min=2), NUMBERS),
    "clip_max": (lambda x: graph.ClipOp(x, max=2), NUMBERS),
    "clip_none": (graph.ClipOp, NUMBERS),
    "not": (graph.NotOp, BITS),
}

BINARY: dict[str, tuple[Make, tuple[Any, ...]]] = {
    "add": (graph.AddOp, EVERY),
    "sub": (graph.SubOp, NUMBERS),
    "mul": (graph.MulOp, EVERY),
    "div": (graph.DivOp, FLOATS),
    "floor_div": (graph.FloorDivOp, NUMBERS),
    "mod": (graph.ModOp, NUMBERS),
    "pow": (graph.PowOp, NUMBERS),
    "maximum": (graph.MaximumOp, EVERY),
    "minimum": (graph.MinimumOp, EVERY),
    "and": (graph.AndOp, BITS),
    "or": (graph.OrOp, BITS),
    "xor": (graph.XorOp, BITS),
    "eq": (graph.EqOp, EVERY),
    "ne": (graph.NeOp, EVERY),
    "lt": (graph.LtOp, EVERY),
    "le": (graph.LeOp, EVERY),
    "gt": (graph.GtOp, EVERY),
    "ge": (graph.GeOp, EVERY),
}

_BROADCASTS = [((3, 5), (3, 5)), ((3, 1), (1, 5)), ((5,), (2, 3, 5)), ((), (4,)), ((0, 5), (1, 5))]


def _cases(table: dict[str, tuple[Make, tuple[Any, ...]]]) -> list[Any]:
    return [
        pytest.param(make, element, id=f"{name}-{element}")
        for name, (make, elements) in table.items()
        for element in elements
    ]


@pytest.mark.sampled(3, by="make")
@pytest.mark.parametrize(("make", "element"), _cases(UNARY))
def test_unary(make: Make, element: Any) -> None:
    for shape in [(7, 5), (1,), (), (0, 3)]:
        x = values(element, shape)
        assert check(make, x).dtype == x.dtype


@pytest.mark.sampled(3, by="make")
@pytest.mark.parametrize(("make", "element"), _cases(BINARY))
def test_binary(make: Make, element: Any) -> None:
    for left, right in _BROADCASTS:
        result = check(make, values(element, left, 1), values(element, right, 2))
        assert result.shape == np.broadcast_shapes(left, right)


@pytest.mark.parametrize("element", INTEGERS, ids=str)
@pytest.mark.parametrize("make", [graph.FloorDivOp, graph.ModOp, graph.PowOp])
def test_every_pair_of_special_integers(make: Make, element: Any) -> None:
    info = np.iinfo(numpy_dtype(element))
    special = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1]
    special += [] if info.min == 0 else [-1, -2, -3, -7]
    x = np.array(special, numpy_dtype(element))
    check(make, x[:, None], x[None, :])


def test_integer_division_by_zero_and_overflow() -> None:
    x, y = np.array([5, -128, -7, 7], np.int8), np.array([0, -1, 2, -2], np.int8)
    assert check(graph.FloorDivOp, x, y).tolist() == [0, -128, -4, -4]
    assert check(graph.ModOp, x, y).tolist() == [0, 0, 1, -1]


def test_powers_of_integers() -> None:
    x, y = (
        np.array([2, 1, -1, -1, 0, 2, 3], np.int32),
        np.array([-1, -5, -3, -4, -2, 31, 4], np.int32),
    )
    assert check(graph.PowOp, x, y).tolist() == [0, 1, -1, 1, 0, -(2**31), 81]


@pytest.mark.parametrize("element", FLOATS, ids=str)
@pytest.mark.parametrize("make", [graph.FloorDivOp, graph.ModOp])
def test_float_division_is_numpys_to_the_last_bit(make: Make, element: Any) -> None:
    dtype = numpy_dtype(element)
    rng = np.random.default_rng(5)
    x = (rng.normal(size=4000) * 10.0 ** rng.integers(-6, 7, 4000)).astype(dtype)
    y = (rng.normal(size=4000) * 10.0 ** rng.integers(-6, 3, 4000)).astype(dtype)
    check(make, x, y, exact=True)
    x, y = np.round(x).astype(dtype), np.round(y).astype(dtype)
    check(make, x, y, exact=True)
    special = np.array([0.0, -0.0, 1.0, -1.0, 0.1, 3.0, -3.0, np.inf, -np.inf, np.nan], dtype)
    check(make, special[:, None], special[None, :], exact=True)
    module = module_of(make, special, special[::-1])
    expected = interpret(module, [special, special[::-1].copy()])[0]
    ConvertGraphToTePass().apply(Context(), module)
    found = interpret(module, [special, special[::-1].copy()])[0]
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[signed]), np.signbit(expected[signed]))


@pytest.mark.parametrize("source", EVERY, ids=str)
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_cast(source: Any, target: Any) -> None:
    for shape in [(29,), (), (0,)]:
        check(lambda x: graph.CastOp(x, target), values(source, shape), exact=True)


def test_cast_of_floats_saturates() -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, np.nan, 127.9, -128.9, 2.5, -0.5])

    def cast(element: Any) -> list[Any]:
        return check(lambda v: graph.CastOp(v, element), x).tolist()

    assert cast(i8) == [127, -128, 127, -128, 0, 127, -128, 2, 0]
    assert cast(ui8) == [255, 0, 255, 0, 0, 127, 0, 2, 0]
    assert cast(i64)[:2] == [2**63 - 1, -(2**63)]
    assert cast(i1) == [True] * 9


@pytest.mark.parametrize("element", EVERY, ids=str)
def test_where(element: Any) -> None:
    for shapes in [((3, 4), (3, 4), (3, 4)), ((3, 1), (4,), ()), ((0, 2), (2,), (1, 1))]:
        condition = values(i1, shapes[0])
        x, y = values(element, shapes[1], 1), values(element, shapes[2], 2)
        result = check(graph.WhereOp, condition, x, y)
        np.testing.assert_array_equal(result, np.where(condition, x, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_activations_hold_for_large_arguments(dtype: Any) -> None:
    x = np.array([-1e4, -300, -90, -30, -1, 0, 1, 30, 90, 300, 1e4], dtype)
    wide = x.astype(np.float64)
    logistic = np.array([1 / (1 + math.exp(-v)) if v > -700 else 0.0 for v in wide])
    normal = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in wide])
    for make, expected in [
        (graph.SigmoidOp, logistic),
        (graph.SiluOp, wide * logistic),
        (graph.MishOp, wide * np.tanh(np.logaddexp(wide, 0))),
        (graph.GeluOp, wide * normal),
        (graph.TanhOp, np.tanh(wide)),
        (graph.ErfOp, np.array([math.erf(v) for v in wide])),
    ]:
        found = check(make, x)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert np.isfinite(check(lambda v: graph.GeluOp(v, "tanh"), x)).all()


def test_a_splat_constant_becomes_a_number_in_the_body() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    block = Block(arg_types=[TensorType(f32, [2, 3])])
    builder = Builder(InsertPoint.at_end(block))
    two = builder.insert(graph.ConstantOp(np.full((2, 3), 2, np.float32)))
    product = builder.insert(graph.MulOp(block.args[0], two))
    builder.insert(func.ReturnOp(product))
    type_ = block.args[0].type
    module = ModuleOp([func.FuncOp("main", ([type_], [type_]), Region(block))])
    ConvertGraphToTePass().apply(Context(), module)
    assert "arith.constant 2.000000e+00 : f32" in str(module) and "dense" not in str(module)
    np.testing.assert_array_equal(interpret(module, [x])[0], x * 2)


def test_a_new_operation_is_one_class() -> None:
    from stepwell.dialects.graph import UnaryElementwiseOp, graph_op
    from stepwell.dialects.scalar import ScalarBuilder

    @graph_op
    class SoftsignOp(UnaryElementwiseOp):
        """x / (1 + |x|)"""

        name = "graph.test_softsign"

        def numpy(self, x: np.ndarray) -> np.ndarray:
            return x / (1 + np.abs(x))

        def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
            return b.div(x, b.add(b.constant(1), b.abs(x)))

    x = values(f32, (9,))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(check(SoftsignOp, x), x / (1 + np.abs(x)))

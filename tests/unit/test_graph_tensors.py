"""Graph operations on whole tensors: contraction, reductions, movement, indexing, compound ones."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from stepwell.dialects import graph
from stepwell.dialects.dtypes import numpy_dtype, ui8
from stepwell.interpreters.harness import interpret
from stepwell.lowering.graph_to_te import ConvertGraphToTePass
from stepwell.transforms.graph.decompose import GraphDecomposePass
from xdsl.context import Context
from xdsl.dialects.builtin import TensorType, f32, f64, i1, i8, i32, i64

from .one_operation import Make, module_of, reparsed

FLOATS = (f32, f64)
NUMBERS = (*FLOATS, i8, ui8, i32, i64)
EVERY = (*NUMBERS, i1)


def agree(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
    else:
        tolerance = 3e-5 if expected.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def check(make: Make, *arrays: np.ndarray) -> Any:
    """Graph, decomposed graph and te agree, texts are fixed points; the graph's result."""
    module = module_of(make, *arrays)
    module.verify()
    module = reparsed(module)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = interpret(module, arrays)
    for lowering in (GraphDecomposePass(), ConvertGraphToTePass()):
        lowering.apply(Context(), module)
        module.verify()
        module = reparsed(module)
        for found, wanted in zip(interpret(module, arrays), expected, strict=True):
            agree(found, wanted)
    return expected[0] if len(expected) == 1 else expected


def values(element: Any, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dtype = numpy_dtype(element)
    if dtype.kind == "f":
        return rng.normal(0, 2, shape).astype(dtype)
    return rng.integers(0, 2 if dtype == np.bool_ else 120, shape).astype(dtype)


MATMULS = [
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((1, 1), (1, 1)),
    ((2, 0), (0, 3)),
    ((0, 2), (2, 3)),
]


@pytest.mark.parametrize("element", EVERY, ids=str)
@pytest.mark.parametrize("shapes", MATMULS, ids=str)
def test_matmul(shapes: Any, element: Any) -> None:
    x, y = values(element, *shapes[0]), values(element, *shapes[1], seed=1)
    agree(check(graph.MatmulOp, x, y), np.asarray(np.matmul(x, y)))


REDUCTIONS = {
    graph.SumOp: (np.sum, NUMBERS),
    graph.ProdOp: (np.prod, NUMBERS),
    graph.MaxOp: (np.max, EVERY),
    graph.MinOp: (np.min, EVERY),
    graph.MeanOp: (np.mean, FLOATS),
}


@pytest.mark.sampled(3, by="make")
@pytest.mark.parametrize(
    ("make", "element"),
    [(make, element) for make, (_, elements) in REDUCTIONS.items() for element in elements],
    ids=str,
)
def test_reductions(make: Any, element: Any) -> None:
    x = values(element, 3, 4, 5)
    numpy = REDUCTIONS[make][0]
    extra = {"dtype": x.dtype} if numpy in (np.sum, np.prod, np.mean) else {}
    for axes in [None, 0, 1, -1, (0, 2), (1, 2), ()]:
        for keepdims in (False, True):
            result = check(lambda v, a=axes, k=keepdims: make(v, a, k), x)
            agree(result, np.asarray(numpy(x, axis=axes, keepdims=keepdims, **extra)))
    check(make, values(element))
    check(lambda v: make(v, 0), values(element, 1))


def test_reductions_of_nothing() -> None:
    x = np.zeros((2, 0), np.float32)
    assert check(lambda v: graph.SumOp(v, 1), x).tolist() == [0, 0]
    assert check(lambda v: graph.ProdOp(v, 1), x).tolist() == [1, 1]
    assert np.isnan(check(lambda v: graph.MeanOp(v, 1), x)).all()
    assert check(lambda v: graph.MaxOp(v, 0), x).shape == (0,)
    assert check(lambda v: graph.ArgmaxOp(v, 0), x).shape == (0,)


@pytest.mark.parametrize("element", EVERY, ids=str)
@pytest.mark.parametrize("make", [graph.ArgmaxOp, graph.ArgminOp])
def test_arg_reductions(make: Any, element: Any) -> None:
    x = values(element, 4, 7)
    x[1] = x[1, 0]
    numpy = np.argmax if make is graph.ArgmaxOp else np.argmin
    for axis in (0, 1):
        for keepdims in (False, True):
            result = check(lambda v, a=axis, k=keepdims: make(v, a, k), x)
            agree(result, numpy(x, axis=axis, keepdims=keepdims))


def test_nan_wins_in_reductions() -> None:
    x = np.array([[1, np.nan, 3, np.nan], [np.inf, 2, -np.inf, 0]], np.float32)
    assert np.isnan(check(lambda v: graph.MaxOp(v, 1), x)[0])
    assert check(lambda v: graph.ArgmaxOp(v, 1), x).tolist() == [1, 0]
    assert check(lambda v: graph.ArgminOp(v, 1), x).tolist() == [1, 2]


def test_unsigned_extremes() -> None:
    x = np.array([[3, 200, 7], [255, 0, 128]], np.uint8)
    assert check(lambda v: graph.MaxOp(v, 1), x).tolist() == [200, 255]
    assert check(lambda v: graph.MinOp(v, 1), x).tolist() == [3, 0]
    assert check(lambda v: graph.ArgmaxOp(v, 1), x).tolist() == [1, 0]


RESHAPES = [
    ((2, 12), (2, 3, 4)),
    ((2, 3, 4), (2, -1)),
    ((4, 6), (8, 3)),
    ((2, 3, 4), (4, 3, 2)),
    ((6, 10), (4, 15)),
    ((1, 6, 1), (2, 3)),
    ((), (1, 1)),
    ((1,), ()),
    ((0, 3), (3, 0)),
    ((0, 3), (0,)),
]


@pytest.mark.parametrize(("shape", "target"), RESHAPES, ids=str)
def test_reshape(shape: Any, target: Any) -> None:
    x = values(f32, *shape)
    agree(check(lambda v: graph.ReshapeOp(v, target), x), x.reshape(target))


@pytest.mark.parametrize("element", EVERY, ids=str)
def test_movement(element: Any) -> None:
    x = values(element, 2, 3, 4)
    agree(check(graph.TransposeOp, x), x.T)
    agree(check(lambda v: graph.TransposeOp(v, [1, -1, 0]), x), x.transpose(1, 2, 0))
    agree(check(lambda v: graph.ExpandDimsOp(v, [0, -1]), x), np.expand_dims(x, (0, -1)))
    agree(check(lambda v: graph.ExpandDimsOp(v, 2), x), np.expand_dims(x, 2))
    y = values(element, 1, 3, 1)
    agree(check(graph.SqueezeOp, y), np.squeeze(y))
    agree(check(lambda v: graph.SqueezeOp(v, 0), y), np.squeeze(y, 0))
    agree(
        check(lambda v: graph.BroadcastToOp(v, [2, 5, 3, 4]), y), np.broadcast_to(y, (2, 5, 3, 4))
    )
    agree(check(lambda v: graph.BroadcastToOp(v, [0, 3, 4]), y), np.broadcast_to(y, (0, 3, 4)))
    check(graph.TransposeOp, values(element))


SLICES = [
    (slice(None), slice(None)),
    (slice(1, 3), slice(0, 5, 2)),
    (slice(None, None, -1), slice(3, None, -2)),
    (slice(-2, None), slice(-1, -4, -1)),
    (slice(2, 2), slice(None)),
    (slice(5, 1), slice(10, 20)),
    (slice(0, 100), slice(-100, 2)),
]


@pytest.mark.parametrize("parts", SLICES, ids=str)
def test_slice(parts: Any) -> None:
    x = values(i32, 4, 5)
    agree(check(lambda v: graph.SliceOp(v, parts), x), x[parts])


@pytest.mark.parametrize("element", EVERY, ids=str)
def test_pad(element: Any) -> None:
    x = values(element, 2, 3)
    agree(
        check(lambda v: graph.PadOp(v, [1, 0], [0, 2], 1), x),
        np.pad(x, ((1, 0), (0, 2)), constant_values=1),
    )
    check(lambda v: graph.PadOp(v, [], []), values(element))
    y = np.zeros((0, 2), numpy_dtype(element))
    agree(check(lambda v: graph.PadOp(v, [1, 0], [1, 0]), y), np.zeros((2, 2), y.dtype))


def test_pad_with_the_whole_range() -> None:
    x = np.array([1, 2], np.uint8)
    assert check(lambda v: graph.PadOp(v, [1], [1], 255), x).tolist() == [255, 1, 2, 255]
    y = np.array([1, 2], np.float32)
    assert check(lambda v: graph.PadOp(v, [1], [0], -np.inf), y).tolist() == [-np.inf, 1, 2]


@pytest.mark.parametrize("element", EVERY, ids=str)
def test_concat_and_split(element: Any) -> None:
    x, y, z = values(element, 2, 3), values(element, 2, 1, seed=1), values(element, 2, 0)
    for parts in [(x, y), (y, x, y), (x,), (z, x), (z,), (z, x, z, y)]:
        result = check(lambda *vs: graph.ConcatOp(vs, 1), *parts)
        agree(result, np.concatenate(parts, 1))
    parts = check(lambda v: graph.SplitOp(v, [1, 0, 2], -1), x)
    for found, expected in zip(parts, np.split(x, [1, 1], 1), strict=True):
        agree(found, expected)


@pytest.mark.parametrize("index", [i32, i64], ids=str)
@pytest.mark.parametrize("element", EVERY, ids=str)
def test_gather(element: Any, index: Any) -> None:
    x = values(element, 4, 3)
    indices = np.array([[0, -1, 3], [2, -4, 1]], numpy_dtype(index))
    for axis in (0, -1):
        within = np.clip(indices, -x.shape[axis], x.shape[axis] - 1)
        result = check(lambda v, i, a=axis: graph.GatherOp(v, i, a), x, within)
        agree(result, np.take(x, within, axis))
    check(graph.GatherOp, x, np.array(2, numpy_dtype(index)))
    check(graph.GatherOp, x, np.zeros((0,), numpy_dtype(index)))
    check(graph.GatherOp, x[:0], np.zeros((0,), numpy_dtype(index)))


def test_gather_clamps() -> None:
    x = np.array([10, 20, 30], np.int32)
    indices = np.array([5, -7, 3, -3, 2**62, -(2**62)], np.int64)
    assert check(graph.GatherOp, x, indices).tolist() == [30, 10, 30, 10, 30, 10]


@pytest.mark.parametrize("element", NUMBERS, ids=str)
def test_iota(element: Any) -> None:
    dtype = numpy_dtype(element)
    for shape, axis in [((5,), 0), ((3, 4), 1), ((3, 4), 0), ((300,), 0), ((0,), 0)]:
        result = check(lambda s=shape, a=axis: graph.IotaOp(TensorType(element, s), a))
        view = (
            np.arange(shape[axis])
            .astype(dtype)
            .reshape([-1 if a == axis else 1 for a in range(len(shape))])
        )
        agree(result, np.broadcast_to(view, shape))


@pytest.mark.parametrize("element", EVERY, ids=str)
def test_constant(element: Any) -> None:
    for shape in [(), (3,), (2, 0), (20, 30)]:
        x = values(element, *shape)
        agree(check(lambda v=x: graph.ConstantOp(v)), x)


@pytest.mark.parametrize("element", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (4, 0), (0, 4), (2, 3, 4)], ids=str)
def test_softmax(shape: Any, element: Any) -> None:
    x = values(element, *shape)
    for axis in range(-1, len(shape)):
        exponentials = np.exp(x.astype(np.float64))
        expected = exponentials / exponentials.sum(axis, keepdims=True)
        result = check(lambda v, a=axis: graph.SoftmaxOp(v, a), x)
        agree(result, expected.astype(x.dtype))
        result = check(lambda v, a=axis: graph.LogSoftmaxOp(v, a), x)
        agree(result, np.log(expected).astype(x.dtype))


def test_softmax_of_large_values() -> None:
    x = np.array([[1e4, 1e4 - 1, -1e4], [-3e38, -3e38, 0]], np.float32)
    result = check(graph.SoftmaxOp, x)
    np.testing.assert_allclose(result[0], [1 / (1 + np.exp(-1)), 1 / (1 + np.e), 0], rtol=1e-6)
    assert np.isfinite(check(graph.LogSoftmaxOp, x[:1])).all()


@pytest.mark.parametrize("element", FLOATS, ids=str)
def test_layer_norm(element: Any) -> None:
    x = values(element, 3, 4, 5)
    wide = x.astype(np.float64)
    for axis in (-1, 1, 0):
        axes = tuple(range(axis % 3, 3))
        scale, bias = values(element, *x.shape[axis % 3 :]), values(element, 5, seed=4)
        normalized = (wide - wide.mean(axes, keepdims=True)) / np.sqrt(
            wide.var(axes, keepdims=True) + 1e-5
        )
        agree(check(lambda v, a=axis: graph.LayerNormOp(v, axis=a), x), normalized.astype(x.dtype))
        agree(
            check(lambda v, s, b, a=axis: graph.LayerNormOp(v, s, b, axis=a), x, scale, bias),
            (normalized * scale + bias).astype(x.dtype),
        )
        check(lambda v, s, a=axis: graph.LayerNormOp(v, s, axis=a, epsilon=1e-3), x, scale)
    check(graph.LayerNormOp, values(element, 3, 0))


def test_layer_norm_of_large_values() -> None:
    x = (np.arange(8) + 1e6).astype(np.float32)[None]
    small = (np.arange(8)).astype(np.float32)[None]
    np.testing.assert_allclose(
        check(graph.LayerNormOp, x), check(graph.LayerNormOp, small), atol=1e-5
    )


def test_costs() -> None:
    module = module_of(graph.MatmulOp, values(f32, 2, 3), values(f32, 3, 4))
    op = next(op for op in module.walk() if isinstance(op, graph.MatmulOp))
    assert op.flops() == 2 * 2 * 3 * 4
    assert op.bytes_moved() == 4 * (6 + 12 + 8)

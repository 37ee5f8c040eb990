"""
Random contractions and reductions, with work before and after them, as Python functions of arrays.

A case says the same thing to Stepwell and to NumPy, which computes floats in double precision. Sizes are
chosen around what the rules of tuning/ look at: ones, vector widths, tiles, and the number of multiply-adds
from which a product is blocked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import stepwell as sw
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

FLOATS = (np.float32, np.float64)
DTYPES = (np.float32, np.float32, np.float32, np.float64, np.int32, np.int64, np.int8)
THRESHOLD = 1 << 15
MOST_WORK = 1 << 22
MOST_ELEMENTS = 1 << 17


@dataclass(frozen=True)
class Case:
    """A function to compile, what NumPy computes in its place, and the inputs of both."""

    text: str
    function: Function
    reference: Function
    inputs: tuple[Array, ...]
    terms: int
    """how many numbers a sum in it has at most, to which rounding errors are relative"""

    def __repr__(self) -> str:
        shapes = ", ".join(f"{x.dtype}{list(x.shape)}/{list(x.strides)}" for x in self.inputs)
        return f"{self.text} of {shapes}"

    def check(self, threads: int, constant: frozenset[int] = frozenset()) -> None:
        """
        Compile and run; floats may differ by a stated multiple of their precision.

        The inputs whose numbers are in `constant` are compiled in, but not all of them.
        """
        given = [n for n in range(len(self.inputs)) if n not in constant] or [0]

        def function(*arguments: Any) -> Any:
            every: list[Any] = list(self.inputs)
            for number, argument in zip(given, arguments, strict=True):
                every[number] = argument
            return self.function(*every)

        arrays = [self.inputs[n] for n in given]
        found = sw.jit(function).lower(*arrays).compile(threads=threads)(*arrays)
        wide = [x.astype(np.float64) if x.dtype == np.float32 else x for x in self.inputs]
        with np.errstate(all="ignore"):
            expected = np.asarray(self.reference(*wide))
        assert found.shape == expected.shape, f"{self}: {found.shape}, expected {expected.shape}"
        if not np.issubdtype(found.dtype, np.floating):
            np.testing.assert_array_equal(found, expected, err_msg=repr(self))
            return
        precise = any(x.dtype == np.float64 for x in self.inputs)
        epsilon = np.finfo(np.float64 if precise else np.float32).eps
        tolerance = 16 * (math.sqrt(self.terms) + 8) * epsilon
        scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
        np.testing.assert_allclose(
            found, expected, rtol=tolerance, atol=tolerance * scale, err_msg=repr(self)
        )


# What is done to each element: to Stepwell, and to NumPy.


def _np_gelu(x: Array) -> Array:
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


def _np_sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


ON_FLOATS: dict[str, tuple[Function, Function]] = {
    "relu": (sw.relu, lambda x: np.maximum(x, 0)),
    "gelu": (sw.gelu, _np_gelu),
    "tanh": (sw.tanh, np.tanh),
    "sigmoid": (sw.sigmoid, _np_sigmoid),
    "scale": (lambda x: x * 0.5, lambda x: x * 0.5),
    "square": (sw.square, np.square),
    "clip": (lambda x: sw.clip(x, -1.0, 1.0), lambda x: np.clip(x, -1.0, 1.0)),
    "double": (lambda x: sw.astype(x, np.float64), lambda x: x.astype(np.float64)),
    "where": (lambda x: sw.where(x > 0, x, x * 0.25), lambda x: np.where(x > 0, x, x * 0.25)),
}
ON_INTEGERS: dict[str, tuple[Function, Function]] = {
    "relu": (lambda x: sw.maximum(x, 0), lambda x: np.maximum(x, 0)),
    "scale": (lambda x: x * 3, lambda x: x * 3),
    "negate": (lambda x: -x, np.negative),
    "wide": (lambda x: sw.astype(x, np.int64), lambda x: x.astype(np.int64)),
}


def _unary(dtype: Any) -> dict[str, tuple[Function, Function]]:
    return ON_FLOATS if np.issubdtype(dtype, np.floating) else ON_INTEGERS


@dataclass(frozen=True)
class Chain:
    """Some of these one after the other."""

    names: tuple[str, ...]
    dtype: Any

    def stepwell(self, x: Any) -> Any:
        for name in self.names:
            x = _unary(self.dtype)[name][0](x)
        return x

    def numpy(self, x: Any) -> Any:
        for name in self.names:
            x = _unary(self.dtype)[name][1](x)
        return x

    def __str__(self) -> str:
        return "".join(f" |> {name}" for name in self.names)


@st.composite
def chains(draw: st.DrawFn, dtype: Any, longest: int = 2) -> Chain:
    names = draw(st.lists(st.sampled_from(sorted(_unary(dtype))), max_size=longest))
    return Chain(tuple(names), dtype)


# Inputs


def sizes(most: int = 260) -> st.SearchStrategy[int]:
    """An extent: small, or at or beside what vectors and tiles are multiples of."""
    known = [
        1,
        1,
        2,
        7,
        8,
        13,
        16,
        17,
        31,
        32,
        33,
        48,
        63,
        64,
        65,
        96,
        100,
        127,
        128,
        129,
        200,
        256,
    ]
    return st.one_of(st.integers(1, 12), st.sampled_from([n for n in known if n <= most]))


def array(draw: st.DrawFn, shape: tuple[int, ...], dtype: Any) -> Array:
    """Random numbers, now and then not one after the other in memory."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layout = draw(st.sampled_from(["C", "C", "C", "F", "strided"]))
    made = (*shape[:-1], shape[-1] * 2) if layout == "strided" and shape else shape
    if np.issubdtype(dtype, np.floating):
        values = rng.uniform(-1, 1, made).astype(dtype)
    else:
        values = rng.integers(-5, 6, made).astype(dtype)
    if layout == "strided" and shape:
        return values[..., ::2]
    return np.asfortranarray(values) if layout == "F" else values


# Contractions


def _fitting(draw: st.DrawFn, count: int, most: int) -> list[int]:
    """Extents of which the product stays below `most`, now and then just around the threshold."""
    extents: list[int] = []
    for _ in range(count):
        left = most // math.prod(extents)
        extents.append(min(draw(sizes()), left))
    if draw(st.integers(0, 3)) == 0:
        around = THRESHOLD // math.prod(extents[:-1])
        extents[-1] = max(1, around + draw(st.integers(-1, 1)))
    return extents


EPILOGUES = ("row", "column", "scalar", "residual")
"""What is added to a product: a bias for each column or each row, one number, or a tensor like it."""


@st.composite
def contractions(draw: st.DrawFn) -> Case:
    """`chain(op(A) @ op(B) + bias)`, transposed here and there, with or without batches."""
    dtype = draw(st.sampled_from(DTYPES))
    kind = draw(st.sampled_from(["matrix", "matrix", "batched", "shared", "matvec", "vecmat"]))
    batch = draw(st.integers(1, 4)) if kind in ("batched", "shared") else 1
    m, n, k = _fitting(draw, 3, MOST_WORK // batch)
    m, n = (m, 0) if kind == "matvec" else (0, n) if kind == "vecmat" else (m, n)
    lead = (batch,) if kind in ("batched", "shared") else ()
    turn_a, turn_b, turn_c = (draw(st.booleans()) for _ in range(3))
    turn_a, turn_b = turn_a and bool(m), turn_b and bool(n)
    turn_c = turn_c and bool(m) and bool(n)
    shape_a = (*lead, k, m) if turn_a else (*lead, m, k) if m else (k,)
    lead_b = lead if kind == "batched" else ()
    shape_b = (*lead_b, n, k) if turn_b else (*lead_b, k, n) if n else (k,)
    inputs = [array(draw, shape_a, dtype), array(draw, shape_b, dtype)]
    result = (*lead, *((m,) if m else ()), *((n,) if n else ()))
    extra = draw(st.sampled_from((None, None, *EPILOGUES)))
    shapes = {"row": result[-1:], "column": (*result[-2:-1], 1), "scalar": (1,), "residual": result}
    if extra is not None:
        inputs.append(array(draw, shapes[extra], dtype))
    before, after = draw(chains(dtype, 1)), draw(chains(dtype))
    before = Chain(tuple(name for name in before.names if name not in ("double", "wide")), dtype)

    def evaluate(
        swap: Function, first: Function, last: Function, a: Any, b: Any, *bias: Any
    ) -> Any:
        a, b = swap(a, -1, -2) if turn_a else a, swap(b, -1, -2) if turn_b else b
        c = first(a) @ b
        c = last(c + bias[0] if bias else c)
        return swap(c, -1, -2) if turn_c else c

    marks = "".join("T" if turned else "-" for turned in (turn_a, turn_b, turn_c))
    return Case(
        f"{kind} {marks}{before} + {extra}{after}",
        lambda *xs: evaluate(sw.swapaxes, before.stepwell, after.stepwell, *xs),
        lambda *xs: evaluate(np.swapaxes, before.numpy, after.numpy, *xs),
        tuple(inputs),
        k,
    )


# Reductions


def _np_softmax(x: Array, axis: int) -> Array:
    exp = np.exp(x - x.max(axis=axis, keepdims=True))
    return exp / exp.sum(axis=axis, keepdims=True)


def _np_layer_norm(x: Array, weight: Array, bias: Array) -> Array:
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * weight + bias


REDUCERS = ("sum", "max", "min", "mean", "prod", "argmax", "argmin")


@st.composite
def reductions(draw: st.DrawFn) -> Case:
    """`chain(reduce(chain(x)))` over any axes; of several operands if it is a sum of products."""
    dtype = draw(st.sampled_from(DTYPES))
    is_float = np.issubdtype(dtype, np.floating)
    rank = draw(st.integers(1, 4))
    shape = _shape(draw, rank)
    name = draw(st.sampled_from([r for r in REDUCERS if is_float or r != "mean"]))
    one = name.startswith("arg")
    axis: Any = draw(st.integers(-rank, rank - 1))
    if not one and draw(st.booleans()):
        axis = tuple(sorted(draw(st.sets(st.integers(0, rank - 1), min_size=1)))) or None
    keep = draw(st.booleans())
    before = Chain((), dtype) if one else draw(chains(dtype))
    after = Chain((), dtype) if one else draw(chains(dtype))
    factors = draw(st.integers(1, 2)) if name in ("sum", "max") else 1
    inputs = tuple(array(draw, shape, dtype) for _ in range(factors))
    if one:
        inputs = tuple(np.rint(x * 3).astype(dtype) for x in inputs)
    if name == "prod":
        inputs = tuple((np.abs(x) % 2 + 0.5).astype(dtype) if is_float else x for x in inputs)

    def evaluate(library: Any, first: Function, last: Function, *xs: Any) -> Any:
        x = first(xs[0]) * xs[1] if len(xs) == 2 else first(xs[0])
        return last(getattr(library, name)(x, axis=axis, keepdims=keep))

    def reference(*xs: Array) -> Any:
        return evaluate(np, before.numpy, after.numpy, *xs)

    return Case(
        f"{name} over {axis}, keepdims={keep}, of{before}{after}",
        lambda *xs: evaluate(sw, before.stepwell, after.stepwell, *xs),
        reference,
        inputs,
        math.prod(shape),
    )


def _shape(draw: st.DrawFn, rank: int) -> tuple[int, ...]:
    shape: list[int] = []
    for _ in range(rank):
        left = MOST_ELEMENTS // math.prod(shape)
        size = draw(sizes()) if draw(st.integers(0, 7)) else draw(st.integers(1, 3000))
        shape.append(min(size, left))
    return tuple(shape)


@st.composite
def rows(draw: st.DrawFn) -> Case:
    """softmax over any axis or layer_norm, of a chain or of a product, with a chain after it."""
    dtype = draw(st.sampled_from(FLOATS))
    before, after = draw(chains(dtype)), draw(chains(dtype))
    before = Chain(tuple(name for name in before.names if name != "double"), dtype)
    kind = draw(st.sampled_from(["softmax", "log_softmax", "layer_norm", "softmax of a product"]))
    shape = _shape(draw, draw(st.integers(1, 3)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    inputs = [array(draw, shape, dtype)]
    if kind == "softmax of a product":
        m, n, k = _fitting(draw, 3, MOST_WORK)
        inputs, axis = [array(draw, (m, k), dtype), array(draw, (k, n), dtype)], axis % 2
    if kind == "layer_norm":
        inputs += [array(draw, shape[-1:], dtype) for _ in range(2)]

    def function(x: Any, *others: Any) -> Any:
        match kind:
            case "layer_norm":
                return after.stepwell(sw.layer_norm(before.stepwell(x), *others, eps=1e-5))
            case "log_softmax":
                return after.stepwell(sw.log_softmax(before.stepwell(x), axis=axis))
            case _:
                x = x @ others[0] if others else x
                return after.stepwell(sw.softmax(before.stepwell(x), axis=axis))

    def reference(x: Array, *others: Array) -> Array:
        if kind == "layer_norm":
            return after.numpy(_np_layer_norm(before.numpy(x), *others))
        x = x @ others[0] if others else x
        found = _np_softmax(before.numpy(x), axis)
        return after.numpy(np.log(found) if kind == "log_softmax" else found)

    text = f"{kind} over {axis} of{before}{after}"
    return Case(text, function, reference, tuple(inputs), math.prod(inputs[0].shape))


def attention_of(inputs: Sequence[Array]) -> Case:
    """`softmax(q @ k.T / 4) @ v`"""

    def attention(library: Any, softmax: Function, q: Any, keys: Any, v: Any) -> Any:
        return softmax(q @ library.swapaxes(keys, -1, -2) * 0.25) @ v

    return Case(
        "attention",
        lambda *xs: attention(sw, lambda x: sw.softmax(x, axis=-1), *xs),
        lambda *xs: attention(np, lambda x: _np_softmax(x, -1), *xs),
        tuple(inputs),
        max(inputs[1].shape),
    )


@st.composite
def networks(draw: st.DrawFn) -> Case:
    """Two products with work between: a perceptron, or attention over the rows of one matrix."""
    dtype = draw(st.sampled_from(FLOATS))
    m, n, k = _fitting(draw, 3, MOST_WORK // 4)
    if draw(st.booleans()):
        return attention_of([array(draw, shape, dtype) for shape in ((m, k), (n, k), (n, m))])
    between, after = draw(chains(dtype)), draw(chains(dtype))
    between = Chain(tuple(name for name in between.names if name != "double"), dtype)
    inputs = [array(draw, shape, dtype) for shape in ((m, k), (k, n), (n,), (n, m))]

    def perceptron(first: Function, last: Function, x: Any, w: Any, b: Any, v: Any) -> Any:
        return last(first(x @ w + b) @ v)

    return Case(
        f"perceptron{between}{after}",
        lambda *xs: perceptron(between.stepwell, after.stepwell, *xs),
        lambda *xs: perceptron(between.numpy, after.numpy, *xs),
        tuple(inputs),
        k * n,
    )

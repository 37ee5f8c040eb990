"""Fusion computes what the program says: random programs of element-wise work with several results."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis.fusion import plan_fusion

Array = Any  # a NumPy array, or what traces as one
F32 = np.float32

UNARY = ("negative", "abs", "square", "exp", "tanh")
BINARY = ("add", "subtract", "multiply", "maximum")

Step = tuple[str, int, int]
"""An operation, and the numbers of its operands among what is computed before, counted from the last."""


def run(np_or_sw: Any, steps: list[Step], results: list[int], *inputs: Array) -> tuple[Array, ...]:
    """The program on NumPy's arrays or on those that trace; values stay near 1, so that errors do."""
    values = list(inputs)
    for name, one, other in steps:
        left, right = values[-1 - one % len(values)], values[-1 - other % len(values)]
        if name in UNARY:
            value = getattr(np_or_sw, name)(left)
        elif name in BINARY:
            value = getattr(np_or_sw, name)(left, right)
        elif name == "turn":
            value = left[::-1, :] + right
        else:
            value = getattr(np_or_sw, name)(left, axis=1, keepdims=True) + right
        values.append(np_or_sw.minimum(np_or_sw.maximum(value, F32(-2)), F32(2)))
    return tuple(values[-1 - n % len(values)] for n in results)


NAMES = st.sampled_from((*UNARY, *BINARY, "turn", "mean", "max"))
STEPS = st.lists(st.tuples(NAMES, st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=14)


@settings(max_examples=25, deadline=None)
@given(STEPS, st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(0, 2**16))
def test_random_programs_of_several_results(steps: list[Step], results: list[int], seed: int):
    rng = np.random.default_rng(seed)
    rows, columns = (int(n) for n in rng.integers(1, 19, 2))
    inputs = [rng.uniform(-1, 1, (rows, columns)).astype(F32) for _ in range(2)]
    compiled = sw.jit(lambda *xs: run(sw, steps, results, *xs), opt="quick")
    for found, expected in zip(compiled(*inputs), run(np, steps, results, *inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


def kernels(function: Any, *inputs: np.ndarray) -> list[list[int]]:
    """How many tensors each nest of each kernel of a program stores."""
    module = sw.jit(function).lower(*inputs).module("te")
    (block,) = (op.body.block for op in module.ops)
    return [[len(nest.stored) for nest in kernel.nests] for kernel in plan_fusion(block).kernels]


def escapes(re: Array, im: Array) -> Array:
    """How many of twenty iterations of Mandelbrot's stay within the circle of radius 2."""
    x, y, count = re * 0, re * 0, re * 0
    for _ in range(20):
        xx, yy = x * x, y * y
        inside = xx + yy <= 4
        count = sw.where(inside, count + 1, count)
        x, y = sw.where(inside, xx - yy + re, x), sw.where(inside, 2 * x * y + im, y)
    return count


PLANE = np.zeros((33, 17), F32)

ONE_KERNEL: dict[str, tuple[Any, tuple[np.ndarray, ...], list[list[int]]]] = {
    "iterations": (escapes, (PLANE, PLANE), [[1]]),
    "two of one": (lambda x, y: (sw.exp(x) + y, sw.exp(x) * y), (PLANE, PLANE), [[2]]),
    "a result that the other is made from": (lambda x: (sw.exp(x), sw.exp(x) + 1), (PLANE,), [[2]]),
    "a product and what is made of it": (
        lambda x, w: (lambda c: (c, sw.relu(c), c + 1))(x @ w),
        (PLANE, PLANE.T),
        [[1, 3]],
    ),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_one_kernel(name: str):
    function, inputs, expected = ONE_KERNEL[name]
    assert kernels(function, *inputs) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(1,), (17,), (5, 33), (3, 1, 19)])
def test_several_results_of_all_types(dtype: Any, shape: tuple[int, ...]):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-9, 9, shape).astype(dtype) for _ in range(2))

    def function(lib: Any, x: Array, y: Array) -> tuple[Array, ...]:
        difference = x - y
        return difference, lib.maximum(difference, y) * x, difference > y

    for found, expected in zip(
        sw.jit(lambda x, y: function(sw, x, y))(x, y), function(np, x, y), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("m, k, n", [(7, 5, 3), (65, 33, 17), (33, 40, 130)])
def test_products_with_several_results(m: int, k: int, n: int):
    rng = np.random.default_rng(m)
    x, w, bias = (rng.standard_normal(s).astype(F32) for s in ((m, k), (k, n), (n,)))

    def function(lib: Any, x: Array, w: Array, bias: Array) -> tuple[Array, ...]:
        c = x @ w
        return c, c + bias, lib.maximum(c, F32(0))

    for found, expected in zip(
        sw.jit(lambda *a: function(sw, *a))(x, w, bias), function(np, x, w, bias), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_planning_is_linear():
    """Twice as long a program takes twice as many calls to plan."""

    def calls(rounds: int) -> int:
        def function(x: Array) -> Array:
            for _ in range(rounds):
                y = sw.exp(x) + 1
                x = x + y * sw.tanh(y) - sw.mean(y, axis=1, keepdims=True)
            return x

        module = sw.jit(function).lower(PLANE).module("te")
        (block,) = (op.body.block for op in module.ops)
        count = 0

        def counted(frame: object, event: str, arg: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(counted)
        try:
            plan_fusion(block)
        finally:
            sys.setprofile(None)
        return count

    assert calls(100) < 2.2 * calls(50)

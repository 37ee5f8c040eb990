"""Running sums and extremes: in vectors they are what NumPy accumulates, at every level, for every number of elements."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import stepwell as sw
from stepwell.interpreters.harness import interpret

UFUNCS = {"cumsum": np.add, "cummax": np.maximum, "cummin": np.minimum, "cumprod": np.multiply}


def drawn(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.random.default_rng(3).normal(size=shape) * 3).astype(dtype)


@pytest.mark.parametrize(("name", "dtype"), [("cumsum", "i4"), ("cummax", "f4"), ("cumprod", "i4")])
@pytest.mark.parametrize("count", [7, 67])
def test_prefixes_are_what_numpy_accumulates(name: str, dtype: str, count: int):
    x = drawn((2, count), dtype)
    found = sw.jit(lambda x: getattr(sw, name)(x, axis=1), threads=1)(x)
    np.testing.assert_allclose(found, UFUNCS[name].accumulate(x, axis=1, dtype=found.dtype), 1e-9)


def test_a_nan_stays_from_the_first_one_on():
    x = drawn((70,), "f8")
    x[33] = np.nan
    found = sw.jit(sw.cummin, threads=1)(x)
    np.testing.assert_array_equal(found, np.minimum.accumulate(x))


def test_loops_and_core_compute_the_same():
    x = drawn((2, 70), "f8")
    low = sw.jit(lambda x: sw.cummax(x, axis=1), threads=1).lower(x)
    assert "vector" in low.as_text("loop")
    for level in ("loop", "core"):
        (found,) = interpret(low.module(level), (x,))
        np.testing.assert_array_equal(found, np.maximum.accumulate(x, axis=1))


@pytest.mark.parametrize("shape", [(1000,), (9, 17), (5, 6, 2), (2, 3, 4, 2, 2)])
def test_sums_of_floats_keep_their_order(shape: tuple[int, ...]):
    x, axis = drawn(shape, "f4"), min(len(shape) - 1, 1)
    found = sw.jit(lambda x: sw.cumsum(x, axis), threads=1)(x)
    np.testing.assert_array_equal(found, np.cumsum(x, axis))


@pytest.mark.parametrize("count", [1, 7, 33])
def test_what_is_padded_is_summed_where_it_is_read(count: int):
    x = drawn((3, count), "f8")

    def sums(x: sw.Tensor) -> sw.Tensor:
        return sw.cumsum(sw.pad(x, ((0, 0), (2, 1))), axis=1)

    low = sw.jit(sums, threads=1).lower(x)
    assert low.as_text("te").count("te.kernel") == 1
    np.testing.assert_array_equal(low.compile()(x), np.cumsum(np.pad(x, ((0, 0), (2, 1))), 1))


@pytest.mark.parametrize("count", [1, 2, 5, 17, 33])
@pytest.mark.parametrize("is_exclusive", [False, True])
def test_sums_from_the_end(count: int, is_exclusive: bool):
    for x, axis in ((drawn((6, count), "f4"), 1), (drawn((count, 3), "f4"), 0)):
        sums = partial(sw.cumsum, axis=axis, exclusive=is_exclusive, reverse=True)
        expected = np.flip(np.cumsum(np.flip(x, axis), axis), axis)
        if is_exclusive:
            expected = np.delete(np.insert(expected, count, 0, axis), 0, axis)
        low = sw.jit(sums, threads=1).lower(x)
        for found in (*interpret(low.module("te"), (x,)), low.compile()(x)):
            np.testing.assert_array_equal(found, expected)

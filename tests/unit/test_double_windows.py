"""Moving maxima and minima of wide windows, made of windows half as wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st


def moving(np_: Any, x: Any, width: int, axis: int, name: str, order: list[int]) -> Any:
    """The extreme of slices, in some order."""
    places = x.shape[axis] - width + 1
    result = None
    for by in order:
        part = x[(slice(None),) * axis + (slice(by, by + places),)]
        result = part if result is None else getattr(np_, name)(result, part)
    return result


@st.composite
def cases(draw: st.DrawFn) -> Any:
    rank = draw(st.integers(1, 3))
    axis = draw(st.integers(0, rank - 1))
    width = draw(st.sampled_from((8, 11, 16, 19, 33)))
    places = draw(st.sampled_from((1, 2, 5, 31, 100, 1700)))
    shape = [draw(st.sampled_from((1, 3, 17))) for _ in range(rank)]
    shape[axis] = places + width - 1
    order = draw(st.permutations(range(width)))
    dtype = draw(st.sampled_from(("float32", "float64", "int16", "uint8")))
    return shape, axis, width, order, dtype, draw(st.sampled_from(("maximum", "minimum")))


@settings(max_examples=10, deadline=None)
@given(case=cases(), opt=st.sampled_from(("quick", "full")))
def test_slices_in_any_order(case: Any, opt: str) -> None:
    shape, axis, width, order, dtype, name = case
    x = (np.random.default_rng(0).normal(size=shape) * 50).astype(dtype)
    if dtype.startswith("float"):
        x.flat[:: max(x.size // 3, 1)] = np.nan
        x.flat[1 :: max(x.size // 5, 1)] = np.inf
    call = sw.jit(lambda x: moving(sw, x, width, axis, name, list(order)), opt=opt)
    if width == 33:
        assert 'te.loops "' in call.lower(x).as_text("te")
    np.testing.assert_array_equal(call(x), moving(np, x, width, axis, name, list(order)))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_part_of_what_a_kernel_computes(threads: int) -> None:
    """Beside other operands, and twice in one expression: the range of values under a window."""
    x = np.random.default_rng(1).normal(size=70000).astype("f4")
    y = np.arange(x.size - 15, dtype="f4")

    def spread(np_: Any, x: Any, y: Any) -> Any:
        order = list(range(16))
        high = np_.maximum(y * 2, moving(np_, x, 16, 0, "maximum", order))
        return (high - moving(np_, x, 16, 0, "minimum", order)) * y

    call = sw.jit(lambda x, y: spread(sw, x, y), threads=threads)
    assert call.lower(x, y).as_text("te").count('te.loops "') == 2
    np.testing.assert_array_equal(call(x, y), spread(np, x, y))

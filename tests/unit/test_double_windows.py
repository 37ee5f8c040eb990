"""Moving maxima and minima of wide windows, made of windows half as wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.driver.pipeline_spec import parse_passes
from stepwell.interpreters.harness import interpret
from stepwell.transforms.te.double_windows import TeDoubleWindowsPass
from stepwell.universe import make_context

SMALL_CACHE = "x86-64-v3:l1=1K"
"""Of which a block is as few places as it may be: small arrays are several, and rests."""


def moving(np_: Any, x: Any, width: int, axis: int, name: str, order: list[int], start: int) -> Any:
    """The extreme of slices, in some order."""
    places = x.shape[axis] - width + 1 - start
    result = None
    for by in order:
        part = x[(slice(None),) * axis + (slice(start + by, start + by + places),)]
        result = part if result is None else getattr(np_, name)(result, part)
    return result


@st.composite
def cases(draw: st.DrawFn) -> Any:
    rank = draw(st.integers(1, 3))
    axis = draw(st.integers(0, rank - 1))
    width = draw(st.sampled_from((11, 16, 19, 33)))
    places, start = draw(st.sampled_from((1, 2, 31, 100, 150))), draw(st.sampled_from((0, 1)))
    shape = [draw(st.sampled_from((1, 2, 5))) for _ in range(rank)]
    if axis < rank - 1:
        shape[-1] = draw(st.sampled_from((1, 3, 70)))
    shape[axis] = places + width - 1 + start
    order = draw(st.permutations(range(width)))
    dtype = draw(st.sampled_from(("float32", "float64", "int16", "uint8")))
    return shape, axis, width, order, start, dtype, draw(st.sampled_from(("maximum", "minimum")))


@settings(max_examples=15, deadline=None)
@given(case=cases())
def test_slices_in_any_order(case: Any) -> None:
    shape, axis, width, order, start, dtype, name = case
    x = (np.random.default_rng(0).normal(size=shape) * 50).astype(dtype)
    if dtype.startswith("float"):
        x.flat[:: max(x.size // 3, 1)] = np.nan
        x.flat[1 :: max(x.size // 5, 1)] = np.inf
    call = sw.jit(lambda x: moving(sw, x, width, axis, name, list(order), start))
    module = call.lower(x).module("graph").clone()
    for each in (*parse_passes("convert-graph-to-te,te-fuse"), TeDoubleWindowsPass(SMALL_CACHE)):
        each.apply(make_context(), module)
    module.verify()
    if width == 33:
        assert 'te.loops "' in str(module)
    (found,) = interpret(module, [x])
    np.testing.assert_array_equal(found, moving(np, x, width, axis, name, list(order), start))


@pytest.mark.parametrize(("shape", "threads"), [((70000,), 1), ((703, 100), 2)])
def test_a_part_of_what_a_kernel_computes(shape: tuple[int, ...], threads: int) -> None:
    """Beside other operands, and twice in one expression: the range of values under a window."""
    x = np.random.default_rng(1).normal(size=shape).astype("f4")
    y = np.arange(x[16:].size, dtype="f4").reshape(x[16:].shape)

    def spread(np_: Any, x: Any, y: Any) -> Any:
        order = list(range(16))
        high = np_.maximum(y * 2, moving(np_, x, 16, 0, "maximum", order, 1))
        return (high - moving(np_, x, 16, 0, "minimum", order, 1)) * y

    call = sw.jit(lambda x, y: spread(sw, x, y), threads=threads)
    assert call.lower(x, y).as_text("te").count('te.loops "') == 2
    np.testing.assert_array_equal(call(x, y), spread(np, x, y))

"""Loops that only count run as scans, as often as Python runs them."""

import operator

import numpy as np
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st

COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.ne)


def trips(holds, start: int, step: int, limit: int, dtype: np.dtype) -> int | None:
    """How often `while holds(i, limit): i += step` runs; None where that is more than 300 times."""
    i = np.array(start, dtype)
    for n in range(300):
        if not holds(i, limit):
            return n
        i = (i + np.array(step, dtype)).astype(dtype)
    return None


@settings(max_examples=100, deadline=None)
@given(
    holds=st.sampled_from(COMPARISONS),
    start=st.integers(-9, 9) | st.integers(110, 120),
    step=st.integers(-3, 3),
    limit=st.integers(-9, 9) | st.integers(110, 127),
    dtype=st.sampled_from([np.int8, np.int32, np.int64]),
    asks_before=st.booleans(),
    is_mirrored=st.booleans(),
)
def test_counters_of_every_kind(holds, start, step, limit, dtype, asks_before, is_mirrored):
    wanted = trips(holds, start, step, limit, np.dtype(dtype))
    if wanted is None:
        return

    def goes_on(state):
        i = state[0] - np.array(step, dtype) if asks_before else state[0]
        end = np.array(limit, dtype)
        if is_mirrored and holds is operator.lt:
            return end > i
        return holds(i, end)

    def f(x):
        first = np.array(start + step if asks_before else start, dtype)
        return sw.while_loop(
            goes_on, lambda s: (s[0] + np.array(step, dtype), s[1] + x), (first, 0.0)
        )

    i, total = sw.jit(f, opt="quick")(np.float64(1))
    assert total == wanted
    last = start + step * (wanted + asks_before)
    assert i == np.array(last % 256, np.uint8).astype(np.int8) if dtype is np.int8 else i == last


def test_a_loop_that_only_counts_is_a_scan():
    def f(x):
        return sw.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2 + s[0]), (0, x))[1]

    low = sw.jit(f).lower(np.ones(3))
    assert "te.scan 10" in low.as_text("te")
    np.testing.assert_array_equal(low.compile()(np.ones(3)), f(np.ones(3)))

"""Loops of whose states later steps need parts: what is needed is as it is without them."""

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st


def shifted(np_: Any, x: Any, by: int) -> Any:
    """The columns, moved so many to the left; ones come in."""
    ones = np_.ones((x.shape[0], abs(by)), x.dtype)
    return np_.concatenate([x[:, by:], ones] if by > 0 else [ones, x[:, :by]], axis=1)


def step(np_: Any, x: Any, shifts: tuple[int, ...]) -> Any:
    for by in shifts:
        x = np_.minimum(x, shifted(np_, x, by)) * 0.5 + x
    return x


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, int], int, tuple[int, ...], slice]:
    columns = draw(st.sampled_from((2, 5, 17, 31, 33, 70, 100)))
    start = draw(st.integers(0, columns - 1))
    stop = draw(st.integers(start + 1, columns))
    shift = st.sampled_from([by for by in (-3, -1, 1, 2) if abs(by) < columns])
    shifts = draw(st.lists(shift, min_size=1, max_size=2))
    rows, steps = draw(st.sampled_from((1, 3, 9))), draw(st.sampled_from((1, 2, 7, 40)))
    return (rows, columns), steps, tuple(shifts), slice(start, stop)


@settings(max_examples=12, deadline=None)
@given(case=cases(), opt=st.sampled_from(("quick", "full")))
def test_parts_of_the_last_state(case: Any, opt: str) -> None:
    shape, steps, shifts, part = case
    x = np.random.default_rng(0).normal(size=shape)
    expected = x
    for _ in range(steps):
        expected = step(np, expected, shifts)

    def run(x: Any) -> Any:
        return sw.fori_loop(0, steps, lambda t, s: step(sw, s, shifts), x)[:, part]

    found = sw.jit(run, opt=opt)(x)
    np.testing.assert_allclose(found, expected[:, part], rtol=1e-12)


@pytest.mark.parametrize("threads", [1, 2])
def test_half_of_a_triangle_is_computed(threads: int) -> None:
    """What no step needs any more is not even read: numbers there are left out of the loops' bounds."""

    def climb(cost: Any) -> Any:
        def row(best: Any, now: Any) -> Any:
            after = sw.concatenate([best[:, 1:], best[:, -1:]], axis=1)
            return now + sw.minimum(best, after), None

        return sw.scan(row, cost[-1], cost[:-1], reverse=True)[0][:, 0]

    cost = np.random.default_rng(1).integers(0, 100, (50, 300, 100))
    best = cost[-1]
    for r in range(48, -1, -1):
        best = cost[r, :, :-1] + np.minimum(best[:, :-1], best[:, 1:])
        best = np.concatenate([best, best[:, -1:]], axis=1)
    low = sw.jit(climb, threads=threads).lower(cost)
    assert "(0, 299, 0, ((d0 * -1) + 48))" in low.as_text("loop")
    np.testing.assert_array_equal(low.compile()(cost), best[:, 0])

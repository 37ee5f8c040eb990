"""States of scans that are results for each step as well: each step reads the row that the one before wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

Step = Callable[[Any, Any, Any], tuple[Any, Any]]


def _single(xp: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """Reads its state element for element."""
    del xp
    state = 0.5 * state + row
    return state, state


def _rolled(xp: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """Reads elements of its state that other elements of the next one replace."""
    state = xp.roll(state, 1) - 0.25 * state + row
    return state, state


def _pair(xp: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """Has a state that is not a result, and one that is one twice."""
    del xp
    first, second = state
    first, second = 0.5 * first + second, row - 0.5 * first
    return (first, second), (second, second)


def _handed(xp: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """Hands one state on to the other, so that it is needed after its row was read."""
    del xp
    before, now = state
    after = row + 0.5 * now - 0.25 * before
    return (now, after), after


def _cut(xp: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """Reads its state through views, which a row of an open offset has none of."""
    state = xp.concatenate([state[:1], 0.5 * state[1:] + row[:-1]])
    return state, state


def _nested(xp: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """Runs a loop over its state within each step."""
    state, rows = _scan(xp, _single, state, xp.stack([row, 2 * row]))
    state = state + rows[0]
    return state, state


STEPS: dict[str, tuple[Step, int]] = {
    "single": (_single, 1),
    "rolled": (_rolled, 1),
    "pair": (_pair, 2),
    "handed": (_handed, 2),
    "cut": (_cut, 1),
    "nested": (_nested, 1),
}


def _scan(xp: Any, step: Step, state: Any, rows: Any, reverse: bool = False) -> tuple[Any, Any]:
    if xp is sw:
        return sw.scan(lambda s, row: step(sw, s, row), state, rows, reverse=reverse)
    found: list[Any] = []
    for row in rows[::-1] if reverse else rows:
        state, out = step(np, state, row)
        found.append(out)
    return state, np.stack([np.array(out) for out in (found[::-1] if reverse else found)], axis=-2)


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("size, steps, reverse", [(65, 1, False), (100, 5, False), (257, 4, True)])
def test_as_numpy(name: str, size: int, steps: int, reverse: bool):
    step, count = STEPS[name]
    rng = np.random.default_rng(size)
    rows, starts = rng.random((steps, size)), rng.random((2, size))
    kept = starts.copy()

    def program(xp: Any, rows: Any, first: Any, second: Any) -> tuple[Any, Any]:
        state = 2 * first if count == 1 else (first, xp.zeros_like(second))
        return _scan(xp, step, state, rows, reverse)

    last, every = sw.jit(lambda *x: program(sw, *x))(rows, *starts)
    for found, wanted in zip((last, every), program(np, rows, *starts), strict=True):
        np.testing.assert_allclose(np.array(found), np.array(wanted), rtol=1e-12, atol=1e-12)
    # The arguments are only read, whatever the states start with.
    assert np.array_equal(starts, kept)


SHAPES: dict[str, Callable[[Any, Any], Any]] = {
    "flattened": lambda xp, state: xp.flip(state.reshape(-1)).reshape(state.shape),
    "collapsed": lambda xp, state: xp.sum(state, axis=0),
}


@pytest.mark.parametrize("name", SHAPES)
def test_kernels_that_would_read_a_row_in_another_shape(name: str):
    """There is no view of a row, whose offset is open."""
    rows = np.random.default_rng(1).random((3, 4, 6, 10))

    def step(xp: Any, state: Any, row: Any) -> tuple[Any, Any]:
        state = row + 0.01 * SHAPES[name](xp, state)
        return state, state

    last, every = sw.jit(lambda rows: _scan(sw, step, rows[0], rows), opt="quick")(rows)
    state = rows[0]
    for row, found in zip(rows, every, strict=True):
        state, _ = step(np, state, row)
        np.testing.assert_allclose(found, state, rtol=1e-12)
    np.testing.assert_allclose(last, state, rtol=1e-12)

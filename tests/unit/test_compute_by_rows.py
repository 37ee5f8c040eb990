"""Running sums and what is made of them by blocks of rows: the same as for all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.graph import CumulativeOp, ScanOp
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.compute_by_rows import RowsPlan, plan_rows, rewrite

SIZE = 96
FIRST = np.linspace(0.5, 1.5, SIZE)

BY_ROWS: dict[str, Callable[..., Any]] = {
    "drawdown": lambda xp, x, y: (
        xp.cumprod(1 + x, 1)[:, -1],
        (xp.cumprod(1 + x, 1) / xp.maximum.accumulate(xp.cumprod(1 + x, 1), axis=1)).min(axis=1),
    ),
    "range": lambda xp, x, y: xp.cumsum(x, 1).max(axis=1) - xp.cumsum(x, 1).min(axis=1) + y[:, 0],
    "other operands": lambda xp, x, y: xp.exp(xp.cumsum(x * y, 1)) * y + xp.asarray(FIRST),
    "needed elsewhere": lambda xp, x, y: (
        xp.exp(xp.cumsum(x, 1)),
        xp.exp(xp.cumsum(x, 1)).sum(axis=0) * 2,
        xp.tanh(xp.cumsum(x, 1))[::-1] + 1,
    ),
    "with a row for each row": lambda xp, x, y: (
        xp.exp(xp.cumsum(x, 1)) + xp.exp(xp.cumsum(x, 1)).max(axis=1)
    ),
    "with all of a vector that is as long": lambda xp, x, y: (
        xp.exp(y[:, 0]) + xp.tanh(xp.cumsum(x, 1)) + xp.exp(xp.cumsum(x, 1))
    ),
    "with a column": lambda xp, x, y: (
        xp.exp(xp.cumsum(x, 1)) / xp.exp(xp.cumsum(x, 1)).sum(axis=1, keepdims=True)
    ),
}


def _planned(name: str, cache: int) -> tuple[Any, RowsPlan | str, tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(0)
    inputs = rng.random((SIZE, SIZE)), rng.random((SIZE, SIZE))
    program = BY_ROWS[name]
    module = sw.jit(lambda x, y: program(sw, x, y)).lower(*inputs).module("graph").clone()
    first = next(op for op in module.walk() if isinstance(op, CumulativeOp))
    return module, plan_rows(first, cache), inputs


@pytest.mark.parametrize("name", BY_ROWS)
def test_blocks_are_as_all_rows(name: str):
    module, plan, inputs = _planned(name, SIZE * SIZE * 8 - 1)
    assert isinstance(plan, RowsPlan), plan
    assert plan.blocks > 1
    rewrite(plan)
    module.verify()
    (scan,) = [op for op in module.walk() if isinstance(op, ScanOp)]
    assert any(isinstance(op, CumulativeOp) for op in scan.walk())
    expected = BY_ROWS[name](np, *inputs)
    found = interpret(module, inputs)
    for one, other in zip(
        found, expected if isinstance(expected, tuple) else (expected,), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_stays_in_the_cache_is_not_cut():
    _, plan, _ = _planned("range", 10**6)
    assert isinstance(plan, str)
    assert plan.endswith("bytes between operations stay in the cache of 1000000")


def test_together_with_the_rest_of_the_compiler():
    """With a cache that is too small for one thread's rows."""
    x = np.random.default_rng(1).random((4000, 100)) - 0.5

    def program(xp: Any, x: Any) -> Any:
        v = xp.cumprod(1 + x, axis=1)
        return v.max(axis=1) / v[:, -1], xp.cumsum(v, axis=1)[:, 3:] - 1

    for found, expected in zip(
        sw.jit(lambda x: program(sw, x), threads=1)(x), program(np, x), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-10)

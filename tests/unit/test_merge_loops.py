"""Running sums side by side: kernels of loops over as many steps are one, and others stay apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

Program = Callable[[Any, Any, Any], Any]

TOGETHER: dict[str, Program] = {
    "of one array": lambda xp, x, y: (xp.cumsum(x, -1), xp.cumsum(x * x, -1)),
    "of two": lambda xp, x, y: xp.cumsum(x, -1) - xp.cumsum(y, -1),
    "of three kinds": lambda xp, x, y: (
        xp.cumsum(x, -1), xp.cumprod(y, -1), xp.maximum.accumulate(x, -1),
    ),
    "of something dear": lambda xp, x, y: (xp.cumsum(xp.exp(x), -1), xp.cumsum(xp.exp(y), -1)),
}  # fmt: skip
APART: dict[str, Program] = {
    "one after the other": lambda xp, x, y: xp.cumsum(xp.cumsum(x, -1) * y, -1),
    "of different lengths": lambda xp, x, y: (xp.cumsum(x, -1), xp.cumsum(y[..., :-1], -1)),
}


def kernels_with_sums(program: Program, *given: Any) -> int:
    text = sw.jit(lambda x, y: program(sw, x, y)).lower(*given).as_text("te")
    return sum(line.strip().startswith("%") and "te.loops" in line for line in text.splitlines())


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (33,), (5, 7), (9, 3)])
@pytest.mark.parametrize("name", [*TOGETHER, *APART])
def test_as_numpy(name: str, shape: tuple[int, ...]):
    program = (TOGETHER | APART)[name]
    x, y = np.random.default_rng(0).random((2, *shape)) + 0.5
    found, wanted = sw.jit(lambda x, y: program(sw, x, y))(x, y), program(np, x, y)
    for one, other in (
        zip(np.atleast_2d(found), np.atleast_2d(wanted), strict=True)
        if not (isinstance(wanted, tuple))
        else zip(found, wanted, strict=True)
    ):
        np.testing.assert_allclose(one, other, rtol=1e-14)


@pytest.mark.parametrize("name", TOGETHER)
def test_one_kernel(name: str):
    assert kernels_with_sums(TOGETHER[name], np.ones(33), np.ones(33)) == 1


@pytest.mark.parametrize("name", APART)
def test_several_kernels(name: str):
    assert kernels_with_sums(APART[name], np.ones(33), np.ones(33)) == 2


def test_blocks_that_are_computed_ahead():
    program = TOGETHER["of something dear"]
    x, y = np.random.default_rng(0).random((2, 2063))
    for found, wanted in zip(
        sw.jit(lambda x, y: program(sw, x, y))(x, y), program(np, x, y), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert kernels_with_sums(program, x, y) == 1


@pytest.mark.parametrize("n", [1, 2, 5, 33, 2063])
def test_sums_by_groups(n: int):
    rng = np.random.default_rng(0)
    g, x, y = rng.integers(0, 7, n), rng.random(n), rng.random(n)

    def program(g: Any, x: Any, y: Any) -> Any:
        count, start = sw.bincount(g, length=7), sw.linspace(0, 1, 7)
        sums = sw.bincount(g, weights=x, length=7), start.at[g].add(y), start.at[g].add(x * y)
        return count, *sums, sums[1].at[g].add(x)

    def by_numpy() -> Any:
        start = np.linspace(0, 1, 7)
        of_x, of_y = (np.bincount(g, weights=w, minlength=7) for w in (x, y))
        of_xy = np.bincount(g, weights=x * y, minlength=7)
        count = np.bincount(g, minlength=7)
        return count, of_x, start + of_y, start + of_xy, start + of_y + of_x

    for found, wanted in zip(sw.jit(program)(g, x, y), by_numpy(), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_sums_by_groups_are_one_kernel():
    def kernels(program: Callable[..., Any]) -> int:
        g, h = np.zeros((2, 5000), np.int64)
        text = sw.jit(program).lower(g, h, np.ones(5000)).as_text("te")
        return text.count("te.loops")

    assert kernels(lambda g, h, x: (sw.bincount(g, x, length=7), sw.bincount(g, length=7))) == 1
    assert kernels(lambda g, h, x: (sw.bincount(g, x, length=7), sw.bincount(h, length=7))) == 2


def test_counts_and_sums_clamp_groups_once():
    def program(xp: Any, group: Any, value: Any, **length: int) -> Any:
        counts = xp.bincount(group, **length)
        return xp.bincount(group, weights=value, **length) / counts

    group, value = np.arange(2100) % 7, np.arange(2100.0)
    traced = sw.jit(lambda group, value: program(sw, group, value, length=7))
    np.testing.assert_allclose(traced(group, value), program(np, group, value), rtol=1e-12)
    text = traced.lower(group, value).as_text("te")
    assert text.count("arith.minui") == 2  # in whole blocks, and behind them
    assert "tensor<2100xi64> -> tensor<2100xi64>" not in text

"""What reads running sums at fixed shifts follows them in blocks: as NumPy has it, whatever the shifts, strides and lengths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st

FOLLOWING: dict[str, Callable[..., Any]] = {
    "differences": lambda xp, x: xp.cumsum(x)[20:] - xp.cumsum(x)[:-20],
    "from none on": lambda xp, x: (
        xp.cumsum(x)[6:] - xp.concatenate([xp.zeros(1), xp.cumsum(x)])[:-7]
    ),
    "of a zero and others": lambda xp, x: (
        xp.cumsum(xp.concatenate([xp.zeros(1), x]))[5:]
        - xp.cumsum(xp.concatenate([xp.zeros(1), x]))[:-5]
    ),
    "two sums": lambda xp, x: (
        (xp.cumsum(x)[9:] - xp.cumsum(x)[:-9]) * xp.cumsum(x * x)[4:-5] + x[9:]
    ),
    "every other": lambda xp, x: xp.cumsum(x)[1::2] * xp.cumsum(x)[: x.size // 2 * 2 : 2],
    "operands ahead": lambda xp, x: xp.cumsum(xp.exp(x))[3:] / xp.cumsum(xp.exp(x))[:-3],
    "operands ahead, from far back": lambda xp, x: (
        xp.cumsum(xp.exp(x))[300:] - xp.cumsum(xp.exp(x))[:-300]
    ),
    "far back": lambda xp, x: xp.cumsum(x)[700:] - xp.cumsum(x)[:-700],
    "most of it": lambda xp, x: xp.cumsum(x)[5:-9] * xp.cumsum(x)[2:-12],
    "several results": lambda xp, x: [
        (xp.cumsum(x)[8:] - xp.cumsum(x)[:-8]) * factor for factor in (1.0, 2.0)
    ],
}
BESIDE: dict[str, Callable[..., Any]] = {
    "a result too": lambda xp, x: (xp.cumsum(x), xp.cumsum(x)[2:] - xp.cumsum(x)[:-2]),
    "at the end": lambda xp, x: (xp.cumsum(x)[7:] - xp.cumsum(x)[:-7]) / xp.cumsum(x)[-1],
    "from the end": lambda xp, x: xp.cumsum(x)[::-1] * xp.exp(x),
    "a part of it": lambda xp, x: xp.cumsum(x)[3:100] - xp.cumsum(x)[:97],
    "too far": lambda xp, x: xp.cumsum(x)[2050:] - xp.cumsum(x)[:-2050],
}
"""Where sums are stored as well, or alone."""


def _check(program: Callable[..., Any], size: int, *, steps: bool = False) -> str:
    x = np.random.default_rng(size).random(size) - 0.5
    traced = sw.jit(lambda x: program(sw, x), opt="quick")
    found, expected = traced(x), program(np, x)
    if not isinstance(expected, (list, tuple)):
        found, expected = [found], [expected]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    return traced.lower(x).as_text("te") if steps else ""


@pytest.mark.parametrize("name", FOLLOWING)
def test_no_sums_are_stored(name: str):
    text = _check(FOLLOWING[name], 4099, steps=True)
    assert 'te.kernel "cumsum' in text
    assert "%last_cumsum" in text
    assert "-> (%cumsum" not in text


@pytest.mark.parametrize("name", BESIDE)
def test_sums_are_stored_too(name: str):
    assert "-> (%cumsum" in _check(BESIDE[name], 4099, steps=True)


@given(
    size=st.integers(2048, 6000),
    shifts=st.lists(st.integers(0, 600), min_size=1, max_size=3),
    stride=st.integers(1, 3),
    less=st.integers(0, 40),
    pad=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_any_shifts(size: int, shifts: list[int], stride: int, less: int, pad: bool):
    """Reads from several places on, of every so many elements, from before the first one on or not."""

    def program(xp: Any, x: Any) -> Any:
        sums = xp.concatenate([xp.ones(2), xp.cumsum(x)]) if pad else xp.cumsum(x)
        count = (size - max(shifts) - less) // stride
        parts = [sums[shift : shift + count * stride : stride] for shift in shifts]
        return sum(xp.exp(part) for part in parts) * x[:count]

    _check(program, size)

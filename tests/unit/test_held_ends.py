"""Steps of waves whose ends are held: rows between narrow borders, and next states that are written over those before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

Step = Callable[[Any, Any, Any], Any]


def _wave(xp: Any, before: Any, now: Any) -> Any:
    inner = 1.5 * now[1:-1] - before[1:-1] + 0.25 * (now[2:] + now[:-2])
    return xp.concatenate([now[:1], inner, now[-2:-1]])


def _shifted(xp: Any, before: Any, now: Any) -> Any:
    inner = now[1:-1] - 0.5 * before[:-2] + 0.25 * (now[2:] + now[:-2])
    return xp.concatenate([before[-1:], inner, now[-1:]])


def _apart(xp: Any, before: Any, now: Any) -> Any:
    del xp
    return 0.5 * now - before


STEPS: dict[str, Step] = {"wave": _wave, "shifted": _shifted, "apart": _apart}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("size", [3, 7, 33, 100, 257, 1030])
@pytest.mark.parametrize("steps", [1, 4])
def test_as_numpy(name: str, size: int, steps: int):
    step = STEPS[name]
    before, now = np.random.default_rng(size).random((2, size))

    @sw.jit
    def compiled(before: Any, now: Any) -> Any:
        return sw.fori_loop(0, steps, lambda _, s: (s[1], step(sw, *s)), (before, now))

    found, wanted = compiled(before, now), (before, now)
    for _ in range(steps):
        wanted = wanted[1], step(np, *wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)

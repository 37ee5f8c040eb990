"""What running sums write is used where they write it: as NumPy has it, and only where nothing else needs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

USED: dict[str, Callable[..., Any]] = {
    "element by element": lambda xp, x, y: xp.cumsum(x, 1) * y + 1,
    "added up along": lambda xp, x, y: (xp.cumsum(x, 1) * y).sum(axis=1),
    "added up across": lambda xp, x, y: xp.cumsum(x, 1).sum(axis=0),
    "multiplied": lambda xp, x, y: xp.cumprod(x, 1).prod(axis=0),
    "turned": lambda xp, x, y: xp.cumsum(x, 1).transpose(2, 0, 1) - xp.asarray(0.5, x.dtype),
    "added up twice": lambda xp, x, y: (xp.cumsum(x, 1) ** 2).sum(axis=-1).mean(axis=0),
}
OTHERS: dict[str, Callable[..., Any]] = {
    "from the end": lambda xp, x, y: (xp.cumsum(x[:, ::-1], 1)[:, ::-1] * 2).sum(axis=(0, 2)),
    "of two": lambda xp, x, y: xp.cumsum(x, 1).sum(axis=2) - xp.cumsum(y, 1).sum(axis=2),
    "in two places": lambda xp, x, y: xp.cumsum(x, 1)[:, 1:] - xp.cumsum(x, 1)[:, :-1],
    "of two in turns": lambda xp, x, y: xp.cumsum(xp.stack([x, y], axis=-1).reshape(-1)),
    "of all in another shape": lambda xp, x, y: xp.cumsum((x * y + 1).reshape(-1)),
    "of a shape that others need": lambda xp, x, y: (
        xp.cumsum((x * y + 1).reshape(-1)) * (x * y + 1).reshape(-1)[::-1]
    ),
    "in part": lambda xp, x, y: xp.cumsum(x, 1)[:, :-1] * 2,
    "an extreme": lambda xp, x, y: xp.cumsum(x, 1).max(axis=0),
    "by its sum": lambda xp, x, y: xp.cumsum(xp.cumsum(x, 1).sum(axis=0), 0),
}


@pytest.mark.sampled(2, by="name")
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 1), (5, 7, 2), (3, 33, 3), (9, 17, 5)])
@pytest.mark.parametrize("name", [*USED, *OTHERS])
def test_as_numpy(name: str, shape: tuple[int, ...]):
    program = (USED | OTHERS)[name]
    rng = np.random.default_rng(0)
    x, y = ((rng.random(shape) + 0.5).astype(np.float32) for _ in "xy")
    found = sw.jit(lambda x, y: program(sw, x, y))(x, y)
    np.testing.assert_allclose(found, program(np, x, y), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", USED)
def test_no_sums_are_stored(name: str):
    program = USED[name]
    x = np.ones((4, 6, 2), np.float32)
    text = sw.jit(lambda x, y: program(sw, x, y)).lower(x, x).as_text("te")
    assert '"cumsum" (' not in text.replace('te.loops "cumsum" (', "")

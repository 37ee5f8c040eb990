"""What reads parts of a product of matrices, or pairs of its elements: none of it may finish the product's tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

READERS: dict[str, Callable[[Any], Any]] = {
    "columns over a column": lambda c: c[:, :3] / c[:, 3:4],
    "over the first column": lambda c: c / c[:, :1],
    "neighbours in rows": lambda c: c[:, 1:] - c[:, :-1],
    "neighbours in columns": lambda c: c[1:] - c[:-1],
    "one column": lambda c: c[:, 2],
    "half of the rows": lambda c: c[: c.shape[0] // 2] * 2,
    "backwards": lambda c: c[:, ::-1] * 2,
    "transposed": lambda c: c.T * 2,
    "a part and the whole": lambda c: (c[:, :3] / c[:, 3:4], c),
}


@pytest.mark.parametrize("shape", [(100, 4, 4), (33, 31, 64)], ids=str)
@pytest.mark.parametrize("reader", READERS)
def test_parts_of_products_agree(reader: str, shape: tuple[int, int, int]) -> None:
    rng, (m, k, n) = np.random.default_rng(0), shape
    a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)

    def program(a: Any, b: Any) -> Any:
        return READERS[reader](a @ b)

    found, expected = sw.jit(program)(a, b), program(a, b)
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)

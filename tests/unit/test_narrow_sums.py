"""Sums of narrow integers in a wide type are the same when they are added up in fewer bits, at the ends of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw


def sums(np: Any, x: Any, to: str) -> tuple[Any, ...]:
    y = x.astype(to)
    return (
        y.sum(axis=0),
        y.sum(),
        y[::2, 1:].sum(axis=1),
        y.mean(axis=1) if "float" in to else y.T.sum(axis=0),
        (x > 0).sum(axis=0),
    )


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_the_greatest_and_the_least_sums(dtype: str):
    """16 bits hold 257 of the greatest bytes and 255 of the least signed ones, not 258; float32 not all of 16 bits."""
    ends = np.iinfo(dtype)
    for to in ("float32", "int64"):
        compiled = sw.jit(lambda x, to=to: sums(sw, x, to))
        for number in (ends.min, ends.max):
            x = np.full((258, 31), number, dtype)
            x[:3, 0] = ends.max
            for found, expected in zip(compiled(x), sums(np, x, to), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-6 if "float" in to else 0)
                assert np.asarray(found).dtype == expected.dtype


def test_bytes_are_pooled():
    x = np.random.default_rng(0).integers(0, 256, (34, 38), dtype=np.uint8)

    def pooled(x: Any) -> Any:
        return x.reshape(17, 2, 19, 2).mean(axis=(1, 3)).astype("uint8")

    np.testing.assert_array_equal(sw.jit(pooled)(x), pooled(x))

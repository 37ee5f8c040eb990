"""Reductions over blocks of rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("any", "bool"), ("all", "bool"), ("max", "uint8"), ("sum", "int16"), ("mean", "float32")],
)
@pytest.mark.parametrize(
    "shape", [(3, 5, 33, 7), (2, 17, 1, 5), (31, 2, 2, 17), (2, 3, 4, 5, 8, 6)]
)
def test_blocks(name: str, dtype: str, shape: tuple[int, ...]) -> None:
    x = (np.random.default_rng(0).random((*shape[:-2], shape[-2] * shape[-1])) * 300).astype(dtype)
    if dtype == "bool":
        x = np.random.default_rng(1).random(x.shape) < (0.02 if name == "any" else 0.98)

    def reduced(x: Any) -> Any:
        return getattr(x.reshape(shape), name)(axis=tuple(range(1, len(shape), 2)))

    np.testing.assert_allclose(sw.jit(reduced)(x), reduced(x), rtol=1e-6)


def test_blocks_with_what_makes_and_what_reads_them() -> None:
    x = np.random.default_rng(0).normal(size=(34, 99)).astype(np.float32)

    def counted(x: Any) -> Any:
        return (x > 2).reshape(17, 2, 9, 11).any(axis=(1, 3)).sum(axis=0)

    np.testing.assert_array_equal(sw.jit(counted)(x), counted(x))
    low = sw.jit(counted).lower(x)
    assert "tensor<17x9x11xi1>" in low.as_text("te")

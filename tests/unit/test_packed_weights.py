"""What the weights of a program take is foretold from its graph."""

from collections.abc import Callable

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.packed_weights import bytes_to_pack

W = np.arange(200 * 100, dtype=np.float32).reshape(200, 100)
X = np.ones((30, 200), np.float32)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x @ W, W.nbytes),
        (lambda x: x @ W + x @ W, W.nbytes),
        (lambda x: W.T @ x.T, W.nbytes),
        (lambda x: x[0] @ W, W.nbytes),
        (lambda x: x.T[:, :1] * W[:, :1], 0),
        (lambda x: x @ x.T, 0),
    ],
    ids=["product", "shared", "transposed", "row", "elementwise", "arguments"],
)
def test_weights_of_products_are_counted(function: Callable[..., object], expected: int) -> None:
    assert bytes_to_pack(sw.jit(function).lower(X).module("graph")) == expected

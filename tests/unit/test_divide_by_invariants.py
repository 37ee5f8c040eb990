"""Division of many elements by one number: the bits of NumPy's quotients, whatever the number is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quotients_have_the_bits_of_numpy(dtype: Any):
    numbers = np.finfo(dtype)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    rng = np.random.default_rng(3)

    def drawn(count: int) -> np.ndarray:
        return rng.integers(0, np.iinfo(bits).max, count, bits, endpoint=True).view(dtype)

    special = np.array([0, 1, 3, np.inf, np.nan, numbers.max, numbers.tiny], dtype)
    x = np.concatenate([drawn(20_000), rng.standard_normal(999).astype(dtype), special, -special])
    finite = [
        3,
        -7,
        8,
        0.125,
        np.nextafter(dtype(2), dtype(0)),
        numbers.max,
        numbers.tiny,
        numbers.smallest_subnormal,
    ]
    divisors = np.concatenate(
        [np.array([*finite, 0.0, -0.0, np.inf, -np.inf, np.nan], dtype), drawn(100)]
    )
    least = numbers.tiny / numbers.eps * 4

    divide = sw.jit(lambda x, d: x / d)
    for divisor in divisors:
        got = divide(x, divisor)
        with np.errstate(all="ignore"):
            expected = x / divisor
        is_small = (np.abs(expected) < least) & (expected != 0)
        np.testing.assert_array_equal(got[~is_small], expected[~is_small], str(divisor))
        assert (np.signbit(got) == np.signbit(expected))[~np.isnan(expected)].all(), divisor
        # Below that one unit of the last place.
        difference = np.abs(got[is_small] - expected[is_small])
        assert (difference <= np.spacing(np.abs(expected[is_small]))).all(), divisor


@pytest.mark.parametrize("columns", [1, 17, 33, 100, 300])
def test_rows_divided_by_their_greatest_are_one_there(columns: int):
    x = np.random.default_rng(columns).random((7, columns)) + 0.1
    got = sw.jit(lambda x: x / x.max(axis=1, keepdims=True))(x)
    np.testing.assert_array_equal(got, x / x.max(axis=1, keepdims=True))
    assert (got.max(axis=1) == 1).all()

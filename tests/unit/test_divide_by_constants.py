"""Division by constants: the same bits as NumPy's, and the proof that says for which constants."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import stepwell as sw
from stepwell.transforms.core.divide_by_constants import hard_dividends, reciprocal, rounded

CONSTANTS = (3, 10, -10, 255, 0.1, 1 / 3, np.pi, 1e-20, 1e20, 299792458, 7 / 8, 1.9999999)


def agree(x: Fraction, c: Fraction, precision: int) -> bool:
    inverse = 1 / c
    high = rounded(inverse, precision, towards_zero=True)
    rest = inverse - high
    low = rounded(rest, precision) if rest else rest
    product = rounded(x * low, precision) if low else low
    return rounded(x * high + product, precision) == rounded(x / c, precision)


@pytest.mark.parametrize("precision", [4, 5, 6, 7])
def test_the_hard_dividends_tell_of_all(precision: int):
    least = 1 << (precision - 1)
    verdicts: set[bool] = set()
    for y in range(least + 1, 2 * least):
        c = Fraction(y, least)
        all_agree = all(agree(Fraction(x, least), c, precision) for x in range(least, 2 * least))
        assert all_agree == all(agree(x, c, precision) for x in hard_dividends(c, precision)), c
        verdicts.add(all_agree)
    assert precision == 4 or verdicts == {False, True}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quotients_have_the_bits_of_numpy(dtype: Any):
    constants = [dtype(c) for c in CONSTANTS]
    rng = np.random.default_rng(3)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    x = rng.integers(0, np.iinfo(bits).max, 100_000, bits, endpoint=True).view(dtype)
    special = np.array([0, 1, 3, np.inf, np.nan, np.finfo(dtype).max], dtype)
    x = np.concatenate([x, rng.standard_normal(1000).astype(dtype), special, -special])

    got = sw.jit(lambda x: tuple(x / c for c in constants))(x)

    least = np.finfo(dtype).tiny / np.finfo(dtype).eps * 4
    for c, quotient in zip(constants, got, strict=True):
        with np.errstate(all="ignore"):
            expected = x / c
        normal = ~(np.abs(expected) < least) | (x == 0)
        np.testing.assert_array_equal(quotient[normal], expected[normal])
        assert (np.signbit(quotient) == np.signbit(expected))[x == 0].all()
        # Below that one unit of the last place.
        difference = np.abs(quotient[~normal] - expected[~normal])
        assert (difference <= np.spacing(np.abs(expected[~normal]))).all()


@pytest.mark.parametrize("c", [0.0, np.inf, np.nan, 8.0, -0.25, 1e-300, 1e300])
def test_what_has_no_two_parts(c: float):
    assert reciprocal(c, is_single=False) is None

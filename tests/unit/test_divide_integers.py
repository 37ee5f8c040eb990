"""Division of integers by constants, which becomes shifts and products: as NumPy's for all dtypes, on scalars and lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import stepwell as sw

DIVISORS = (
    2,
    3,
    7,
    10,
    64,
    127,
    641,
    65521,
    2**31 - 1,
    2**32 + 1,
    2**62,
    2**63 - 1,
    2**63 + 1,
    -1,
    -3,
    -8,
    -(2**63),
)


def dividends(dtype: np.dtype[Any], divisors: list[int]) -> np.ndarray[Any, Any]:
    """Any numbers, and those next to the multiples of divisors, where a quotient that is too high by little shows."""
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    rng = np.random.default_rng(5)
    near = {
        times * c + by
        for c in divisors
        for times in (-2, -1, 0, 1, 2, most // abs(c), least // abs(c))
        for by in (-1, 0, 1)
    }
    known = [each for each in (least, most, *near) if least <= each <= most]
    return np.concatenate(
        [np.array(known, dtype), rng.integers(least, most, 501, dtype, endpoint=True)]
    )


def divided(form: Callable[..., Any], divisors: list[Any]) -> Callable[..., Any]:
    return sw.jit(lambda x: tuple(form(x, c) for c in divisors))


@pytest.mark.sampled(1, by="bits")
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_quotients_and_remainders_are_those_of_numpy(kind: str, bits: int):
    dtype = np.dtype(f"{kind}{bits}")
    info = np.iinfo(dtype)
    divisors = [c for c in DIVISORS if info.min <= c <= info.max]
    x = dividends(dtype, divisors)
    with np.errstate(all="ignore"):
        for form in (np.floor_divide, np.remainder, np.fmod):
            got = divided(getattr(sw, form.__name__), [dtype.type(c) for c in divisors])(x)
            for c, found in zip(divisors, got, strict=True):
                np.testing.assert_array_equal(found, form(x, dtype.type(c)), f"{form.__name__} {c}")


@pytest.mark.parametrize("c", [2, 7])
def test_a_scalar_is_divided_as_lanes_are(c: int):
    divide = sw.jit(lambda x: (x // c, x % c))
    for x in (-(2**63), -15, -14, -1, 0, 6, 13, 2**63 - 1):
        assert tuple(map(int, divide(np.int64(x)))) == divmod(x, c)


def test_quotients_are_divided_again():
    x = np.arange(-500, 500)
    parts = sw.jit(lambda x: (x % 7, x // 7 % 4, x // 7 // 4 % 10))(x)
    for found, wanted in zip(parts, (x % 7, x // 7 % 4, x // 7 // 4 % 10), strict=True):
        np.testing.assert_array_equal(found, wanted)

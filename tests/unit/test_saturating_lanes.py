"""Floats to integers in vectors: truncation, the nearest end beyond the range, 0 for NaN, as for scalars."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.graph.conversion import saturating_cast

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def numbers(dtype):
    """Numbers at, beside and beyond the ends of every integer type."""
    ends = [float(end) for i in INTEGERS for end in (np.iinfo(i).min, np.iinfo(i).max)]
    near = [end + by for end in ends for by in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    with np.errstate(all="ignore"):
        array = np.array([*near, -0.0, 0.9, -0.9, 1e30, -1e30, np.inf, -np.inf, np.nan], dtype)
        return np.concatenate(
            [array, np.nextafter(array, dtype(0)), np.nextafter(array, dtype(np.inf))]
        )


@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
@pytest.mark.parametrize("source", [np.float32, np.float64])
def test_conversions_saturate(source, target):
    x = numbers(source)
    for integer in INTEGERS:
        expected = saturating_cast(x, np.dtype(integer))
        found = sw.jit(lambda x, to=integer: x.astype(to), target=target)(x)
        assert np.array_equal(found, expected), integer


def test_conversions_are_vector_code():
    x = np.ones((8, 256), np.float32)
    assembly = sw.jit(lambda x: x.astype(np.int32), target="x86-64-v3").lower(x).as_text("asm")
    assert "vcvttps2dq" in assembly and "vcvttss2si" not in assembly

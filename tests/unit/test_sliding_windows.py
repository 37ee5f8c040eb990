"""Windows as of `numpy.lib.stride_tricks.sliding_window_view`, and the messages of windows that there are not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import stepwell as sw
from numpy.lib.stride_tricks import sliding_window_view as numpys

CASES: list[tuple[tuple[int, ...], Any, Any]] = [
    ((1,), 1, None), ((7,), 3, None), ((33,), 33, None), ((5,), 0, None), ((0,), 0, None), ((7, 5), (3, 2), None),
    ((7, 5), 3, 0), ((7, 5), (2, 3), (1, 1)), ((2, 17, 3), (1, 5), (-1, -2)),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "window", "axis"), CASES)
def test_windows_are_those_of_numpy(shape: tuple[int, ...], window: Any, axis: Any):
    x = np.random.default_rng(0).normal(size=shape)
    found = sw.jit(lambda x: sw.lib.stride_tricks.sliding_window_view(x, window, axis))(x)
    np.testing.assert_array_equal(found, numpys(x, window, axis))
    np.testing.assert_array_equal(sw.jit(lambda x: numpys(x, window, axis))(x), found)


@pytest.mark.parametrize("width", [2, 5, 16])
def test_what_windows_are_reduced_to(width: int):
    x = np.random.default_rng(1).normal(size=(3, 100))
    for reduction in ("mean", "max", "sum"):
        found = sw.jit(lambda x, r=reduction: getattr(sw.sliding_window_view(x, width, 1), r)(-1))(
            x
        )
        np.testing.assert_allclose(
            found, getattr(numpys(x, width, 1), reduction)(-1), rtol=1e-12, atol=1e-15
        )


def test_parts_of_complex_numbers():
    x = np.arange(6) * (1 - 2j)
    np.testing.assert_array_equal(sw.jit(lambda x: sw.sliding_window_view(x, 3))(x), numpys(x, 3))


@pytest.mark.parametrize(
    ("window", "axis", "message"),
    [
        (8, None, "found a window of 8 elements along axis 0, expected 0 to the 7 that there are; make it shorter"),
        (-1, None, "found a window of -1 elements along axis 0, expected 0 to the 7"),
        ((2, 2), None, r"found a window of shape \(2, 2\) for 1 axes, expected an extent for each; give axis="),
        (2, 1, "found axis 1"),
        (2.5, None, "found 2.5 for window_shape, expected an integer"),
    ],
)  # fmt: skip
def test_windows_that_there_are_not(window: Any, axis: Any, message: str):
    with pytest.raises(sw.StepwellError, match=message):
        sw.jit(lambda x: sw.sliding_window_view(x, window, axis))(np.zeros(7))


def test_steps_in_bytes_are_refused():
    with pytest.raises(AttributeError, match=r"'as_strided': .* write x\[i\]"):
        _ = sw.lib.stride_tricks.as_strided

"""Resizing against NumPy's interpolation and polynomials through four points: eagerly, and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from hypothesis import given, settings
from hypothesis import strategies as st

IMAGE = np.random.default_rng(0).standard_normal((1, 2, 5, 7)).astype(np.float32)


def coordinates(how, old, new):
    at = np.arange(new)
    if how == "align_corners":
        return at * ((old - 1) / (new - 1)) if new > 1 else at * 0.0
    if how == "asymmetric":
        return at * old / new
    return (at + 0.5) * old / new - 0.5


def interpolated(x, axis, how, new):
    old = x.shape[axis]
    place = coordinates(how, old, new)
    return np.apply_along_axis(lambda row: np.interp(place, np.arange(old), row), axis, x)


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from(["half_pixel", "align_corners", "asymmetric"]),
)
@settings(max_examples=60, deadline=None)
def test_linear(height, width, how):
    found = sw.nn.resize(
        IMAGE, (height, width), axes=(2, 3), mode="linear", coordinate_transformation_mode=how
    )
    wanted = interpolated(interpolated(IMAGE, 2, how, height), 3, how, width)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_cubic_goes_through_the_elements_and_keeps_lines():
    line = np.arange(9, dtype=np.float64)
    found = sw.nn.resize(line, (17,), mode="cubic", coordinate_transformation_mode="align_corners")
    np.testing.assert_allclose(found[::2], line, atol=1e-12)
    catmull_rom = sw.nn.resize(
        line,
        (17,),
        mode="cubic",
        coordinate_transformation_mode="align_corners",
        cubic_coeff_a=-0.5,
    )
    np.testing.assert_allclose(catmull_rom[3:-3], np.linspace(0, 8, 17)[3:-3], atol=1e-12)


@pytest.mark.parametrize(
    "nearest_mode", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
)
def test_nearest(nearest_mode):
    x = np.arange(5)
    modes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": nearest_mode}
    found = sw.nn.resize(x, None, (0.66,), **modes)
    place = np.arange(3) / 0.66
    exact = {
        "round_prefer_floor": np.ceil(place - 0.5),
        "round_prefer_ceil": np.floor(place + 0.5),
        "floor": np.floor(place),
        "ceil": np.ceil(place),
    }[nearest_mode]
    np.testing.assert_array_equal(found, exact)
    assert found.dtype == x.dtype


def test_a_mean_is_kept_against_aliasing():
    x = np.random.default_rng(1).standard_normal(32)
    found = sw.nn.resize(x, (4,), mode="linear", antialias=True)
    # Each new element is a weighted mean of the 16 around its centre.
    weights = np.maximum(0, 1 - np.abs(np.arange(32) - (2 + 0.5) * 8 + 0.5) / 8)
    np.testing.assert_allclose(found[2], (weights * x).sum() / weights.sum())


def test_what_lies_outside():
    x = np.arange(1, 6, dtype=np.float32)
    found = sw.nn.resize(
        x,
        (4,),
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        roi=(0.0, 1.5),
        extrapolation_value=-1,
    )
    np.testing.assert_allclose(found, [1, 3, 5, -1])


@pytest.mark.parametrize(
    ("policy", "shape"), [("stretch", (4, 9)), ("not_larger", (4, 6)), ("not_smaller", (6, 9))]
)
def test_aspect_ratio(policy, shape):
    found = sw.nn.resize(IMAGE, (4, 9), axes=(2, 3), keep_aspect_ratio_policy=policy)
    assert found.shape[2:] == shape


def test_compiled():
    def every(x):
        return [
            sw.nn.resize(x, None, (1, 1, 2, 2)),
            sw.nn.resize(x, None, (1, 1, 2, 3), coordinate_transformation_mode="asymmetric"),
            sw.nn.resize(x, (3, 5), axes=(2, 3), mode="linear"),
            sw.nn.resize(x, (11, 3), axes=(2, 3), mode="cubic", exclude_outside=True),
            sw.nn.resize(x, (3, 3), axes=(2, 3), mode="cubic", antialias=True),
        ]

    for found, wanted in zip(sw.jit(every)(IMAGE), every(IMAGE), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    repeated = np.repeat(np.repeat(IMAGE, 2, 2), 2, 3)
    np.testing.assert_array_equal(sw.nn.resize(IMAGE, None, (1, 1, 2, 2)), repeated)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sw.nn.resize(IMAGE, (3,)), "expected one of them with 4 numbers"),
        (lambda: sw.nn.resize(IMAGE), "expected one of them with 4 numbers"),
        (lambda: sw.nn.resize(IMAGE, (1, 2, 0, 3)), "expected numbers above 0"),
        (
            lambda: sw.nn.resize(IMAGE, (3,), axes=(2,), mode="area"),
            "found mode 'area', expected one",
        ),
        (lambda: sw.nn.resize(IMAGE, (3,), axes=(2,), roi=(1,)), "expected 2 numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(sw.StepwellError, match=message):
        call()

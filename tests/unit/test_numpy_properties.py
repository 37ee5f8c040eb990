"""Each of NumPy's functions against NumPy on arguments that Hypothesis draws. See `numpy_drawn_calls`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import stepwell as sw
from hypothesis import HealthCheck, given, settings
from stepwell.frontend.public import public_names
from unit.numpy_drawn_calls import CALLS, ELSEWHERE, SIZED

SETTINGS = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
    report_multiple_bugs=False,
)
FEW = settings(SETTINGS, max_examples=5, derandomize=True)
FEWER = settings(SETTINGS, max_examples=2, derandomize=True)  # each is compiled


def numpys(name, args, kwargs):
    """What NumPy gives; None where it refuses."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return getattr(np, name)(*args, **kwargs)
        except (TypeError, ValueError, IndexError, OverflowError, np.linalg.LinAlgError):
            return None


def flat(value):
    return (
        [leaf for part in value for leaf in flat(part)]
        if isinstance(value, tuple | list)
        else [value]
    )


def agree(found, expected, about):
    if about[0] == "unique_values":
        expected = np.sort(expected)  # NumPy's are in no order
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected), about
    for one, other in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert one.shape == other.shape, (about, one.shape, other.shape)
        narrow = np.dtype(np.float32) if other.dtype == np.float16 else other.dtype
        assert one.dtype == narrow, (about, one.dtype, other.dtype)
        if other.dtype == np.float16:
            continue  # where Stepwell computes in float32
        if other.dtype.kind != "f":
            np.testing.assert_array_equal(one, other, err_msg=str(about))
            continue
        relative = {4: 2e-5, 8: 1e-11}[other.dtype.itemsize]
        finite = np.abs(other[np.isfinite(other)])
        scale = min(float(finite.max(initial=1)), 1e3)  # sums round at the size of their terms
        np.testing.assert_allclose(
            one.astype(float), other.astype(float), relative, relative * scale, err_msg=str(about)
        )


def compare(name, args, kwargs, run):
    expected = numpys(name, args, kwargs)
    about = (name, args, kwargs)
    try:
        found = run(name, args, kwargs)
    except sw.StepwellError as error:
        assert expected is None, (*about, str(error))
        return
    if expected is not None:
        agree(found, expected, about)


def at_once(name, args, kwargs):
    return getattr(sw, name)(*args, **kwargs)


def compiled(name, args, kwargs):
    if name in SIZED:
        expected = numpys(name, args, kwargs)
        if expected is not None:
            first = flat(expected)[0]
            kwargs = {**kwargs, SIZED[name]: len(first)}
    run = sw.jit(lambda args, kwargs: getattr(sw, name)(*args, **kwargs), opt="quick")
    return run(args, kwargs)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", CALLS)
def test_at_once(name):
    @FEW
    @given(CALLS[name])
    def check(drawn):
        compare(name, *drawn, at_once)

    check()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CALLS)
def test_compiled(name):
    @FEWER
    @given(CALLS[name])
    def check(drawn):
        compare(name, *drawn, compiled)

    check()


def test_every_function_is_compared():
    of_numpy = {name for name in public_names() if callable(getattr(np, name, None))}
    assert of_numpy - CALLS.keys() == ELSEWHERE.keys()


def test_zeros_have_numpys_signs_when_compiled():
    """What equality does not see, of functions whose result is exact."""
    x = np.array([0.0, -0.0, 1.5, -1.5], np.float32)
    names = (
        "abs",
        "ceil",
        "floor",
        "negative",
        "positive",
        "rint",
        "sign",
        "sqrt",
        "square",
        "trunc",
    )
    found = sw.jit(lambda x: [getattr(sw, name)(x) for name in names], opt="quick")(x)
    with np.errstate(invalid="ignore"):
        for name, one in zip(names, found, strict=True):
            right = getattr(np, name)(x)
            finite = np.isfinite(right)
            np.testing.assert_array_equal(
                np.signbit(one)[finite], np.signbit(right)[finite], err_msg=name
            )

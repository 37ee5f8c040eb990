"""Elementary and activation functions against NumPy in double precision: eagerly, and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw

X = np.concatenate(
    [np.random.default_rng(0).uniform(-5, 5, 53), [0.0, -0.0, 1.0, -1.0, 40.0, -40.0]]
)
INSIDE = np.clip(X / 5, -0.99, 0.99)
POSITIVE = np.abs(X) + 0.01

ELEMENTARY = {
    sw.tan: (np.tan, X),
    sw.asin: (np.arcsin, INSIDE),
    sw.acos: (np.arccos, INSIDE),
    sw.atan: (np.arctan, X),
    sw.sinh: (np.sinh, X),
    sw.cosh: (np.cosh, X),
    sw.asinh: (np.arcsinh, X),
    sw.acosh: (np.arccosh, POSITIVE + 1),
    sw.atanh: (np.arctanh, INSIDE),
    sw.exp2: (np.exp2, X),
    sw.expm1: (np.expm1, X),
    sw.log1p: (np.log1p, POSITIVE),
    sw.log2: (np.log2, POSITIVE),
    sw.log10: (np.log10, POSITIVE),
    sw.cbrt: (np.cbrt, X),
    sw.trunc: (np.trunc, X),
}

ALIASES = [
    (sw.arcsin, sw.asin),
    (sw.arccos, sw.acos),
    (sw.arctan, sw.atan),
    (sw.arcsinh, sw.asinh),
    (sw.arccosh, sw.acosh),
    (sw.arctanh, sw.atanh),
    (sw.fix, sw.trunc),
]

ACTIVATIONS = {
    "elu": (lambda x: sw.elu(x, 0.7), lambda x: np.where(x > 0, x, 0.7 * np.expm1(x))),
    "selu": (
        lambda x: sw.selu(x),
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    "celu": (
        lambda x: sw.celu(x, 2),
        lambda x: np.maximum(x, 0) + np.minimum(2 * np.expm1(x / 2), 0),
    ),
    "prelu": (lambda x: sw.prelu(x, np.float32(0.3)), lambda x: np.where(x < 0, 0.3 * x, x)),
    "softplus": (lambda x: sw.softplus(x), lambda x: np.logaddexp(x, 0)),
    "softsign": (lambda x: sw.softsign(x), lambda x: x / (1 + np.abs(x))),
    "mish": (lambda x: sw.mish(x), lambda x: x * np.tanh(np.logaddexp(x, 0))),
    "hard_swish": (lambda x: sw.hard_swish(x), lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "thresholded_relu": (
        lambda x: sw.thresholded_relu(x, 1.5),
        lambda x: np.where(x > 1.5, x, 0),
    ),
    "shrink": (
        lambda x: sw.shrink(x, 0.25, 1.5),
        lambda x: np.where(x < -1.5, x + 0.25, np.where(x > 1.5, x - 0.25, 0)),
    ),
}


@pytest.mark.parametrize("function", ELEMENTARY, ids=lambda function: function.__name__)
def test_elementary(function):
    exact, x = ELEMENTARY[function]
    for dtype, tolerance in ((np.float32, 5e-7), (np.float64, 1e-15)):
        given = x.astype(dtype)
        wanted = exact(given.astype(np.float64))
        found = function(given)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=tolerance)


def test_aliases():
    assert all(alias is of for alias, of in ALIASES)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name):
    function, exact = ACTIVATIONS[name]
    given = X.astype(np.float32)
    np.testing.assert_allclose(
        function(given), exact(given.astype(np.float64)), rtol=1e-6, atol=1e-7
    )


def test_compiled():
    given = X.astype(np.float32)
    found = sw.jit(lambda x: [function(x) for function, _ in ACTIVATIONS.values()])(given)
    for name, result, (_, exact) in zip(ACTIVATIONS, found, ACTIVATIONS.values(), strict=True):
        wanted = exact(given.astype(np.float64))
        np.testing.assert_allclose(result, wanted, rtol=2e-6, atol=1e-6, err_msg=name)


def test_compiled_elementary():
    inputs = [x.astype(np.float32) for _, x in ELEMENTARY.values()]

    def every(*xs):
        return [function(x) for function, x in zip(ELEMENTARY, xs, strict=True)]

    for function, x, result in zip(ELEMENTARY, inputs, sw.jit(every)(*inputs), strict=True):
        wanted = ELEMENTARY[function][0](x.astype(np.float64))
        name = function.__name__
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-7, err_msg=name)


def test_of_special_numbers():
    x = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1], np.float32)
    for function, exact in ((sw.isnan, np.isnan), (sw.isinf, np.isinf), (sw.isfinite, np.isfinite)):
        np.testing.assert_array_equal(function(x), exact(x))
        np.testing.assert_array_equal(sw.jit(function)(x), exact(x))
        np.testing.assert_array_equal(function(np.arange(3)), exact(np.arange(3)))
    np.testing.assert_array_equal(sw.trunc(np.array([-3, 4])), [-3, 4])
    assert sw.elu(np.float32(200)) == 200 and sw.celu(np.float32(-np.inf), 3) == -3
    assert sw.softplus(np.float32(500)) == 500


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32])
def test_fmod(dtype):
    x, y = np.array([7, 9, 100, 3], dtype), np.array([3, 4, 7, 5], dtype)
    if dtype != np.uint8:
        x, y = np.concatenate([x, -x, x]), np.concatenate([y, y, -y])
    np.testing.assert_array_equal(sw.fmod(x, y), np.fmod(x, y))
    np.testing.assert_array_equal(sw.jit(sw.fmod)(x, y), np.fmod(x, y))


def test_refusals():
    with pytest.raises(sw.StepwellError, match="found 'a' for alpha, expected a Python number"):
        sw.elu(X, "a")


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "u4", "i8", "u8"])
def test_divisors_and_multiples_of_extreme_integers(dtype: str):
    """Multiples that the dtype does not hold wrap, and the least integer has a magnitude."""
    limits = np.iinfo(dtype)
    values = np.array([0, 1, 2, 6, limits.min, limits.max, limits.min + 1, limits.max - 1], dtype)
    a, b = (one.copy() for one in np.meshgrid(values, values))
    gcd, lcm = sw.jit(lambda a, b: (sw.gcd(a, b), sw.lcm(a, b)), opt="quick")(a, b)
    np.testing.assert_array_equal(gcd, np.gcd(a, b))
    np.testing.assert_array_equal(lcm, np.lcm(a, b))

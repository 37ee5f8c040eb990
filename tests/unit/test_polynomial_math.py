"""The polynomials of core-expand-math against mpmath: f32 within 2 units in the last place, f64 within 4."""

import ctypes
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import stepwell as sw
from stepwell.transforms.core.polynomials.functions import FUNCTIONS, GELU, SIGMOID

from .polynomial_kernels import DTYPES, EXACT, distance, error, mp, mpf, run, samples, special

TABLE = {function.name: function for function in (*FUNCTIONS.values(), SIGMOID, GELU)}
UNARY = [name for name in TABLE if name not in ("pow", "atan2")]

_UNDERFLOW = 0x10
"""`FE_UNDERFLOW` of <fenv.h>, on x86."""


def bound(name: str, element: str) -> float:
    function = TABLE[name]
    value = function.single if element == "f32" else function.double
    assert value <= (2 if element == "f32" else 4)
    return value


def test_every_function_has_an_exact_one():
    assert set(UNARY) == set(EXACT)


def check(name: str, element: str, x: np.ndarray, y: np.ndarray) -> None:
    errors = np.array([error(name, a, b, DTYPES[element]) for a, b in zip(x, y, strict=True)])
    worst = int(np.argmax(errors))
    assert errors[worst] <= bound(name, element), (x[worst], y[worst])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, element: str):
    x = samples(name, DTYPES[element], 800)
    y = run(name, x)
    check(name, element, x, y)
    scalar = run(name, x, lanes=0)
    np.testing.assert_array_equal(np.isnan(scalar), np.isnan(y))
    bits = f"u{x.itemsize}"
    np.testing.assert_array_equal(scalar[~np.isnan(y)].view(bits), y[~np.isnan(y)].view(bits))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize(
    ("name", "x", "wanted"),
    [
        ("exp", [0.0, -0.0], [1, 1]),
        ("exp2", [-30.0, 0.0, 10.0], [2.0**-30, 1, 1024]),
        ("tanh", [-30.0, 30.0, 1e-30], [-1, 1, 1e-30]),
        ("sigmoid", [0.0, -0.0, 40.0], [0.5, 0.5, 1]),
        ("gelu", [20.0, -45.0, 1e-30], [20, -0.0, 5e-31]),
    ],
)
def test_results_without_an_error(name: str, x: list[float], wanted: list[float], element: str):
    dtype = DTYPES[element]
    got = run(name, np.array(x, dtype))
    np.testing.assert_array_equal(got, np.array(wanted, dtype))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_next_to_multiples_of_a_quarter(name: str, element: str):
    """Where all the leading digits cancel; up to the reach of the reduction and beyond it."""
    dtype = DTYPES[element]
    last = 28 if element == "f32" else 56
    n = np.unique(np.exp2(np.random.default_rng(0).uniform(0, last, 400)).astype(np.int64))
    x = np.array([float(mpf(int(k)) * mp.pi / 2) for k in n], dtype)
    reach = dtype(2.0**18 if element == "f32" else 2.0**40)
    edges = np.array([reach, np.nextafter(reach, dtype(0)), np.nextafter(reach, dtype(np.inf))])
    x = np.concatenate([x, np.nextafter(x, dtype(0)), edges, -edges]).astype(dtype)
    check(name, element, x, run(name, x))


@pytest.mark.parametrize("element", DTYPES)
def test_a_large_neighbour_changes_nothing(element: str):
    x = np.linspace(-9, 9, 64).astype(DTYPES[element])
    large = x.copy()
    large[::8] = 1e30
    kept = np.arange(64) % 8 != 0
    np.testing.assert_array_equal(run("sin", x)[kept], run("sin", large)[kept])


@pytest.mark.parametrize("element", DTYPES)
def test_pow(element: str):
    dtype = DTYPES[element]
    random = np.random.default_rng(5)
    count, span = 1500, 20 if element == "f32" else 120
    x = np.concatenate([np.exp2(random.uniform(-span, span, count)), samples("pow", dtype, 200, 6)])
    p = np.concatenate([random.uniform(-9, 9, count), samples("pow", dtype, 200, 7)[::-1]])
    x, p = x.astype(dtype), p.astype(dtype)
    y = run("pow", x, p)
    errors = [
        (distance(_power(float(a), float(b)), float(c), dtype), a, b)
        for a, b, c in zip(x, p, y, strict=True)
        if a > 0 and np.isfinite(a) and np.isfinite(b)
    ]
    assert max(errors)[0] <= bound("pow", element), max(errors)


@pytest.mark.parametrize("element", DTYPES)
def test_atan2(element: str):
    dtype = DTYPES[element]
    random = np.random.default_rng(6)
    size = np.exp2(random.uniform(-30, 30, (2, 700)))
    bits = samples("atan", dtype, 200, 8)
    y = np.concatenate([size[0] * random.choice([-1, 1], 700), bits]).astype(dtype)
    x = np.concatenate([size[1] * random.choice([-1, 1], 700), bits[::-1]]).astype(dtype)
    found = run("atan2", y, x)
    errors = [
        (distance(mp.atan2(float(a), float(b)), float(c), dtype), a, b)
        for a, b, c in zip(y, x, found, strict=True)
        if np.isfinite(a) and np.isfinite(b) and b != 0 and a != 0
    ]
    assert max(errors)[0] <= bound("atan2", element), max(errors)


@pytest.mark.parametrize("element", DTYPES)
def test_atan2_of_special_numbers(element: str):
    """C's Annex F: the octants of zeros and infinities, and their signs."""
    y, x = (
        grid.ravel() for grid in np.meshgrid(special(DTYPES[element]), special(DTYPES[element]))
    )
    with np.errstate(all="ignore"):
        wanted = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble)).astype(y.dtype)
    found = run("atan2", y, x)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))
    np.testing.assert_array_max_ulp(found[numbers], wanted[numbers], 1)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("name", ["tan"])
def test_poles(name: str, element: str):
    """Next to odd multiples of a quarter turn, where the tangent is as large as it becomes."""
    dtype = DTYPES[element]
    x = (np.arange(1, 801, 2) * (np.pi / 2)).astype(dtype)
    x = np.concatenate([x, np.nextafter(x, dtype(0)), [dtype(1e30), dtype(-1e30)]]).astype(dtype)
    check(name, element, x, run(name, x))


def _power(x: float, y: float) -> mpf:
    """Within mpmath's patience."""
    exponent = min(max(mpf(y) * mp.log(mpf(x), 2), mpf(-5000)), mpf(5000))
    return mpf(2) ** exponent


@pytest.mark.parametrize("element", DTYPES)
def test_pow_of_special_numbers(element: str):
    """C's Annex F, which NumPy's pow keeps to; its square root of -0 and -∞ aside."""
    dtype = DTYPES[element]
    odd = 2.0 ** (np.finfo(dtype).nmant + 1) - 1
    numbers = [-1.5, 1.5, odd, odd + 1, -odd, np.nextafter(dtype(1), dtype(0))]
    numbers = np.concatenate([special(dtype), np.array(numbers, dtype)])
    x, p = (grid.ravel() for grid in np.meshgrid(numbers, numbers))
    of_one_base = sw.jit(lambda x, p: x[:, None] ** p)(numbers, np.tile(numbers, 8))
    by_pairs = np.tile(run("pow", x, p).reshape(len(numbers), -1).T, 8)
    np.testing.assert_array_equal(of_one_base, by_pairs)
    is_number = ~np.isnan(by_pairs)
    np.testing.assert_array_equal(
        np.signbit(of_one_base[is_number]), np.signbit(by_pairs[is_number])
    )
    exact = (p != 0.5) | (x > 0)
    x, p = x[exact], p[exact]
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.longdouble), p.astype(np.longdouble)).astype(dtype)
    got = run("pow", x, p)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
    numbers_only = ~np.isnan(wanted)
    got, wanted = got[numbers_only], wanted[numbers_only]
    np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))
    np.testing.assert_array_max_ulp(got, wanted, 1)


@pytest.mark.parametrize("element", DTYPES)
def test_root_of_minus_zero_and_minus_infinity(element: str):
    x = np.array([-0.0, -np.inf, 0.0, np.inf], DTYPES[element])
    got = run("pow", x, np.full(8, 0.5, DTYPES[element]))
    np.testing.assert_array_equal(got, [0, np.inf, 0, np.inf])
    assert not np.signbit(got).any()


@pytest.mark.slow
def test_the_coefficients_are_those_derived():
    script = Path(__file__).parents[2] / "docs" / "derive_polynomials.py"
    subprocess.run([sys.executable, script, "--check"], check=True)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads the flags of x86")
@pytest.mark.parametrize("x", [-14.45, -20.0, -1e6])
def test_what_is_zero_does_not_underflow(x: float):
    """A product that underflows takes 150 cycles and more: far below zero it is one with 0."""
    run = (
        sw.jit(lambda x: (sw.gelu(x), sw.sigmoid(x * 8))).lower(np.zeros(64, np.float32)).compile()
    )
    array = np.full(64, x, np.float32)
    out = np.ones(64, np.float32), np.ones(64, np.float32)
    libm = ctypes.CDLL(None)
    libm.feclearexcept(_UNDERFLOW)
    run(array, out=out)
    assert not libm.fetestexcept(_UNDERFLOW)
    assert not np.any(out[0]) and not np.any(out[1])

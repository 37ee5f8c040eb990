"""
Derives the coefficients of transforms/core/polynomials/coefficients.py:

    python docs/derive_polynomials.py            # prints the table of errors, writes the file
    python docs/derive_polynomials.py --check    # exits 1 when the file is not what would be written

Each polynomial is the minimax one by Remez' second algorithm (Muller, "Elementary Functions", 3rd ed.,
chapter 3.5) on a dense Chebyshev grid in 60 digits. The coefficients are then rounded to the format one at
a time, the lowest first, and those not rounded yet are moved, by least squares, to take up the
rounding errors of the former (Brisebarre and Chevillard 2007 do this optimally, by lattice reduction).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mpmath import mp, mpf

mp.dps = 60

OUTPUT = Path(__file__).parent.parent / "transforms/core/polynomials/coefficients.py"
Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """P of `degree` on [low, high] with the least maximum of |weight · (target - P)|."""

    name: str
    bits: int
    doc: str
    target: Function
    weight: Function
    low: mpf
    high: mpf
    degree: int
    shift: float | None = None


def rounded(value: mpf, bits: int) -> mpf:
    kind = np.float32 if bits == 32 else np.float64
    if bits == 64:
        return mpf(float(value))
    return mpf(float(kind(mp.nstr(value, 30))))


def evaluate(coefficients: Sequence[mpf], x: mpf) -> mpf:
    return mp.polyval(list(reversed(coefficients)), x)


def remez(
    xs: Sequence[mpf], targets: Sequence[mpf], weights: Sequence[mpf], degree: int
) -> list[mpf]:
    """The minimax polynomial on the grid `xs`, lowest coefficient first."""
    count = degree + 2
    last = len(xs) - 1
    chosen = sorted({round(last * (1 - mp.cos(mp.pi * i / (count - 1))) / 2) for i in range(count)})
    if len(chosen) < count:
        chosen = [round(last * i / (count - 1)) for i in range(count)]
    coefficients: list[mpf] = []
    for _ in range(30):
        matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
        for row, at in enumerate(chosen):
            for column in range(degree + 1):
                matrix[row, column] = weights[at] * xs[at] ** column
            matrix[row, degree + 1] = (-1) ** row
            right[row] = weights[at] * targets[at]
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(degree + 1)]
        level = abs(solution[degree + 1])
        errors = [
            w * (t - evaluate(coefficients, x))
            for x, t, w in zip(xs, targets, weights, strict=True)
        ]
        extremes = _extremes(errors, count)
        if extremes is None or max(abs(e) for e in errors) <= level * mpf("1.002"):
            return coefficients
        chosen = extremes
    return coefficients


def _extremes(errors: Sequence[mpf], count: int) -> list[int] | None:
    """The places of `count` extremes of alternating sign, the largest among them; None when too few."""
    peaks: list[int] = []
    for at, error in enumerate(errors):
        if peaks and (errors[peaks[-1]] > 0) == (error > 0):
            if abs(error) > abs(errors[peaks[-1]]):
                peaks[-1] = at
        else:
            peaks.append(at)
    if len(peaks) < count:
        return None
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks


def derive(fit: Fit) -> tuple[list[mpf], mpf]:
    """The rounded coefficients, and the weighted error that is left."""
    size = max(400, 30 * (fit.degree + 2))
    middle, half = (fit.low + fit.high) / 2, (fit.high - fit.low) / 2
    xs = [middle - half * mp.cos(mp.pi * (i + mpf("0.37")) / size) for i in range(size)]
    targets, weights = [fit.target(x) for x in xs], [abs(fit.weight(x)) for x in xs]
    coefficients = remez(xs, targets, weights, fit.degree)
    for number in range(fit.degree + 1):
        exact = coefficients[number]
        coefficients[number] = rounded(exact, fit.bits)
        take_up(coefficients, number, exact - coefficients[number], xs, weights)
    error = max(
        abs(w * (t - evaluate(coefficients, x)))
        for x, t, w in zip(xs, targets, weights, strict=True)
    )
    return coefficients, error


def take_up(
    coefficients: list[mpf], number: int, change: mpf, xs: Sequence[mpf], weights: Sequence[mpf]
) -> None:
    """Move the coefficients after `number` to make up for its `change`, by weighted least squares."""
    count = len(coefficients) - number - 1
    if count == 0 or change == 0:
        return
    points = list(zip(xs, weights, strict=True))[:: max(1, len(xs) // (4 * len(coefficients)))]
    moments = [
        mp.fsum(w * w * x ** (2 * number + power) for x, w in points)
        for power in range(2 * count + 1)
    ]
    normal = mp.matrix(count, count)
    right = mp.matrix(count, 1)
    for row in range(count):
        right[row] = change * moments[row + 1]
        for column in range(count):
            normal[row, column] = moments[row + column + 2]
    solution = mp.lu_solve(normal, right)
    for row in range(count):
        coefficients[number + 1 + row] += solution[row]


# region: what is fitted

LN2, ROOT2, PI = mp.ln(2), mp.sqrt(2), mp.pi


def _exponential(bits: int, degree: int) -> Fit:
    bound = LN2 / 2 * mpf("1.001")
    return Fit(
        f"EXPM1_F{bits}",
        bits,
        "(exp(r) - 1 - r) / r², |r| <= ln 2 / 2; error relative to exp(r) - 1",
        lambda r: (mp.expm1(r) - r) / r**2,
        lambda r: r**2 / mp.expm1(r),
        -bound,
        bound,
        degree,
    )


def _power_of_two(name: str, bits: int, degree: int) -> Fit:
    return Fit(
        name,
        bits,
        "(2**r - 1) / r, |r| <= 1/2; error relative to 2**r",
        lambda r: mp.expm1(r * LN2) / r,
        lambda r: r / mpf(2) ** r,
        mpf(-0.5),
        mpf(0.5),
        degree,
    )


def _logarithm_f32(name: str, base: mpf, degree: int) -> Fit:
    """After the leading coefficient, which is split in two and exact."""
    scale = 1 / mp.ln(base)
    return Fit(
        f"{name}_F32",
        32,
        f"(log(1 + f)·s - f·s) / f², s = 1/ln({mp.nstr(base, 5)}), 1 + f from √½ to √2",
        lambda f: scale * (mp.log1p(f) - f) / f**2,
        lambda f: f**2 / (scale * mp.log1p(f)),
        1 / ROOT2 - 1 - mpf("1e-6"),
        ROOT2 - 1 + mpf("1e-6"),
        degree,
    )


def _atanh(name: str, bits: int, degree: int) -> Fit:
    high = ((ROOT2 - 1) / (ROOT2 + 1)) ** 2 * mpf("1.0001")
    return Fit(
        name,
        bits,
        "(2 atanh(s) / s - 2) / s², z = s², s = f / (2 + f), 1 + f from √½ to √2",
        lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z,
        lambda z: z / 2,
        mpf(0),
        high,
        degree,
    )


def _log2_rest(degree: int) -> Fit:
    """The first two terms are in double-double."""

    def target(z: mpf) -> mpf:
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) / s - 2 - 2 * z / 3) / z**2 / LN2

    high = ((ROOT2 - 1) / (ROOT2 + 1)) ** 2 * mpf("1.0001")
    return Fit(
        "POWER_LOG2_F64",
        64,
        "(2 atanh(s) / s - 2 - 2z / 3) / (z² ln 2), z = s²; error relative to log2 (1 + f)",
        target,
        lambda z: z**2 * LN2 / 2,
        mpf(0),
        high,
        degree,
    )


def _sine(bits: int, degree: int) -> Fit:
    return Fit(
        f"SIN_F{bits}",
        bits,
        "(sin(r) / r - 1) / z, z = r², |r| <= π/4 and a little",
        lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z,
        mpf(0),
        mpf("0.81") ** 2,
        degree,
    )


def _cosine(bits: int, degree: int) -> Fit:
    return Fit(
        f"COS_F{bits}",
        bits,
        "(cos(r) - 1 + z / 2) / z², z = r², |r| <= π/4 and a little",
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2,
        mpf(0),
        mpf("0.81") ** 2,
        degree,
    )


def _erf_near_zero(bits: int, degree: int) -> Fit:
    return Fit(
        f"ERF_F{bits}",
        bits,
        "erf(x) / x - 1, z = x², |x| <= 1",
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
        mpf(0),
        mpf(1),
        degree,
    )


def _erf_tail_f32(degree: int) -> Fit:
    return Fit(
        "ERFC_TAIL_F32",
        32,
        "erfc(x), v = x - 2.5, x from 1 to 3.95; absolute error",
        lambda v: mp.erfc(v + mpf(2.5)),
        lambda v: mpf(1),
        mpf(-1.5),
        mpf(1.45),
        degree,
    )


def _scaled_erfc(name: str, bits: int, scale: mpf, shift: float, end: float, degree: int) -> Fit:
    """
    The change of variable is Shepherd and Laframboise's, "Chebyshev approximation of (1 + 2x) exp(x²)
    erfc(x) in 0 <= x < ∞", Math. Comp. 36 (1981).
    """

    def at(v: mpf) -> mpf:
        return shift * (1 + v) / (1 - v)

    def target(v: mpf) -> mpf:
        x = at(v)
        return mp.exp((x / scale) ** 2) * mp.erfc(x / scale) * (x + shift) / 2

    return Fit(
        name,
        bits,
        f"erfc(y) exp(y²) (x + {shift}) / 2, v = (x - {shift}) / (x + {shift}), "
        f"y = x / {mp.nstr(scale, 5)}, x from 0 to {end}",
        target,
        lambda v: 1 / target(v),
        mpf(-1),
        (mpf(end) - shift) / (mpf(end) + shift),
        degree,
        shift,
    )


def _normal_near_zero(degree: int) -> Fit:
    return Fit(
        "NORMAL_SMALL_F64",
        64,
        "erf(x / √2) / (2x), z = x², |x| <= 3/4; error relative to Φ(-|x|)",
        lambda z: mp.erf(mp.sqrt(z) / ROOT2) / (2 * mp.sqrt(z)),
        lambda z: mp.sqrt(z) / mp.ncdf(-mp.sqrt(z)),
        mpf(0),
        mpf(0.5625),
        degree,
    )


def _normal_near_zero_f32(degree: int) -> Fit:
    """Of half the square, which the tail needs, too."""

    def x_of(q: mpf) -> mpf:
        return mp.sqrt(2 * q)

    return Fit(
        "NORMAL_NEAR_F32",
        32,
        "erf(x / √2) / x, q = x² / 2, |x| <= 3/4; error relative to x·Φ(-x)",
        lambda q: mp.erf(x_of(q) / ROOT2) / x_of(q),
        lambda q: x_of(q) / (2 * mp.ncdf(-x_of(q))),
        mpf(0),
        mpf("0.2815"),
        degree,
    )


def _normal_tail_f32(degree: int) -> Fit:
    def target(v: mpf) -> mpf:
        x = (1 + v) / (1 - v)
        return mp.log(2 * x * mp.erfc(x / ROOT2)) + x**2 / 2

    return Fit(
        "NORMAL_TAIL_F32",
        32,
        "log(4x·Φ(-x)) + x² / 2, v = (x - 1) / (x + 1), x from 0.75 to 14.375; absolute error",
        target,
        lambda v: mpf(1),
        mpf("-0.25") / mpf("1.75"),
        mpf("13.375") / mpf("15.375"),
        degree,
    )


def _arc_tangent(bits: int, degree: int) -> Fit:
    return Fit(
        f"ATAN_F{bits}",
        bits,
        "(atan(a) / a - 1) / z, z = a², a from 0 to 1; error relative to atan(a)",
        lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)),
        mpf(0),
        mpf(1),
        degree,
    )


def _arc_sine(bits: int, degree: int) -> Fit:
    return Fit(
        f"ASIN_F{bits}",
        bits,
        "(asin(s) / s - 1) / z, z = s², s from 0 to 1/2; error relative to asin(s)",
        lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
        lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)),
        mpf(0),
        mpf("0.25"),
        degree,
    )


FITS = (
    _exponential(32, 4),
    _exponential(64, 9),
    _power_of_two("EXP2_F32", 32, 5),
    _power_of_two("EXP2_F64", 64, 10),
    _logarithm_f32("LOG", mp.e, 8),
    _logarithm_f32("LOG2", mpf(2), 8),
    _logarithm_f32("LOG10", mpf(10), 8),
    _atanh("LOG_F64", 64, 6),
    _power_of_two("POWER_EXP2", 64, 5),
    _atanh("POWER_LOG", 64, 3),
    _log2_rest(8),
    _sine(32, 2),
    _sine(64, 5),
    _cosine(32, 2),
    _cosine(64, 5),
    _erf_near_zero(32, 6),
    _erf_near_zero(64, 13),
    _erf_tail_f32(14),
    _scaled_erfc("ERFC_F64", 64, mpf(1), 2.5, 6.5, 19),
    _normal_near_zero_f32(4),
    _normal_tail_f32(11),
    _scaled_erfc("NORMAL_F64", 64, ROOT2, 5.0, 39.0, 23),
    _normal_near_zero(9),
    _arc_tangent(32, 8),
    _arc_tangent(64, 20),
    _arc_sine(32, 5),
    _arc_sine(64, 12),
)

# endregion


def parts_of(value: mpf, bits: int, *widths: int) -> list[float]:
    """Floats whose sum is `value`: one of each width in bits, then one of the format's."""
    parts: list[float] = []
    for width in widths:
        step = mpf(2) ** (mp.floor(mp.log(abs(value), 2)) - width + 1)
        parts.append(float(mp.nint(value / step) * step))
        value -= parts[-1]
    return [*parts, float(rounded(value, bits))]


CONSTANTS: tuple[tuple[str, int, mpf, tuple[int, ...], str], ...] = (
    ("LN2_F32", 32, LN2, (24,), "ln 2"),
    ("LN2_F64", 64, LN2, (53,), "ln 2"),
    ("LOG10_2_F32", 32, mp.log10(2), (15,), "log10 2; the first times an exponent is exact"),
    ("LOG10_2_F64", 64, mp.log10(2), (42,), "log10 2; the first times an exponent is exact"),
    ("LOG2_E_F32", 32, 1 / LN2, (24,), "log2 e"),
    ("LOG2_E_F64", 64, 1 / LN2, (53,), "log2 e"),
    ("LOG10_E_F32", 32, mp.log10(mp.e), (24,), "log10 e"),
    ("LOG10_E_F64", 64, mp.log10(mp.e), (53,), "log10 e"),
    ("ATANH_1_F64", 64, 2 / LN2, (53,), "2 / ln 2, the first coefficient of log2 in atanh's s"),
    ("ATANH_3_F64", 64, 2 / (3 * LN2), (53,), "the second"),
    ("HALF_PI_F32", 32, PI / 2, (24, 24), "π/2 in three"),
    ("HALF_PI_F64", 64, PI / 2, (53, 53), "π/2 in three"),
)
"""Name, format, value, widths of the parts before the last, in bits, and what it is."""

HEADER = '''"""
Coefficients of the polynomials, lowest degree first. Written by docs/derive_polynomials.py, which says
how; the error beside each is the largest of the polynomial with these rounded coefficients, in exact arithmetic.
"""

from typing import Final
'''


def text() -> str:
    parts = [HEADER]
    for name, bits, value, widths, doc in CONSTANTS:
        parts.append(f'{name}: Final = {tuple(parts_of(value, bits, *widths))!r}\n"""{doc}."""\n')
    for fit in FITS:
        coefficients, error = derive(fit)
        print(f"{fit.name:14} degree {fit.degree:2}  error 2**{float(mp.log(error, 2)):.1f}")
        if fit.shift is not None:
            parts.append(
                f'{fit.name}_SHIFT: Final = {fit.shift!r}\n"""The constant of its variable."""\n'
            )
        numbers = "".join(f"    {float(c)!r},\n" for c in coefficients)
        parts.append(
            f"{fit.name}: Final = (\n{numbers})\n"
            f'"""{fit.doc}; error 2**{float(mp.log(error, 2)):.1f}."""\n'
        )
    return "\n".join(parts)


if __name__ == "__main__":
    written = text()
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if OUTPUT.read_text() == written else f"{OUTPUT} is out of date; run this script"
        )
    OUTPUT.write_text(written)

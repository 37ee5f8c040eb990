"""
The largest errors of the f32 polynomials over all bit patterns, or every n-th of them.

    python benchmarks/math_accuracy.py [--every 1009] [exp tanh …]

Units in the last place of the result rounded from f64, which is exact to 1e-8 units: NumPy's, and for erf and gelu our
own, which tests/unit/test_polynomial_math.py holds to mpmath. All of 2**32 take about two minutes a function (--every 1).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np
from math_speed import NUMPY, compiled
from stepwell.transforms.core.polynomials.functions import FUNCTIONS, GELU, SIGMOID

SIZE = 1 << 20
LANES = 16


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def in_double(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """Our function of SIZE numbers in f64."""
    kernel = compiled(name, "f64", LANES // 2, SIZE, 1)

    def function(x: np.ndarray) -> np.ndarray:
        y = np.empty_like(x)
        kernel(x, y)
        return y

    return function


EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **{name: function for name, function in NUMPY.items() if function is not None},
    "sigmoid": _sigmoid,
}


def patterns(every: int) -> Iterator[np.ndarray]:
    """Every n-th bit pattern as f32, SIZE at a time; the last ones are padded by repetition."""
    for start in range(0, 2**32, SIZE * every):
        numbers = np.arange(start, min(start + SIZE * every, 2**32), every, dtype=np.uint64)
        yield np.resize(numbers.astype(np.uint32), SIZE).view(np.float32)


def units(y: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Errors in units in the last place; infinite where infinities, NaNs or signs of zero differ."""
    wanted = exact.astype(np.float32)
    finite = np.isfinite(wanted)
    unit = np.spacing(np.where(finite, np.abs(wanted), np.float32(1))).astype(np.float64)
    error = np.abs(y.astype(np.float64) - exact) / unit
    same = (y == wanted) & (np.signbit(y) == np.signbit(wanted)) | np.isnan(y) & np.isnan(wanted)
    error[same & ~finite] = 0
    error[~same & ~(finite & np.isfinite(y))] = np.inf
    error[~same & (y == wanted)] = np.inf
    return error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1009)
    parser.add_argument("functions", nargs="*")
    args = parser.parse_args()
    rows = (row for row in (*FUNCTIONS.values(), SIGMOID, GELU))
    table = {row.name: row for row in rows if row.name not in ("atan2", "pow")}
    beyond = 0
    for name in args.functions or table:
        kernel = compiled(name, "f32", LANES, SIZE, 1)
        exact = EXACT[name] if name in EXACT else in_double(name)
        worst, where = 0.0, np.float32(0)
        for x in patterns(args.every):
            y = np.empty_like(x)
            kernel(x, y)
            with np.errstate(all="ignore"):
                errors = units(y, exact(x.astype(np.float64)))
            at = int(np.argmax(errors))
            if errors[at] > worst:
                worst, where = float(errors[at]), x[at]
        beyond += worst > table[name].single
        print(f"{name:8} {worst:.3f} at {where!r} (stated: {table[name].single})", flush=True)
    return beyond


if __name__ == "__main__":
    sys.exit(main())

"""
The largest errors of the f32 polynomials over all bit patterns, or every n-th of them.

    python benchmarks/math_accuracy.py [--every 1009] [exp tanh …]

Units in the last place of the result rounded from f64, NumPy's and C's: those are exact to 1e-8 units. All
of 2**32 take about two minutes a function, erf and gelu an hour (--every 1).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
from math_speed import NUMPY, compiled
from stepwell.transforms.core.polynomials.functions import FUNCTIONS, GELU, SIGMOID

SIZE = 1 << 20
LANES = 16

_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _gelu(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.where(x == -np.inf, 0.0, x * _erfc(-x * 0.5**0.5) / 2), x)


EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **{name: function for name, function in NUMPY.items() if function is not None},
    "sigmoid": _sigmoid,
    "erf": _erf,
    "gelu": _gelu,
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
    table = {row.name: row for row in (*FUNCTIONS.values(), SIGMOID, GELU) if row.name != "pow"}
    beyond = 0
    for name in args.functions or table:
        kernel = compiled(name, "f32", LANES, SIZE, 1)
        worst, where = 0.0, np.float32(0)
        for x in patterns(args.every):
            y = np.empty_like(x)
            kernel(x, y)
            with np.errstate(all="ignore"):
                errors = units(y, EXACT[name](x.astype(np.float64)))
            at = int(np.argmax(errors))
            if errors[at] > worst:
                worst, where = float(errors[at]), x[at]
        beyond += worst > table[name].single
        print(f"{name:8} {worst:.3f} at {where!r} (stated: {table[name].single})", flush=True)
    return beyond


if __name__ == "__main__":
    sys.exit(main())

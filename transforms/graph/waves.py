"""Matrices whose columns are waves: a cosine and a sine of one frequency each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...dialects.graph.fft_stages import complex_length, radices, unit_roots
from ...dialects.interfaces import Array
from ...frozen import frozen

_NEARLY = 1e-2
"""how far from a wave a column may be that is looked at first: more than roundings of what is a thousand times as large"""


@frozen
class Waves:
    """
    A matrix that has in column c the elements
    `cosines[c] · cos(2π · frequencies[c] · j / period) + sines[c] · sin(2π · frequencies[c] · j / period)` for j from 0 on.
    """

    period: int
    frequencies: Array
    """from 0 up to half of the period"""
    cosines: Array
    sines: Array


def waves_of(matrix: Array) -> Waves | None:
    """
    The waves that a matrix of float32 or float64 is; None where it is not.

    It may differ from them by a rounding in its type, and by what a program that computes it in float64 makes of the
    angles: these are up to 2π times the number of rows, and three roundings of such numbers, to which NumPy adds one.
    """
    if not _may_be_waves(matrix):
        return None
    wide = matrix.astype(np.float64)
    scale = float(np.abs(wide).max())
    if not np.isfinite(scale) or scale == 0:
        return None
    rows = len(matrix)
    for period in _periods(rows):
        tolerance = scale * (float(np.finfo(matrix.dtype).eps) + 8 * period * np.finfo(float).eps)
        found = _fitted(wide, period, tolerance)
        if found is not None:
            return found
    return None


def _may_be_waves(matrix: Array) -> bool:
    """
    Whether the largest of three columns is nearly a wave: most matrices, such as weights, are told from waves without
    a look at all of their elements. Others of the columns may be rounding errors, as those of sines of whole turns are.

    The neighbours of each element of a wave add up to as many times that element: cos(a + b) + cos(a - b) = 2 cos(a) cos(b).
    """
    last = matrix.shape[1] - 1
    columns = matrix[:, sorted({0, last // 2, last})].astype(np.float64)
    sizes = np.abs(columns).max(axis=0)
    column, size = columns[:, sizes.argmax()], float(sizes.max())
    inner, sums = column[1:-1], column[2:] + column[:-2]
    squares = float(inner @ inner)
    if not np.isfinite(squares) or squares == 0:
        return True
    return bool(np.abs(sums - (inner @ sums) / squares * inner).max() <= _NEARLY * size)


def _periods(rows: int) -> Iterator[int]:
    """Periods that rows are often a part of: one, half of one, or filled up to a power of two."""
    for period in dict.fromkeys((rows, 2 * rows, 1 << (rows - 1).bit_length())):
        if radices(complex_length(period)) is not None:
            yield period


def _fitted(matrix: Array, period: int, tolerance: float) -> Waves | None:
    """The waves of a period that differ from a matrix by no more than a tolerance."""
    # One column tells most other matrices from these, in less time than all of them.
    if _fit(matrix[:, -1:], period, tolerance) is None:
        return None
    found = _fit(matrix, period, tolerance)
    return None if found is None else _simplified(matrix, found, tolerance)


def _fit(matrix: Array, period: int, tolerance: float) -> Waves | None:
    """As the largest of all frequencies says, or one next to it where rows are a part of the period: by least squares."""
    is_zero = np.abs(matrix).max(axis=0) <= tolerance
    largest = np.abs(np.fft.rfft(matrix, period, axis=0)).argmax(axis=0)
    tried = [
        _least_squares(matrix, np.clip(largest + shift, 0, period // 2), period)
        for shift in ((0,) if period == len(matrix) else (0, -1, 1))
    ]
    best = np.argmin([_errors(matrix, waves) for waves in tried], axis=0)
    frequencies = np.choose(best, [waves.frequencies for waves in tried])
    found = _least_squares(matrix, _continued(frequencies, is_zero, period), period)
    return found if (_errors(matrix, found) <= tolerance).all() else None


def _least_squares(matrix: Array, frequencies: Array, period: int) -> Waves:
    c, s = _basis(len(matrix), frequencies, period)
    pairs = (c, c), (c, s), (s, s), (matrix, c), (matrix, s)
    cc, cs, ss, xc, xs = (np.einsum("jk,jk->k", *pair) for pair in pairs)
    has_sine = (frequencies > 0) & (2 * frequencies < period)
    whole = np.where(has_sine, cc * ss - cs * cs, 1)
    alone: Array = xc / cc
    cosines = np.where(has_sine, (xc * ss - xs * cs) / whole, alone)
    sines = np.where(has_sine, (xs * cc - xc * cs) / whole, 0)
    return Waves(period, frequencies, cosines, sines)


def _basis(rows: int, frequencies: Array, period: int) -> tuple[Array, Array]:
    turns = np.outer(np.arange(rows), frequencies) % period
    cosine, sine = unit_roots(turns, period)
    return cosine, -sine


def _errors(matrix: Array, waves: Waves) -> Array:
    """How far each column is from its wave, where it is farthest."""
    c, s = _basis(len(matrix), waves.frequencies, waves.period)
    return np.abs(c * waves.cosines + s * waves.sines - matrix).max(axis=0)


def _continued(frequencies: Array, is_zero: Array, period: int) -> Array:
    """Of columns of zeros, which are of any frequency, the one that goes on from those next to them."""
    found = frequencies.copy()
    last = len(found) - 1
    for at in np.flatnonzero(is_zero):
        before = found[at - 1] + 1 if at else None
        behind = found[at + 1] - 1 if at < last and not is_zero[at + 1] else None
        # Frequencies go up to half of the period and, in whole matrices, down again.
        wanted = behind if before is None or 2 * before > period else before
        found[at] = 0 if wanted is None else min(max(int(wanted), 0), period // 2)
    return found


def _simplified(matrix: Array, waves: Waves, tolerance: float) -> Waves:
    """The same waves with factors that are one number, or none, where they are within the tolerance of it."""
    is_free = (waves.frequencies == 0) | (2 * waves.frequencies == waves.period)
    cosines = _one_number(waves.cosines, np.zeros_like(is_free), tolerance)
    # Where all sines are 0 their factor may be any.
    sines = _one_number(waves.sines, is_free, tolerance)
    simple = Waves(waves.period, waves.frequencies, cosines, sines)
    return simple if (_errors(matrix, simple) <= 2 * tolerance).all() else waves


def _one_number(factors: Array, is_free: Array, tolerance: float) -> Array:
    factors = np.where(np.abs(factors) <= tolerance, 0, factors)
    chosen = factors[~is_free]
    if not len(chosen) or np.ptp(chosen) > 2 * tolerance:
        return factors
    number = float(np.median(chosen))
    whole = round(number)
    return np.full_like(factors, whole if abs(number - whole) <= tolerance else number)

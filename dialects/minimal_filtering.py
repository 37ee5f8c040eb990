"""
Winograd's minimal filtering algorithms F(m, 3): their matrices, and how much they can enlarge rounding errors.

`m` neighbouring outputs of a filter of three taps are `A^T ((G g) * (B^T d))` for taps `g` and `m + 2` inputs `d`, which
takes `m + 2` multiplications instead of `3 m`; in two dimensions each matrix is applied along both. (Winograd,
"Arithmetic Complexity of Computations", 1980; Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks",
CVPR 2016.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from math import prod
from typing import Protocol, TypeVar

import numpy as np

from ..frozen import frozen
from .interfaces import Array

TAPS = 3

POINTS = (0, 1, -1, 2, -2)
"""Where polynomials are evaluated, beside infinity: small numbers of both signs keep the matrices' elements small."""

TILES = (2, 4)
"""Outputs of a tile along an axis. From six on f32 loses two more digits for little less arithmetic."""

ROUNDINGS = 22
"""
Of an output at most, beside one for each channel: three in each stage of the input's transform, four in each of the
taps' and of the output's; there are two stages of each.
"""

Matrix = tuple[tuple[Fraction, ...], ...]


@frozen
class MinimalFiltering:
    """F(m, 3), by the Toom-Cook construction at the first `m + 1` of `POINTS` and infinity."""

    tile: int
    """m, the outputs of a tile along an axis"""

    @property
    def size(self) -> int:
        """Inputs that a tile sees along an axis, as many as products are taken."""
        return self.tile + TAPS - 1

    @property
    def _points(self) -> tuple[int, ...]:
        return POINTS[: self.size - 1]

    def _scale(self, point: int) -> int:
        return prod(point - other for other in self._points if other != point)

    @cached_property
    def of_input(self) -> Matrix:
        """B^T: for each point the coefficients of the polynomial that is zero at all other points."""
        rows = [
            _monic([other for other in self._points if other != point], abs(scale) // scale)
            for point in self._points
            if (scale := self._scale(point))
        ]
        return (*((*row, Fraction(0)) for row in rows), _monic(self._points, 1))

    @cached_property
    def of_taps(self) -> Matrix:
        """G: the taps, taken as a polynomial, at each point."""
        rows = [
            tuple(Fraction(point**k, abs(self._scale(point))) for k in range(TAPS))
            for point in self._points
        ]
        return (*rows, tuple(Fraction(k == TAPS - 1) for k in range(TAPS)))

    @cached_property
    def of_output(self) -> Matrix:
        """A^T: the powers of each point."""
        return tuple(
            (*(Fraction(point**i) for point in self._points), Fraction(i == self.tile - 1))
            for i in range(self.tile)
        )

    def transformed_taps(self, weights: Array) -> Array:
        """`G g G^T` of the last two axes, rounded once to the dtype of the weights."""
        g = as_array(self.of_taps, np.dtype(np.float64))
        rows = np.tensordot(weights.astype(np.float64), g, (-2, 1))
        return np.tensordot(rows, g, (-2, 1)).astype(weights.dtype)

    @cached_property
    def amplification(self) -> float:
        """
        How many times larger than the sum of |x| |w| the sums may be in which an output is computed in two dimensions.

        docs/winograd.md has the derivation. Pairs of an input and a tap that are as far apart meet in one output of the
        whole convolution; along an axis there are `m + 4` such distances.
        """
        a, g, b = (
            np.abs(as_array(matrix, np.dtype(np.float64)))
            for matrix in (self.of_output, self.of_taps, self.of_input)
        )
        pairs = np.einsum("ip,pk,pj->ijk", a, g, b)
        distances = np.subtract.outer(np.arange(self.size), np.arange(TAPS))
        worst = [pairs[:, distances == distance].max(axis=1) for distance in np.unique(distances)]
        return float(np.sum(worst, axis=0).max() ** 2)


@lru_cache(maxsize=len(TILES))
def minimal_filtering(tile: int) -> MinimalFiltering:
    """F(tile, 3)."""
    return MinimalFiltering(tile)


def _monic(roots: Sequence[int], sign: int) -> tuple[Fraction, ...]:
    """The coefficients, from that of degree 0 on, of the polynomial with these roots, times a sign."""
    found = [Fraction(sign)]
    for root in roots:
        found = [high - root * low for high, low in zip([0, *found], [*found, 0], strict=True)]
    return tuple(map(Fraction, found))


def as_array(matrix: Matrix, dtype: np.dtype) -> Array:
    return np.array([[float(element) for element in row] for row in matrix], dtype)


ValueT = TypeVar("ValueT")


class Arithmetic(Protocol[ValueT]):
    """What computes with values: the builder of a body, or NumPy."""

    def add(self, a: ValueT, b: ValueT) -> ValueT: ...
    def sub(self, a: ValueT, b: ValueT) -> ValueT: ...
    def mul(self, a: ValueT, b: ValueT) -> ValueT: ...
    def constant(self, value: float) -> ValueT: ...


@frozen
class ArrayArithmetic:
    """Arithmetic on arrays of a dtype, element by element."""

    dtype: np.dtype

    def add(self, a: Array, b: Array) -> Array:
        return a + b

    def sub(self, a: Array, b: Array) -> Array:
        return a - b

    def mul(self, a: Array, b: Array) -> Array:
        return a * b

    def constant(self, value: float) -> Array:
        return np.array(value, self.dtype)


def on_both_axes(b: Arithmetic[ValueT], matrix: Matrix, elements: Sequence[ValueT]) -> list[ValueT]:
    """`matrix @ square @ matrix^T`, row by row: the columns first."""
    size = len(matrix[0])
    columns = [multiply(b, matrix, elements[column::size]) for column in range(size)]
    rows = zip(*columns, strict=True)
    return [value for row in rows for value in multiply(b, matrix, row)]


def multiply(b: Arithmetic[ValueT], matrix: Matrix, values: Sequence[ValueT]) -> list[ValueT]:
    """
    The product of a matrix and a vector, written out.

    Points of opposite signs have rows, or columns, that differ in the signs of every other element: their sums and
    differences are computed once.
    """
    columns = tuple(zip(*matrix, strict=True))
    made: list[ValueT] = []
    coefficients: list[tuple[Fraction, ...]] = []
    for at, is_pair in _paired(columns):
        if not is_pair:
            made.append(values[at])
            coefficients.append(columns[at])
            continue
        one, other = columns[at : at + 2]
        made += [b.add(*values[at : at + 2]), b.sub(*values[at : at + 2])]
        coefficients += [_half_sum(one, other, 1), _half_sum(one, other, -1)]
    rows = tuple(zip(*coefficients, strict=True))
    found: list[ValueT] = []
    for at, is_pair in _paired(rows):
        if not is_pair:
            found.append(_weighted(b, rows[at], made))
            continue
        one, other = rows[at : at + 2]
        both = _weighted(b, _half_sum(one, other, 1), made)
        apart = _weighted(b, _half_sum(one, other, -1), made)
        found += [b.add(both, apart), b.sub(both, apart)]
    return found


def _half_sum(
    one: Sequence[Fraction], other: Sequence[Fraction], sign: int
) -> tuple[Fraction, ...]:
    return tuple((x + sign * y) / 2 for x, y in zip(one, other, strict=True))


def _paired(rows: Matrix) -> list[tuple[int, bool]]:
    """Where each row begins that is alone, or with the next one is a pair that differs in signs alone."""
    found: list[tuple[int, bool]] = []
    at = 0
    while at < len(rows):
        one, other = [*rows[at : at + 2], ()][:2]
        magnitudes = [tuple(map(abs, row)) for row in (one, other)]
        is_pair = magnitudes[0] == magnitudes[1] and sum(map(bool, one)) > 1
        found.append((at, is_pair))
        at += 1 + is_pair
    return found


def _weighted(
    b: Arithmetic[ValueT], weights: Sequence[Fraction], values: Sequence[ValueT]
) -> ValueT:
    """The sum of values times weights, of which those of one come first: what follows are multiply-adds."""
    terms = [(w, v) for w, v in zip(weights, values, strict=True) if w]
    terms.sort(key=lambda term: (abs(term[0]) != 1, term[0] < 0))
    (weight, value), *rest = terms
    total = value if weight == 1 else b.mul(value, b.constant(float(weight)))
    for weight, value in rest:
        part = value if abs(weight) == 1 else b.mul(value, b.constant(float(abs(weight))))
        total = b.add(total, part) if weight > 0 else b.sub(total, part)
    return total

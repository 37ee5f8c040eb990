"""
When one tensor's elements lie at regular distances in the memory of another: strided views, both ways round.

A movement (reshape, transpose, slice, broadcast …) defines element x of a tensor as element m(x) of its source, for an
affine map m with divisions. Two questions are answered here:

- `view_through`: where the source lies at given strides, is the address of m(x) linear in x? Then the result is a view.
- `view_behind`: where the result lies at given strides, at which strides must the source lie so that element m(x) of
  it is element x of the result? Then what computes the source can write into the result.

Both compare linear forms over the same atoms: the dimensions, and the quotients by numbers that occur. Remainders
are written with quotients, `e mod n = e - n (e floordiv n)`, so that what a reshape takes apart cancels when it is
put together again. Quotients are taken to be independent of each other, which is safe: a view is then missed, never
wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import gcd, prod

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineExpr,
    AffineMap,
)

from ..dialects.affine_bounds import bounds, box, sum_of_terms, without_divisions
from ..frozen import frozen


@frozen
class Placing:
    """Where the elements of a tensor lie in a buffer: a start and a stride for each axis, in elements."""

    offset: int
    strides: tuple[int, ...]

    @staticmethod
    def contiguous(shape: Sequence[int]) -> Placing:
        """Row-major, from the buffer's start."""
        return Placing(0, row_major(shape))

    def normalized(self, shape: Sequence[int]) -> Placing:
        """The same addresses; an axis of one element has the stride it has in a contiguous buffer."""
        strides: list[int] = []
        for size, stride in zip(reversed(shape), reversed(self.strides), strict=True):
            if size == 1:
                stride = strides[-1] * shape[len(shape) - len(strides)] if strides else 1
            strides.append(stride)
        return Placing(self.offset, tuple(reversed(strides)))

    def is_contiguous(self, shape: Sequence[int]) -> bool:
        """Whether it is row-major from the buffer's start, as an array of its own would be."""
        return 0 in shape or self.normalized(shape) == Placing.contiguous(shape)

    def has_unit_rows(self, shape: Sequence[int]) -> bool:
        """Whether neighbours along the innermost axis that has any are neighbours in memory."""
        pairs = zip(reversed(shape), reversed(self.strides), strict=True)
        return next((stride == 1 for size, stride in pairs if size > 1), True)

    def part(self, low: Sequence[int]) -> Placing:
        """Where the part that starts at the element `low` is."""
        pairs = zip(low, self.strides, strict=True)
        return Placing(self.offset + sum(start * stride for start, stride in pairs), self.strides)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor, in elements."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


@lru_cache(maxsize=1024)
def view_through(map_: AffineMap, extents: tuple[int, ...], source: Placing) -> Placing | None:
    """
    Where element m(x) of a source that lies at `source` is, for x in the box of `extents`; None when it is not
    at regular distances.
    """
    total = _Form({}, source.offset)
    for expr, stride in zip(map_.results, source.strides, strict=True):
        total = total.plus(_form(expr, extents), stride)
    dims = [AffineExpr.dimension(n) for n in range(len(extents))]
    if total.factors.keys() - set(dims):
        return None
    return Placing(total.constant, tuple(total.factors.get(dim, 0) for dim in dims))


@lru_cache(maxsize=1024)
def view_behind(
    map_: AffineMap, extents: tuple[int, ...], result: Placing, source_shape: tuple[int, ...]
) -> Placing | None:
    """
    Where a source of `source_shape` has to lie so that its element m(x) is element x of a result that lies at
    `result`, for x in the box of `extents`; None when no strides do that.

    Elements of the result lie at different addresses. With as many elements on both sides it follows that each of the
    source is read exactly once: the source has a place for all of its elements, and the result lacks none.
    """
    if prod(extents) != prod(source_shape) or 0 in extents:
        return None
    wanted = _Form({}, result.offset)
    for axis, stride in enumerate(result.strides):
        if extents[axis] > 1:
            wanted = wanted.plus(_form(AffineExpr.dimension(axis), extents), stride)
    columns = [_form(expr, extents) for expr in map_.results]
    strides = _solved([column.factors for column in columns], wanted.factors)
    if strides is None:
        return None
    offset = wanted.constant - sum(
        stride * column.constant for stride, column in zip(strides, columns, strict=True)
    )
    return Placing(offset, strides).normalized(source_shape)


@frozen
class _Form:
    """A linear form: factors of dimensions and quotients, and a constant."""

    factors: Mapping[AffineExpr, int]
    constant: int

    def plus(self, other: _Form, factor: int) -> _Form:
        factors = dict(self.factors)
        for atom, by in other.factors.items():
            factors[atom] = factors.get(atom, 0) + factor * by
        kept = {atom: by for atom, by in factors.items() if by}
        return _Form(kept, self.constant + factor * other.constant)

    def expr(self) -> AffineExpr:
        """The form as an expression, the same for equal forms."""
        ordered = sorted(self.factors.items(), key=lambda pair: str(pair[0]))
        terms = [atom * by for atom, by in ordered]
        return reduce(lambda a, b: a + b, terms, AffineExpr.constant(self.constant))


def _form(expr: AffineExpr, extents: Sequence[int]) -> _Form:
    ranges = box(extents)
    total = _Form({}, 0)
    for term, factor in sum_of_terms(without_divisions(expr, ranges, [1] * len(extents))):
        if isinstance(term, AffineConstantExpr):
            total = total.plus(_Form({}, term.value), factor)
        elif isinstance(term, AffineBinaryOpExpr) and isinstance(term.rhs, AffineConstantExpr):
            total = total.plus(_divided(term.kind, term.lhs, term.rhs.value, extents), factor)
        else:
            total = total.plus(_Form({term: 1}, 0), factor)
    return total


def _divided(
    kind: AffineBinaryOpKind, dividend: AffineExpr, divisor: int, extents: Sequence[int]
) -> _Form:
    inner = _form(dividend, extents)
    if kind is AffineBinaryOpKind.Mod:
        return inner.plus(_quotient(inner, divisor, extents), -divisor)
    if kind is AffineBinaryOpKind.CeilDiv:
        return _quotient(inner.plus(_Form({}, divisor - 1), 1), divisor, extents)
    return _quotient(inner, divisor, extents)


def _quotient(form: _Form, divisor: int, extents: Sequence[int]) -> _Form:
    """`form floordiv divisor`: whole multiples leave the quotient, and a quotient's quotient is one."""
    whole = _Form(
        {a: by // divisor for a, by in form.factors.items() if by % divisor == 0},
        form.constant // divisor,
    )
    rest = _Form({a: by for a, by in form.factors.items() if by % divisor}, form.constant % divisor)
    common = gcd(divisor, *rest.factors.values())
    rest = _Form({a: by // common for a, by in rest.factors.items()}, rest.constant // common)
    divisor //= common
    low, high = bounds(rest.expr(), box(extents))
    if low is not None and high is not None and low // divisor == high // divisor:
        return whole.plus(_Form({}, low // divisor), 1)
    atoms = list(rest.factors.items())
    if len(atoms) == 1 and atoms[0][1] == 1 and rest.constant == 0:
        inner = atoms[0][0]
        if (
            isinstance(inner, AffineBinaryOpExpr)
            and inner.kind is AffineBinaryOpKind.FloorDiv
            and isinstance(inner.rhs, AffineConstantExpr)
        ):
            return whole.plus(_Form({inner.lhs // (inner.rhs.value * divisor): 1}, 0), 1)
    return whole.plus(_Form({rest.expr() // divisor: 1}, 0), 1)


def _solved(
    columns: Sequence[Mapping[AffineExpr, int]], wanted: Mapping[AffineExpr, int]
) -> tuple[int, ...] | None:
    """Whole numbers u with `sum u[n] columns[n] = wanted`, by Gauss-Jordan elimination; a free one is 0."""
    atoms = sorted({*wanted, *(atom for column in columns for atom in column)}, key=str)
    rows = [
        [*(Fraction(column.get(atom, 0)) for column in columns), Fraction(wanted.get(atom, 0))]
        for atom in atoms
    ]
    pivots: list[int] = []
    for number in range(len(columns)):
        top = len(pivots)
        found = next((r for r in range(top, len(rows)) if rows[r][number]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        rows[top] = [value / rows[top][number] for value in rows[top]]
        for r, row in enumerate(rows):
            if r != top and row[number]:
                by = row[number]
                rows[r] = [a - by * b for a, b in zip(row, rows[top], strict=True)]
        pivots.append(number)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    solution = [Fraction(0)] * len(columns)
    for row, number in zip(rows, pivots, strict=False):
        solution[number] = row[-1]
    if any(value.denominator != 1 for value in solution):
        return None
    return tuple(int(value) for value in solution)

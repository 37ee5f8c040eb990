"""
Which memory the loops of a nest touch, iteration by iteration: strides, cache lines, footprints.

Estimates that choose between legal orders and sizes; nothing here decides whether one is legal. The cost
of a loop follows Carr, McKinley and Tseng, Compiler optimizations for improving data locality, 1994.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ..dialects import loop
from ..dialects.affine_bounds import linear_form
from ..dialects.dtypes import bit_width
from ..dialects.shaped import Buffer
from ..frozen import frozen

CACHE_LINE = 64
"""Bytes of a cache line on x86-64 and most AArch64 cores."""

_UNKNOWN_EXTENT = 1024
"""What an axis of dynamic size is taken to have."""

Trips = Mapping[loop.ForOp, int]
"""How often each loop of a nest is taken to run."""


@frozen
class Reference:
    """
    Accesses of a nest that move together: of one buffer, with the same coefficients.

    `axes` has, for each axis, how far one iteration of each loop moves; loops that do not move it are
    left out. `offsets` are the constants of the accesses' subscripts.
    """

    buffer: SSAValue
    shape: tuple[int, ...]
    element_bytes: int
    axes: tuple[Mapping[loop.ForOp, int], ...]
    offsets: frozenset[tuple[int, ...]]

    def stride(self, for_op: loop.ForOp) -> int:
        """How many bytes one iteration of the loop moves it."""
        stride, result = self.element_bytes, 0
        for size, axis in zip(reversed(self.shape), reversed(self.axes), strict=True):
            result += axis.get(for_op, 0) * stride
            stride *= size
        return result

    def is_reused_by(self, for_op: loop.ForOp) -> bool:
        """Whether iterations of the loop touch the same elements, at once or one after the other."""
        if self.stride(for_op) == 0:
            return True
        # A[i - 1] and A[i + 1]: apart by iterations of this loop only.
        moved = [n for n, axis in enumerate(self.axes) if for_op in axis]
        first = next(iter(self.offsets))
        return any(
            offset != first
            and all(
                a == b for n, (a, b) in enumerate(zip(offset, first, strict=True)) if n not in moved
            )
            for offset in self.offsets
        )

    def lines(self, for_op: loop.ForOp, trips: Trips) -> float:
        """The cache lines that the loop touches when it is the innermost one."""
        stride = abs(self.stride(for_op))
        if stride == 0:
            return 1.0
        return max(1.0, trips[for_op] * min(1.0, stride / CACHE_LINE))

    def footprint(self, trips: Trips) -> int:
        """The bytes of the cache lines touched when each loop runs as often as `trips` says."""
        extents: list[int] = []
        for n, (size, axis) in enumerate(zip(self.shape, self.axes, strict=True)):
            spread = max(o[n] for o in self.offsets) - min(o[n] for o in self.offsets)
            moved = sum(abs(by) * (trips.get(op, 1) - 1) for op, by in axis.items())
            extents.append(min(size, spread + moved + 1))
        *rows, last = extents or [1]
        row = -(-last * self.element_bytes // CACHE_LINE) * CACHE_LINE
        return prod(rows) * row


def references(nest: loop.ForOp) -> list[Reference]:
    """The references of a loop and of all it contains. Accesses that are not linear are left out."""
    groups: dict[tuple[object, ...], tuple[Reference, set[tuple[int, ...]]]] = {}
    for op in nest.walk():
        if not isinstance(op, loop.LoadOp | loop.StoreOp):
            continue
        subscripts = [_linear(expr, list(op.operands_)) for expr in op.map.data.results]
        known = [subscript for subscript in subscripts if subscript is not None]
        if len(known) != len(subscripts):
            continue
        axes = tuple(_by_offsets(axis) for axis, _ in known)
        key = (op.buffer, *(frozenset(axis.items()) for axis in axes))
        type_ = cast(Buffer, op.buffer.type)
        shape = tuple(_UNKNOWN_EXTENT if n == DYNAMIC_INDEX else n for n in type_.get_shape())
        size = max(bit_width(type_.get_element_type()), 8) // 8
        found = groups.setdefault(
            key, (Reference(op.buffer, shape, size, axes, frozenset()), set())
        )
        found[1].add(tuple(constant for _, constant in known))
    return [
        Reference(r.buffer, r.shape, r.element_bytes, r.axes, frozenset(offsets))
        for r, offsets in groups.values()
    ]


def footprint(refs: Sequence[Reference], trips: Trips) -> int:
    """The bytes that all the references touch when each loop runs as often as `trips` says."""
    return sum(reference.footprint(trips) for reference in refs)


def loop_cost(refs: Sequence[Reference], for_op: loop.ForOp, trips: Trips) -> float:
    """The cache lines touched by the whole nest if the loop were its innermost one."""
    lines = sum(reference.lines(for_op, trips) for reference in refs)
    return lines * prod(trips[other] for other in trips if other is not for_op)


_Coefficients = dict[loop.ForOp, int]


def _linear(expr: AffineExpr, operands: Sequence[SSAValue]) -> tuple[_Coefficients, int] | None:
    """The coefficients of loop variables, and the constant; other values count as nothing."""
    linear = linear_form(expr, len(operands))
    if linear is None:
        return None
    coefficients: _Coefficients = {}
    for factor, value in zip(linear[0], operands, strict=True):
        for_op = _loop_of(value)
        if for_op is not None and factor:
            coefficients[for_op] = coefficients.get(for_op, 0) + factor
    return coefficients, linear[1]


def _by_offsets(coefficients: _Coefficients) -> _Coefficients:
    """
    The same in terms of iterations: a loop that starts at another's variable moves along with it.

    `for i.inner = i.outer to …` makes `A[i.inner]` move by i.outer too.
    """
    result: _Coefficients = {}
    pending = list(coefficients.items())
    while pending:
        for_op, factor = pending.pop()
        result[for_op] = result.get(for_op, 0) + factor * for_op.step.value.data
        start = _linear(for_op.lower_map.data.results[0], list(for_op.lower_operands))
        if start is not None:
            pending += [(outer, factor * by) for outer, by in start[0].items()]
    return {for_op: by for for_op, by in result.items() if by}


def _loop_of(value: SSAValue) -> loop.ForOp | None:
    block = value.owner
    parent = block.parent_op() if not isinstance(block, loop.ForOp) else None
    if isinstance(parent, loop.ForOp) and value is parent.induction_variable:
        return parent
    return None

"""Kernels that only move elements: which box of the result is which part of which operand."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ..dialects import te
from ..dialects.affine_bounds import bounds, linear_form
from ..dialects.shaped import shape_of
from ..dialects.te.text import Number
from ..frozen import frozen

_LESS_THAN = 2
"""The number of `slt` in arith.cmpi."""


@frozen
class Box:
    """Elements of a tensor: from `low` on, so many along each axis."""

    low: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def is_empty(self) -> bool:
        return 0 in self.extents

    def cut(self, axis: int, low: int, high: int) -> Box:
        """The part whose index along the axis is in `range(low, high)`."""
        start = min(max(self.low[axis], low), self.low[axis] + self.extents[axis])
        end = max(start, min(self.low[axis] + self.extents[axis], high))
        lows, extents = list(self.low), list(self.extents)
        lows[axis], extents[axis] = start, end - start
        return Box(tuple(lows), tuple(extents))


@frozen
class Piece:
    """A box of the result that is moved from one operand; `map` takes an element counted from the box's start."""

    box: Box
    source: SSAValue
    map: AffineMap


@frozen
class Movement:
    """A kernel without arithmetic: pieces of its operands, and boxes that are `pad` everywhere."""

    kernel: te.KernelOp
    pieces: tuple[Piece, ...]
    borders: tuple[Box, ...] = ()
    pad: Number | None = None

    @property
    def result(self) -> SSAValue:
        return self.kernel.outputs[0]

    @property
    def is_whole(self) -> bool:
        """Whether it is one piece of one operand."""
        return len(self.pieces) == 1 and not self.borders


def movement_of(kernel: te.KernelOp) -> Movement | None:
    """The kernel as a movement; None when it computes, or moves elements in another way than by boxes."""
    computes = [op for op in kernel.body.block.ops if isinstance(op, te.ComputeOp)]
    if len(computes) != 1 or len(kernel.outputs) != 1 or kernel.inline is not None:
        return None
    (compute,) = computes
    if compute.combining is not None or kernel.yielded != (compute.result,):
        return None
    if compute.dynamic_extents or any(read.map is None for read in compute.reads):
        return None
    outside: dict[SSAValue, SSAValue] = dict(
        zip(kernel.body.block.args, kernel.inputs, strict=True)
    )
    if any(read.source not in outside for read in compute.reads):
        return None
    whole = Box((0,) * len(compute.extents), compute.static_extents)
    chosen = _chosen(compute, compute.yielded[0], whole)
    if chosen is None:
        return None
    pieces: list[Piece] = []
    borders: list[Box] = []
    pads: set[Number] = set()
    for where, number in chosen:
        read = compute.reads[number]
        inside = _inside(read, where)
        if inside is None:
            return None
        if not inside.is_empty:
            assert read.map is not None
            pieces.append(Piece(inside, outside[read.source], _from(read.map, inside.low)))
        around = _around(where, inside)
        borders += around
        if around:
            assert read.pad is not None
            pads.add(read.pad)
    if len(pads) > 1 or not pieces:
        return None
    return Movement(kernel, tuple(pieces), tuple(borders), next(iter(pads), None))


def _chosen(compute: te.ComputeOp, value: SSAValue, where: Box) -> list[tuple[Box, int]] | None:
    """For each part of a box the number of the read that gives the value there; None when it is computed."""
    if where.is_empty:
        return []
    if value in compute.read_args:
        return [(where, compute.read_args.index(value))]
    op = value.owner
    if not isinstance(op, arith.SelectOp):
        return None
    condition = op.cond.owner
    if not isinstance(condition, arith.CmpiOp) or condition.predicate.value.data != _LESS_THAN:
        return None
    limit = condition.rhs.owner
    if condition.lhs not in compute.iterator_args or not isinstance(limit, arith.ConstantOp):
        return None
    if not isinstance(limit.value, IntegerAttr):
        return None
    axis, at = compute.iterator_args.index(condition.lhs), limit.value.value.data
    end = where.low[axis] + where.extents[axis]
    below = _chosen(compute, op.lhs, where.cut(axis, where.low[axis], at))
    above = _chosen(compute, op.rhs, where.cut(axis, at, end))
    return None if below is None or above is None else [*below, *above]


def _inside(read: te.Read, where: Box) -> Box | None:
    """The part of a box where the read is inside of its tensor; None when that is no box."""
    assert read.map is not None
    if read.pad is None:
        return where
    for expr, size in zip(read.map.results, shape_of(read.source), strict=True):
        ranges = [
            (low, low + extent - 1) for low, extent in zip(where.low, where.extents, strict=True)
        ]
        low, high = bounds(expr, ranges)
        if low is not None and high is not None and low >= 0 and high < size:
            continue
        linear = linear_form(expr, len(where.extents))
        if linear is None or sorted(linear[0])[:-1] != [0] * (len(linear[0]) - 1):
            return None
        if max(linear[0], default=0) != 1:
            return None
        where = where.cut(linear[0].index(1), -linear[1], size - linear[1])
    return where


def _around(whole: Box, inner: Box) -> list[Box]:
    """The boxes, none overlapping another, that with `inner` make up the whole."""
    if inner.is_empty:
        return [whole]
    found: list[Box] = []
    left = whole
    for axis in range(len(whole.extents)):
        start, end = inner.low[axis], inner.low[axis] + inner.extents[axis]
        last = left.low[axis] + left.extents[axis]
        found += [left.cut(axis, left.low[axis], start), left.cut(axis, end, last)]
        left = left.cut(axis, start, end)
    return [part for part in found if not part.is_empty]


def _from(map_: AffineMap, low: Sequence[int]) -> AffineMap:
    """The map for indices counted from `low`."""
    shifted = [AffineExpr.dimension(n) + start for n, start in enumerate(low)]
    return AffineMap(
        map_.num_dims,
        0,
        tuple(expr.replace_dims_and_symbols(shifted, []) for expr in map_.results),
    )

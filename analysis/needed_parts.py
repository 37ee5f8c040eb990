"""
What part of each state of a loop is needed, step by step.

The last row of a triangle of numbers is needed whole, the row before without its last element, and so on, where all
that is used of the last state is its first element. Parts are boxes, computed from the last step to the first: from what
is used of the last states, through what each kernel reads for what is needed of its results. The parts only grow on
that way; where a bound grows by about as much from step to step it is known as a linear function of the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ..dialects import te
from ..dialects.affine_bounds import linear_form
from ..dialects.shaped import is_tensor, shape_of
from ..frozen import frozen
from .operations import may_trap, used_from_above

Box = tuple[tuple[int, int], ...]
"""From where and up to where elements are needed, along each axis."""

STEPS = 1 << 13
"""As many steps are looked at; the parts of a longer loop must have stopped growing by then."""

LEAST_SAVED = 0.1
"""The share of a kernel's elements that must be superfluous: less than that is lost to bounds that are computed."""


@frozen
class NeededParts:
    """
    What is needed of the results of a kernel in a loop's body: for each a map from the number of the step to the least
    and the greatest index along the first axis, the second and so on. It may leave the tensor.
    """

    kernel: te.KernelOp
    maps: tuple[AffineMap, ...]
    saved: float
    """the share of the elements that are not needed, over all steps"""


def needed_parts(scan: te.ScanOp) -> list[NeededParts]:
    """The kernels of a loop's body of whose results less is needed than all."""
    steps = scan.steps.value.data
    kernels = [op for op in scan.body.block.ops if isinstance(op, te.KernelOp) and _is_total(op)]
    last = tuple(_used_outside(value) for value in scan.last)
    values = [*scan.body.block.args, *(v for k in kernels for v in k.outputs)]
    if steps < 2 or not kernels or not all(_is_static(value) for value in values):
        return []
    if all(part == _whole(value) for part, value in zip(last, scan.last, strict=True)):
        return []
    history = _history(scan, last)
    if history is None:
        return []
    found = (_described(kernel, history, steps) for kernel in kernels)
    return [parts for parts in found if parts is not None]


def _history(scan: te.ScanOp, last: tuple[Box | None, ...]) -> list[Mapping[SSAValue, Box]] | None:
    """What is needed of the values in a loop's body, from the last step back; None where there is no end to the changes."""
    block, states, steps = scan.body.block, last, scan.steps.value.data
    flow, yielded = _flow_of_block(block), scan.yielded(block)
    stacked = {value: _whole(value) for value in yielded[len(states) :]}
    history: list[Mapping[SSAValue, Box]] = []
    while len(history) < min(steps, STEPS):
        demanded = dict(stacked)
        for value, part in zip(yielded, states, strict=False):
            _demand(demanded, value, part)
        flow.follow(demanded)
        history.append(demanded)
        before = tuple(
            _joined(part, demanded.get(arg)) for part, arg in zip(states, block.args, strict=False)
        )
        if before == states:
            return history
        states = before
    return history if len(history) == steps else None


def _demand(demanded: dict[SSAValue, Box], value: SSAValue, part: Box | None) -> None:
    joined = _joined(demanded.get(value), part)
    if joined is not None:
        demanded[value] = joined


@frozen
class _Axis:
    """Which indices of an axis are read: a linear function of iterators, `terms` as iterator and factor, or all of them."""

    extent: int
    terms: tuple[tuple[int, int], ...] | None = None
    constant: int = 0

    def read(self, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
        if self.terms is None:
            return 0, self.extent
        low = high = self.constant
        for iterator, factor in self.terms:
            first, last = ranges[iterator][0], ranges[iterator][1] - 1
            low += factor * (first if factor > 0 else last)
            high += factor * (last if factor > 0 else first)
        return max(low, 0), min(high + 1, self.extent)


@frozen
class _Move:
    """What is read for the parts of some values that are needed: for each source its axes."""

    results: tuple[SSAValue, ...]
    reduced: Box
    reads: tuple[tuple[SSAValue, tuple[_Axis, ...]], ...]

    def follow(self, demanded: dict[SSAValue, Box]) -> None:
        part: Box | None = None
        for value in self.results:
            part = _joined(part, demanded.get(value))
        if part is None:
            return
        ranges = (*part, *self.reduced)
        for source, axes in self.reads:
            box = tuple(axis.read(ranges) for axis in axes)
            if all(low < high for low, high in box):
                _demand(demanded, source, box)


@dataclass
class _Flow:
    """How needs go back through operations: what is needed whole in any case, and the moves, last ones first."""

    always: dict[SSAValue, Box] = field(default_factory=dict[SSAValue, Box])
    moves: list[_Move] = field(default_factory=list[_Move])

    def follow(self, demanded: dict[SSAValue, Box]) -> None:
        for value, part in self.always.items():
            _demand(demanded, value, part)
        for move in self.moves:
            move.follow(demanded)

    def add_opaque(self, op: Operation) -> None:
        """An operation that is not looked into needs all of what it takes."""
        for value in _taken(op):
            if is_tensor(value) and DYNAMIC_INDEX not in shape_of(value):
                self.always[value] = _whole(value)

    def add_copy(self, result: SSAValue, source: SSAValue) -> None:
        """A value that is called otherwise outside of a kernel."""
        if is_tensor(source):
            axes = (_Axis(extent, ((n, 1),)) for n, extent in enumerate(shape_of(source)))
            self.moves.append(_Move((result,), (), ((source, tuple(axes)),)))

    def add_kernel(self, op: te.KernelOp) -> None:
        for result, value in zip(op.outputs, op.yielded, strict=True):
            self.add_copy(result, value)
        for inner in reversed([*op.body.block.ops]):
            if isinstance(inner, te.ComputeOp):
                self.moves.append(_move(inner))
            elif not isinstance(inner, te.YieldOp):
                self.add_opaque(inner)
        for arg, value in zip(op.body.block.args, op.inputs, strict=True):
            self.add_copy(arg, value)


def _flow_of_block(block: Block) -> _Flow:
    flow = _Flow()
    for op in reversed([*block.ops]):
        if isinstance(op, te.KernelOp) and _is_total(op):
            flow.add_kernel(op)
        elif not isinstance(op, te.YieldOp):
            flow.add_opaque(op)
    return flow


def _taken(op: Operation) -> Iterator[SSAValue]:
    yield from op.operands
    for region in op.regions:
        yield from used_from_above(region)


def _move(op: te.ComputeOp) -> _Move:
    count = len(op.static_extents)
    reduced = tuple((0, extent) for extent in op.static_extents[op.num_parallel.value.data :])
    reads: list[tuple[SSAValue, tuple[_Axis, ...]]] = []
    for read in op.reads:
        extents = shape_of(read.source)
        exprs = [None] * len(extents) if read.map is None else read.map.results
        axes = (_axis(expr, count, extent) for expr, extent in zip(exprs, extents, strict=True))
        reads.append((read.source, tuple(axes)))
    return _Move(tuple(op.outputs), reduced, tuple(reads))


def _axis(expr: AffineExpr | None, count: int, extent: int) -> _Axis:
    linear = None if expr is None else linear_form(expr, count)
    if linear is None:
        return _Axis(extent)
    terms = tuple((n, factor) for n, factor in enumerate(linear[0]) if factor)
    return _Axis(extent, terms, linear[1])


def _used_outside(value: SSAValue) -> Box | None:
    """What is used of the last state of a loop."""
    part: Box | None = None
    for use in value.uses:
        op = use.operation
        if not isinstance(op, te.KernelOp):
            return _whole(value)
        flow = _Flow()
        flow.add_kernel(op)
        demanded: dict[SSAValue, Box] = {
            result: _whole(result) for result in op.outputs if _is_static(result)
        }
        if len(demanded) < len(op.outputs):
            return _whole(value)
        flow.follow(demanded)
        part = _joined(part, demanded.get(op.body.block.args[use.index]))
    return part


def _joined(a: Box | None, b: Box | None) -> Box | None:
    """The least box around two."""
    if a is None or b is None:
        return b if a is None else a
    return tuple((min(x[0], y[0]), max(x[1], y[1])) for x, y in zip(a, b, strict=True))


def _whole(value: SSAValue) -> Box:
    return tuple((0, extent) for extent in shape_of(value))


def _is_static(value: SSAValue) -> bool:
    return is_tensor(value) and DYNAMIC_INDEX not in shape_of(value)


def _is_total(kernel: te.KernelOp) -> bool:
    """
    Whether a kernel may compute with elements that no kernel has written, where its results are not needed: no division
    by zero stops it, and no index leads out of a tensor.
    """
    return all(
        isinstance(op, te.ComputeOp | te.YieldOp | arith.ConstantOp) and _has_total_body(op)
        for op in kernel.body.block.ops
    )


def _has_total_body(op: Operation) -> bool:
    if not isinstance(op, te.ComputeOp):
        return True
    return DYNAMIC_INDEX not in op.static_extents and not any(
        may_trap(inner) or isinstance(inner, tensor.ExtractOp) or inner.regions
        for inner in op.body.block.ops
    )


def _described(
    kernel: te.KernelOp, history: Sequence[Mapping[SSAValue, Box]], steps: int
) -> NeededParts | None:
    """The parts as linear functions of the step, where they leave enough out."""
    maps: list[AffineMap] = []
    saved: list[float] = []
    for value in kernel.outputs:
        parts = [step[value] for step in history if value in step]
        if not parts:
            return None
        exprs, kept = _bounds_over_steps(parts, _whole(value), len(history) - len(parts), steps)
        maps.append(AffineMap(1, 0, tuple(exprs)))
        saved.append(1 - kept)
    if min(saved) < LEAST_SAVED:
        return None
    return NeededParts(kernel, tuple(maps), min(saved))


def _bounds_over_steps(
    parts: Sequence[Box], whole: Box, none: int, steps: int
) -> tuple[list[AffineExpr], float]:
    """
    The least and the greatest index along each axis, for parts from the last step back of which the first `none` are
    empty and what follows the last is as that; and the share of the elements that this keeps.
    """
    exprs: list[AffineExpr] = []
    lines: list[tuple[int, int, int, int]] = []
    for axis in range(len(whole)):
        low, high = parts[0][axis][0], parts[0][axis][1] - 1
        down = up = 0
        for back, part in enumerate(parts[1:], none + 1):
            down = max(down, -(-(low - part[axis][0]) // back))
            up = max(up, -(-(part[axis][1] - 1 - high) // back))
        back_ = AffineExpr.dimension(0) * -1 + (steps - 1)
        exprs.append(back_ * -down + low if down else AffineExpr.constant(low))
        exprs.append(back_ * up + high if up else AffineExpr.constant(high))
        lines.append((low, down, high, up))
    return exprs, _share(lines, [extent for _, extent in whole], steps)


def _share(lines: Sequence[tuple[int, int, int, int]], extents: Sequence[int], steps: int) -> float:
    """
    The share of the elements that is between bounds, over all steps. For each axis the least and the greatest index at the
    last step, and by how much each grows from step to step back: after as many steps as elements it is at the end.
    """
    growing = [e for (_, down, _, up), e in zip(lines, extents, strict=True) if down or up]
    last_growth = min(steps - 1, max(growing, default=0))
    kept = share = 0.0
    for back in range(last_growth + 1):
        share = 1.0
        for (low, down, high, up), extent in zip(lines, extents, strict=True):
            first, last = max(0, low - down * back), min(extent - 1, high + up * back)
            share *= (last + 1 - first) / extent
        kept += share
    return (kept + share * (steps - 1 - last_growth)) / steps

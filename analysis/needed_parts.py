"""
What part of each state of a loop is needed, step by step.

The last row of a triangle of numbers is needed whole, the row before without its last element, and so on, where all
that is used of the last state is its first element. Parts are boxes, computed from the last step to the first: from what
is used of the last states, through what each kernel reads for what is needed of its results. The parts only grow on
that way; where a bound grows by about as much from step to step it is known as a linear function of the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ..dialects import te
from ..dialects.affine_bounds import bounds
from ..dialects.shaped import is_tensor, shape_of
from .operations import used_from_above

Box = tuple[tuple[int, int], ...]
"""From where and up to where elements are needed, along each axis."""

STEPS = 1024
"""As many steps are looked at; the parts of a longer loop must have stopped growing by then."""

LEAST_SAVED = 0.1
"""The share of a kernel's elements that must be superfluous: less than that is lost to bounds that are computed."""

_MAY_TRAP = (
    arith.DivSIOp,
    arith.DivUIOp,
    arith.FloorDivSIOp,
    arith.CeilDivSIOp,
    arith.CeilDivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
)


@dataclass(frozen=True)
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
    history = _history(scan, kernels, last)
    if history is None:
        return []
    found = (_described(kernel, [step[kernel] for step in history], steps) for kernel in kernels)
    return [parts for parts in found if parts is not None]


def _history(
    scan: te.ScanOp, kernels: Sequence[te.KernelOp], last: tuple[Box | None, ...]
) -> list[Mapping[te.KernelOp, tuple[Box | None, ...]]] | None:
    """What is needed of the kernels' results, from the last step back; None where there is no end to the changes."""
    states, steps = last, scan.steps.value.data
    history: list[Mapping[te.KernelOp, tuple[Box | None, ...]]] = []
    while len(history) < min(steps, STEPS):
        demanded = _demanded(scan, states)
        history.append({k: tuple(demanded.get(value) for value in k.outputs) for k in kernels})
        entering = scan.body.block.args[: len(states)]
        before = tuple(
            _joined(part, demanded.get(arg)) for part, arg in zip(states, entering, strict=True)
        )
        if before == states:
            return history
        states = before
    return history if len(history) == steps else None


def _demanded(scan: te.ScanOp, states: Sequence[Box | None]) -> dict[SSAValue, Box]:
    """What is needed in a step of the values in its body, for these parts of the states that it yields."""
    block = scan.body.block
    terminator = block.last_op
    assert isinstance(terminator, te.YieldOp)
    demanded: dict[SSAValue, Box] = {}
    for number, value in enumerate(terminator.values):
        _demand(demanded, value, states[number] if number < len(states) else _whole(value))
    for op in reversed([*block.ops]):
        if op is terminator:
            continue
        if isinstance(op, te.KernelOp) and _is_total(op):
            parts = [demanded.get(value) for value in op.outputs]
            for value, part in zip(op.inputs, _read_by_kernel(op, parts), strict=True):
                _demand(demanded, value, part)
        else:
            _demand_operands(demanded, op)
    return demanded


def _demand(demanded: dict[SSAValue, Box], value: SSAValue, part: Box | None) -> None:
    joined = _joined(demanded.get(value), part)
    if joined is not None:
        demanded[value] = joined


def _demand_operands(demanded: dict[SSAValue, Box], op: Operation) -> None:
    """An operation that is not looked into needs all of what it takes."""
    for value in _taken(op):
        if is_tensor(value):
            _demand(demanded, value, _whole(value))


def _taken(op: Operation) -> Iterator[SSAValue]:
    yield from op.operands
    for region in op.regions:
        yield from used_from_above(region)


def _read_by_kernel(op: te.KernelOp, parts: Sequence[Box | None]) -> list[Box | None]:
    """What a kernel reads of its operands for parts of its results."""
    demanded: dict[SSAValue, Box] = {}
    for value, part in zip(op.yielded, parts, strict=True):
        _demand(demanded, value, part)
    for inner in reversed([*op.body.block.ops]):
        if isinstance(inner, te.ComputeOp):
            _demand_reads(demanded, inner)
        elif not isinstance(inner, te.YieldOp):
            _demand_operands(demanded, inner)
    return [demanded.get(arg) for arg in op.body.block.args]


def _demand_reads(demanded: dict[SSAValue, Box], op: te.ComputeOp) -> None:
    part: Box | None = None
    for value in op.outputs:
        part = _joined(part, demanded.get(value))
    if part is None:
        return
    reduced = op.static_extents[len(part) :]
    ranges = [(low, high - 1) for low, high in (*part, *((0, extent) for extent in reduced))]
    for read in op.reads:
        if read.map is None:
            _demand(demanded, read.source, _whole(read.source))
            continue
        axes: list[tuple[int, int]] = []
        for expr, extent in zip(read.map.results, shape_of(read.source), strict=True):
            low, high = bounds(expr, ranges)
            axes.append((max(0, low or 0), extent if high is None else min(extent, high + 1)))
        if all(low < high for low, high in axes):
            _demand(demanded, read.source, tuple(axes))


def _used_outside(value: SSAValue) -> Box | None:
    """What is used of the last state of a loop."""
    part: Box | None = None
    for use in value.uses:
        op = use.operation
        if isinstance(op, te.KernelOp):
            read = _read_by_kernel(op, [_whole(result) for result in op.outputs])
            part = _joined(part, read[use.index])
        else:
            part = _whole(value)
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
        isinstance(inner, (*_MAY_TRAP, tensor.ExtractOp)) or inner.regions
        for inner in op.body.block.ops
    )


def _described(
    kernel: te.KernelOp, history: Sequence[tuple[Box | None, ...]], steps: int
) -> NeededParts | None:
    """The parts as linear functions of the step, where they leave enough out."""
    maps: list[AffineMap] = []
    saved: list[float] = []
    for number, value in enumerate(kernel.outputs):
        parts = [boxes for step in history if (boxes := step[number]) is not None]
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
    kept = 0.0
    for back in range(steps):
        share = 1.0
        for (low, down, high, up), (_, extent) in zip(lines, whole, strict=True):
            first, last = max(0, low - down * back), min(extent - 1, high + up * back)
            share *= (last + 1 - first) / extent
        kept += share / steps
    return exprs, kept

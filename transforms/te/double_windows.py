"""Extremes of moving windows from those of windows of half the width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.levels import Level
from ...analysis.moving_extremes import MovingExtreme, find_moving_extreme
from ...analysis.operations import operations_of_kind
from ...dialects import loop, te
from ...dialects.dtypes import bit_width
from ...dialects.loop import LoopKind
from ...dialects.shaped import tensor_type
from ...dialects.te.loop_builder import LoopBuilder
from ...dialects.te.loops import buffer_of
from ...dialects.te.text import axis_names
from ...frozen import frozen
from ...targets.target import Target
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from ..unused import erase_unused_in
from .replace_kernel import replace_kernel

COLUMNS = 4
"""Vectors behind the axis of a window that are done together: more of them leave less of the buffers to the axis."""

BUFFERS = 8
"""Each step's buffer is an eighth of the first cache, through which the source and the result go as well."""


@frozen
class TeDoubleWindowsPass(StepwellPass):
    """
    Compute wide moving maxima and minima in steps, each of two windows of the step before.

    Before: `y[i] = max(x[i], x[i + 1], …, x[i + 7])`. After, for a block of places at a time, in buffers that stay in
    cache: `a[i] = max(x[i], x[i + 1]); b[i] = max(a[i], a[i + 2]); y[i] = max(b[i], b[i + 4])`. Exact: an extreme of
    numbers, zeros and NaN is the same in whatever order they are joined, and however often.
    """

    name = "te-double-windows"
    level_in = Level.TE
    level_out = Level.TE

    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in operations_of_kind(op, te.KernelOp):
            while kernel is not None and not kernel.destinations:
                found = find_moving_extreme(kernel)
                if found is None:
                    break
                name, width = kernel.kernel_name.data, found.width
                remark(kernel, f"'{name}': a window of {width} is made of windows half as wide")
                kernel = _rewrite(kernel, found, Target.of(self.target))


def _rewrite(kernel: te.KernelOp, found: MovingExtreme, target: Target) -> te.KernelOp | None:
    """Compute the extreme by a kernel of its own before this one; what is left of this one."""
    passed = kernel.inputs[found.source.index]
    moving = _kernel(kernel.kernel_name.data, passed, found, target)
    moving.location = kernel.location
    Rewriter.insert_op(moving, InsertPoint.before(kernel))
    moved = moving.outputs[0]
    moved.name_hint = found.compute.result.name_hint
    if _is_all(kernel, found):
        Rewriter.replace_op(kernel, [], [moved])
        return None
    return _reading(kernel, found, moved)


def _is_all(kernel: te.KernelOp, found: MovingExtreme) -> bool:
    """Whether the kernel computes the extreme and nothing else."""
    computed = found.compute.yielded == (found.root.result,) and not found.others
    return computed and kernel.yielded == (found.compute.result,) and len(kernel.outputs) == 1


def _reading(kernel: te.KernelOp, found: MovingExtreme, moved: SSAValue) -> te.KernelOp:
    """The kernel with the extreme as an operand, and without those that only the extreme needed."""
    block = kernel.body.block
    arg = block.insert_arg(moved.type, len(block.args))
    arg.name_hint = moved.name_hint
    _read_moved(found, arg)
    inputs = [*kernel.inputs, moved]
    for number in reversed(range(len(inputs))):
        if not block.args[number].uses:
            block.erase_arg(block.args[number])
            del inputs[number]
    return replace_kernel(kernel, inputs, kernel.detach_region(kernel.body))


def _read_moved(found: MovingExtreme, moved: SSAValue) -> None:
    """Let the compute read the extreme, and no longer what only the extreme needed."""
    compute, root, body = found.compute, found.root, found.compute.body.block
    element = body.insert_arg(root.result.type, len(body.args))
    value: SSAValue = element
    builder = Builder(InsertPoint.before(root))
    for other in found.others:
        value = builder.insert(type(root)(value, other)).result
    root.result.replace_all_uses_with(value)
    erase_unused_in(body)
    first = len(compute.static_extents)
    needed = [n for n in range(len(compute.reads)) if body.args[first + n].uses]
    reads = [compute.reads[n] for n in needed]
    for number in reversed(range(len(compute.reads))):
        if number not in needed:
            body.erase_arg(body.args[first + number])
    identity = AffineMap.identity(len(compute.parallel))
    new = te.ComputeOp(
        compute.parallel,
        [*reads, te.Read(moved, identity)],
        [tensor_type(value) for value in compute.outputs],
        compute.detach_region(compute.body),
    )
    new.attributes |= compute.attributes
    new.location = compute.location
    for before, after in zip(compute.outputs, new.outputs, strict=True):
        after.name_hint = before.name_hint
    Rewriter.replace_op(compute, new)


# The kernel that computes the extreme.


def _kernel(name: str, passed: SSAValue, found: MovingExtreme, target: Target) -> te.KernelOp:
    """A kernel of loops over blocks of places."""
    extents = tuple(found.compute.static_extents)
    type_ = TensorType(tensor_type(passed).get_element_type(), extents)
    inside = Block(arg_types=[buffer_of(tensor_type(passed)), buffer_of(type_)])
    inside.args[0].name_hint, inside.args[1].name_hint = "a", name
    writer = LoopBuilder(Builder(InsertPoint.at_end(inside)))
    source, result = inside.args
    _Writer(writer, found, source, result, extents, target).write()
    inside.add_op(te.YieldOp())
    block = Block(arg_types=[passed.type])
    block.args[0].name_hint = passed.name_hint
    loops = te.LoopsOp(name, [block.args[0]], [], [type_], Region(inside))
    block.add_ops([loops, te.YieldOp(loops.outputs[0])])
    return te.KernelOp(name, [passed], [type_], Region(block))


@dataclass
class _Writer:
    """Writes the loops over blocks of places, and those that make the windows of a block."""

    w: LoopBuilder
    found: MovingExtreme
    source: SSAValue
    result: SSAValue
    extents: Sequence[int]
    target: Target

    def write(self) -> None:
        axis, names = self.found.axis, axis_names(len(self.extents))
        element = tensor_type(self.found.source).get_element_type()
        bytes_ = max(bit_width(element) // 8, 1)
        last, width = len(self.extents) - 1, self.found.width
        columns = min(COLUMNS * self.target.lanes(bytes_), self.extents[last])
        columns = 1 if axis == last else columns
        # Of fewer places than the width most windows would be made for two blocks.
        places = self.target.cache(1).bytes // BUFFERS // bytes_ // columns
        rows = max(places - width + 1, 2 * width)
        sizes = [1] * len(self.extents)
        sizes[last], sizes[axis] = columns, min(rows, self.extents[axis])
        self._blocks(names, sizes, 0, [], [])

    def _blocks(
        self,
        names: Sequence[str],
        sizes: Sequence[int],
        axis: int,
        starts: list[tuple[AffineExpr, SSAValue | None]],
        extents: list[int],
    ) -> None:
        """Loops over the blocks along this axis and those behind it; a last, smaller block is written by itself."""
        if axis == len(sizes):
            self._block(starts, extents)
            return
        size, extent = sizes[axis], self.extents[axis]
        count = extent // size
        position = AffineExpr.dimension(len([v for _, v in starts if v is not None]))
        if count:
            with self.w.loop(f"{names[axis]}.block", 0, count, LoopKind.PARALLEL) as number:
                inner = [*starts, (position * size, number)]
                self._blocks(names, sizes, axis + 1, inner, [*extents, size])
        if extent % size:
            inner = [*starts, (AffineExpr.constant(count * size), None)]
            self._blocks(names, sizes, axis + 1, inner, [*extents, extent % size])

    def _block(
        self, starts: Sequence[tuple[AffineExpr, SSAValue | None]], extents: Sequence[int]
    ) -> None:
        """Make the windows of a block: those of two elements from the source, the last ones in the result."""
        axis, width = self.found.axis, self.found.width
        blocks = [value for _, value in starts if value is not None]
        origin = [start for start, _ in starts]
        first = [at + by for at, by in zip(origin, self.found.start, strict=True)]
        smaller, element = _Part(self.source, first), tensor_type(self.found.source).element_type
        for shift, made in self.found.shifts:
            lengths = [*extents]
            lengths[axis] += width - made
            larger = _Part(self.result, origin)
            if made < width:
                buffer = self.w.scratch(element, lengths, f"of_{made}")
                larger = _Part(buffer, [AffineExpr.constant(0)] * len(lengths))
            # Names of loops are different, for schedules: what is in no loop over blocks is the rest.
            rest = "".join(".rest" for _, block in starts if block is None)
            names = [f"{name}.of_{made}{rest}" for name in axis_names(len(lengths))]
            with self.w.loops(lengths, names, LoopKind.PARALLEL) as places:
                operands, insert = [*blocks, *places], self.w.builder.insert
                here = [AffineExpr.dimension(len(blocks) + n) for n in range(len(places))]
                there = [place + shift if n == axis else place for n, place in enumerate(here)]
                one, other = (
                    insert(loop.LoadOp(smaller.buffer, smaller.at(place, operands), operands))
                    for place in (here, there)
                )
                joined = insert(type(self.found.root)(one.result, other.result)).result
                insert(loop.StoreOp(joined, larger.buffer, larger.at(here, operands), operands))
            smaller = larger


@frozen
class _Part:
    """Where the windows of a block are: in a buffer, from a place on."""

    buffer: SSAValue
    start: Sequence[AffineExpr]

    def at(self, place: Sequence[AffineExpr], operands: Sequence[SSAValue]) -> AffineMap:
        exprs = (start + by for start, by in zip(self.start, place, strict=True))
        return AffineMap(len(operands), 0, tuple(exprs))

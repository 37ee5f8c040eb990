"""Operands of loops that are computed in the loops, instead of being stored by a kernel of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    MemRefType,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from ...analysis.cost import is_data_movement
from ...analysis.fusion.blocks_of_steps import steps_of_block
from ...analysis.fusion.loop_operands import WAITING, ComputedOperand, plan_operand
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import loop, te
from ...dialects.shaped import Tensor, tensor_type
from ...dialects.te.index_maps import dims, reshape_indices
from ...dialects.te.text import axis_names
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .elements import ElementWriter
from .merge_loops import CarriedLoops
from .replace_kernel import replace_kernel


class TeComputeInLoopsPass(StepwellPass):
    """
    Compute what the loops of a kernel read inside of that kernel, where another one would only store it for them.

    Before: a kernel stores `p[i] = f(x[i])`, and one of loops reads `p[i]` at each step.
    After: the loops compute `f(x[i])`, at each step where that is cheap. Otherwise they compute a block of elements ahead,
    in a loop of its own, before the steps that read the block: no step of that waits for another.
    """

    name = "te-compute-in-loops"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in operations_of_kind(op, te.KernelOp):
            if (loops := _only_loops(kernel)) is not None:
                _compute_operands(kernel, loops)


def _only_loops(kernel: te.KernelOp) -> te.LoopsOp | None:
    """The loops that a kernel over tensors consists of, beside constants."""
    found = [
        op for op in kernel.body.block.ops if not isinstance(op, arith.ConstantOp | te.YieldOp)
    ]
    is_one = len(found) == 1 and not kernel.destinations
    return found[0] if is_one and isinstance(found[0], te.LoopsOp) else None


def _only_compute(value: SSAValue) -> tuple[te.KernelOp, te.ComputeOp] | None:
    """The kernel of a single compute that defines a tensor, and the compute."""
    kernel = value.owner
    if not isinstance(kernel, te.KernelOp):
        return None
    found = [
        op for op in kernel.body.block.ops if not isinstance(op, arith.ConstantOp | te.YieldOp)
    ]
    if len(found) != 1 or not isinstance(found[0], te.ComputeOp):
        return None
    return kernel, found[0]


@frozen
class _Operand:
    """What loops read that is computed in them: the only compute of another kernel."""

    number: int
    """of the loops' sources"""
    producer: te.KernelOp
    compute: te.ComputeOp
    plan: ComputedOperand
    seen: AffineMap | None = None
    """where the elements are of which the loops read another shape; that kernel gives it"""
    view: te.KernelOp | None = None


def _compute_operands(kernel: te.KernelOp, loops: te.LoopsOp) -> None:
    """
    Compute in the loops what they read: first what is computed at its loads, since blocks cut the loops around these. What
    one loop reads is computed ahead in the same blocks.
    """
    while at_loads := [o for o in _operands(kernel, loops) if o.plan.ahead is None]:
        kernel, loops = _joined(kernel, loops, at_loads[:1])
    while ahead := _operands(kernel, loops):
        together = [o for o in ahead if o.plan.ahead is ahead[0].plan.ahead]
        kernel, loops = _joined(kernel, loops, together)
    _operands(kernel, loops, with_remarks=True)


def _operands(
    kernel: te.KernelOp, loops: te.LoopsOp, *, with_remarks: bool = False
) -> list[_Operand]:
    """What loops read that can be computed in them, with remarks on what cannot."""
    operands: list[_Operand] = []
    for number, source in enumerate(loops.sources):
        passed = _passed(kernel, source)
        found = None if passed is None else _only_compute(passed)
        if passed is None or found is None:
            continue
        producer, compute = found
        if _is_view(compute):  # te-bufferize makes it one
            operand = _seen_operand(kernel, loops, number, producer, compute)
            operands += [operand] if operand is not None else []
            continue
        plan = plan_operand(loops, number, compute)
        if isinstance(plan, ComputedOperand) and not _is_worth_it(plan, passed, kernel):
            plan = "others need it too"
        if isinstance(plan, ComputedOperand):
            operands.append(_Operand(number, producer, compute, plan))
        elif with_remarks:
            one, other = producer.kernel_name.data, kernel.kernel_name.data
            remark(kernel, f"not one kernel, '{one}' and '{other}': {plan}", missed=True)
    return operands


def _seen_operand(
    kernel: te.KernelOp, loops: te.LoopsOp, number: int, view: te.KernelOp, compute: te.ComputeOp
) -> _Operand | None:
    """What loops read in another shape, which nothing else needs, if it is computed at each step while that waits."""
    source = _passed(view, compute.reads[0].source)
    found = None if source is None else _only_compute(source)
    waiting = CarriedLoops.of(kernel)
    if source is None or found is None or waiting is None or not waiting.has_floats:
        return None
    producer, seen = found
    is_alone = all(use.operation is kernel for use in view.outputs[0].uses) and all(
        use.operation is view for use in source.uses
    )
    if not is_alone or _is_view(seen):
        return None
    plan = plan_operand(loops, number, seen, most=WAITING)
    if not isinstance(plan, ComputedOperand) or plan.ahead is not None:
        return None
    return _Operand(number, producer, seen, plan, compute.reads[0].map, view)


def _passed(kernel: te.KernelOp, source: SSAValue) -> SSAValue | None:
    """What is passed to a kernel as a tensor that its body reads."""
    if source.owner is not kernel.body.block:
        return None
    return kernel.inputs[kernel.body.block.args.index(source)]


def _is_worth_it(plan: ComputedOperand, passed: SSAValue, kernel: te.KernelOp) -> bool:
    """What costs more than to load it is computed once, for whoever needs it."""
    return plan.ahead is None or all(use.operation is kernel for use in passed.uses)


def _straighten(producer: te.KernelOp, compute: te.ComputeOp) -> None:
    """
    Let a compute read its operands in the shape of its result where they have that in other words.

    A kernel of its own reshapes such an operand, which te-bufferize finds to move nothing: so no subscript divides.
    """
    shape = compute.result.type.get_shape()
    for number, read in enumerate(compute.reads):
        arg = read.source
        if (
            not _is_reshaped(read, shape)
            or not isinstance(arg, BlockArgument)
            or len([*arg.uses]) > 1
        ):
            continue
        passed = producer.inputs[arg.index]
        seen = TensorType(tensor_type(arg).get_element_type(), shape)
        inside = Block(arg_types=[passed.type])
        moved = _moving(te.Read(inside.args[0], read.map), seen)
        inside.add_ops([moved, te.YieldOp(moved.result)])
        reshape = te.KernelOp("reshape", [passed], [seen], Region(inside))
        reshape.location = producer.location
        Builder(InsertPoint.before(producer)).insert(reshape)
        reshape.outputs[0].name_hint = passed.name_hint
        producer.operands[arg.index] = reshape.outputs[0]
        Rewriter.replace_value_with_new_type(arg, seen)
        maps = [*compute.maps]
        maps[number] = AffineMapAttr(AffineMap.identity(len(shape)))
        compute.maps = ArrayAttr(maps)


def _is_reshaped(read: te.Read, shape: Sequence[int]) -> bool:
    """Whether a read finds the elements of a tensor in their order, under another shape."""
    own = tensor_type(read.source).get_shape()
    if read.map is None or read.pad is not None or own == tuple(shape):
        return False
    return prod(own) == prod(shape) and list(read.map.results) == list(
        reshape_indices(own, shape, dims(len(shape)))
    )


def _is_view(compute: te.ComputeOp) -> bool:
    """Whether a compute gives the elements of a tensor another shape alone."""
    shape = compute.result.type.get_shape()
    return is_data_movement(compute) and _is_reshaped(compute.reads[0], shape)


def _moving(read: te.Read, type_: Tensor) -> te.ComputeOp:
    """A compute whose elements are those that it reads."""
    shape = type_.get_shape()
    iterators = [te.Iterator(*each) for each in zip(axis_names(len(shape)), shape, strict=True)]
    body = te.compute_block(iterators, [read])
    body.add_op(te.YieldOp(body.args[-1]))
    return te.ComputeOp(iterators, [read], type_, Region(body))


def _joined(
    kernel: te.KernelOp, loops: te.LoopsOp, operands: Sequence[_Operand]
) -> tuple[te.KernelOp, te.LoopsOp]:
    """Replace a kernel of loops by one that computes operands, all ahead or at their loads; it and its loops."""
    producers = list(dict.fromkeys(operand.producer for operand in operands))
    for operand in operands:
        if operand.seen is None:
            _straighten(operand.producer, operand.compute)
    numbers = {operand.number for operand in operands}
    left = {value for n, value in enumerate(loops.operands) if n not in numbers}
    computed = {loops.sources[number] for number in numbers} - left
    inputs = [
        passed
        for passed, arg in zip(kernel.inputs, kernel.body.block.args, strict=True)
        if arg not in computed
    ]
    inputs = list(dict.fromkeys((*inputs, *(v for one in producers for v in one.inputs))))
    block = Block(arg_types=[value.type for value in inputs])
    builder = Builder(InsertPoint.at_end(block))
    inside: dict[SSAValue, SSAValue] = {}
    for value, arg in zip(inputs, block.args, strict=True):
        arg.name_hint = value.name_hint
    at = dict(zip(inputs, block.args, strict=True))
    for one in (*producers, kernel):
        inside |= {
            arg: at[passed]
            for passed, arg in zip(one.inputs, one.body.block.args, strict=True)
            if passed in at
        }
        for op in one.body.block.ops:
            if isinstance(op, arith.ConstantOp):
                builder.insert(op.clone(inside))
    new = builder.insert(_computing(loops, operands, inside, steps_of_block(kernel)))
    results: dict[SSAValue, SSAValue] = dict(zip(loops.outputs, new.outputs, strict=True))
    builder.insert(te.YieldOp(*(results[value] for value in kernel.yielded)))
    made = replace_kernel(kernel, inputs, Region(block))
    views = [operand.view for operand in operands if operand.view is not None]
    for producer in (*views, *producers):
        if not any(output.uses for output in producer.outputs):
            Rewriter.erase_op(producer)
    return made, new


def _computing(
    loops: te.LoopsOp, operands: Sequence[_Operand], inside: dict[SSAValue, SSAValue], size: int
) -> te.LoopsOp:
    """
    Loops that compute operands, ahead of blocks of so many steps; `inside` has what stands for the values that they and
    these use.
    """
    numbers = {operand.number for operand in operands}
    before = [source for n, source in enumerate(loops.sources) if n not in numbers]
    read = list(dict.fromkeys(read.source for o in operands for read in o.compute.reads))
    sources = [inside[value] for value in (*before, *read)]
    inits = [inside[value] for value in loops.inits]
    mapping: dict[SSAValue, SSAValue] = {}
    region = Region()
    loops.body.clone_into(region, value_mapper=mapping)
    block = region.block
    buffers: dict[SSAValue, SSAValue] = {}
    for position, value in enumerate(read, len(loops.sources)):
        type_ = tensor_type(value)
        buffers[value] = block.insert_arg(
            MemRefType(type_.get_element_type(), type_.get_shape()), position
        )
        buffers[value].name_hint = value.name_hint
    loads = [load for load in block.walk() if isinstance(load, loop.LoadOp)]
    ahead: list[tuple[loop.LoadOp, ElementWriter]] = []
    for operand in operands:
        writer = ElementWriter(operand.compute, buffers)
        own = [load for load in loads if load.buffer is mapping[operand.plan.source]]
        if operand.plan.ahead is not None:
            ahead += [(load, writer) for load in own]
            continue
        for load in own:
            map_ = load.map.data if operand.seen is None else operand.seen.compose(load.map.data)
            element = writer.element(Builder(InsertPoint.before(load)), map_, load.operands_)
            load.result.replace_all_uses_with(element)
            _erase(load)
    if ahead:
        _compute_ahead(block, ahead, size)
    for operand in operands:
        block.erase_arg(mapping[operand.plan.source])  # pyright: ignore[reportArgumentType]
    new = te.LoopsOp(loops.loops_name.data, sources, inits, [v.type for v in loops.outputs], region)
    new.attributes |= loops.attributes
    new.location = loops.location
    for old, output in zip(loops.outputs, new.outputs, strict=True):
        output.name_hint = old.name_hint
    return new


def _erase(load: loop.LoadOp) -> None:
    load.detach()
    load.erase()


def _compute_ahead(
    block: Block, loads: Sequence[tuple[loop.LoadOp, ElementWriter]], size: int
) -> None:
    """
    Compute what loads of one loop read a block of steps ahead.

    Before: `for i = 0 to n { … x[i] … }`. After: `for b = 0 to n / B { for i { ahead[i - b B] = f(i) }; for i { … ahead[i - b B] … } }`,
    where i goes through the steps of the block, and the same for the steps that are no whole block.
    """
    steps = loads[0][0].parent_op()
    assert isinstance(steps, loop.ForOp)
    count, name = steps.constant_trip_count() or 0, steps.loop_name.data
    stored: dict[loop.LoadOp, _Stored] = {}
    for load, writer in loads:
        buffer = loop.AllocOp(loop.Scope.STACK, MemRefType(load.result.type, (size,)))
        buffer.buffer.name_hint = writer.name or "ahead"
        Builder(InsertPoint.at_start(block)).insert(buffer)
        stored[load] = _Stored(load, buffer.buffer, writer)
    around = Builder(InsertPoint.before(steps))
    blocks = around.insert(loop.ForOp(f"{name}.block", 0, count // size))
    inside = _Ahead(steps, stored)
    inside.write(_inside(blocks), blocks.induction_variable, 0, size)
    if count % size:
        inside.write(around, None, count // size * size, count % size)
    steps.detach()
    steps.erase()


@frozen
class _Stored:
    """A load, the buffer of what it reads in a block, and what writes the elements of that."""

    load: loop.LoadOp
    buffer: SSAValue
    writer: ElementWriter


@dataclass
class _Ahead:
    """Steps that read what is computed ahead of them."""

    steps: loop.ForOp
    stored: Mapping[loop.LoadOp, _Stored]

    def write(self, builder: Builder, block: SSAValue | None, first: int, size: int) -> None:
        """Append so many steps: those of a block, or those from `first` on."""
        name, part = self.steps.loop_name.data, "" if block is not None else ".rest"
        around = [] if block is None else [block]
        step, start = AffineExpr.dimension(0), AffineExpr.constant(first)
        if block is not None:
            start = AffineExpr.dimension(1) * size

        each = loop.ForOp(f"{name}.ahead{part}", 0, size, kind=loop.LoopKind.PARALLEL)
        builder.insert(each)
        inner, variable = _inside(each), each.induction_variable
        for load, stored in self.stored.items():
            subscripts = self._subscripts(load, step + start, [variable, *around])
            element = stored.writer.element(inner, *subscripts)
            inner.insert(loop.StoreOp(element, stored.buffer, [variable]))

        own, dims = self.steps.induction_variable, [AffineExpr.dimension(0)]
        first_of = start.replace_dims_and_symbols([step, *dims], [])
        low, high = (
            (AffineMap(len(around), 0, (bound,)), around) for bound in (first_of, first_of + size)
        )
        place = AffineMap(1 + len(around), 0, (step - start,))
        again = loop.ForOp(f"{name}{part}", low, high, kind=self.steps.kind.data)
        builder.insert(again)
        inner, mapping = _inside(again), {own: again.induction_variable}
        for op in self.steps.body.block.ops:
            if isinstance(op, loop.LoadOp) and op in self.stored:
                operands = (again.induction_variable, *around)
                element = loop.LoadOp(self.stored[op].buffer, place, operands)
                mapping[op.result] = inner.insert(element).result
            elif not isinstance(op, loop.YieldOp):
                inner.insert(op.clone(mapping))

    def _subscripts(
        self, load: loop.LoadOp, step: AffineExpr, operands: Sequence[SSAValue]
    ) -> tuple[AffineMap, list[SSAValue]]:
        """The load's subscripts at a step, an expression over operands."""
        count = len(operands)
        own = self.steps.induction_variable
        others = [value for value in load.operands_ if value is not own]
        position = {value: AffineExpr.dimension(count + n) for n, value in enumerate(others)}
        dims = [step if value is own else position[value] for value in load.operands_]
        exprs = tuple(e.replace_dims_and_symbols(dims, []) for e in load.map.data.results)
        return AffineMap(count + len(others), 0, exprs), [*operands, *others]


def _inside(op: loop.ForOp) -> Builder:
    """Appends to the body of a loop."""
    last = op.body.block.last_op
    assert last is not None
    return Builder(InsertPoint.before(last))

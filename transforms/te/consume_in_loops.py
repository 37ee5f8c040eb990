"""What loops write is used where they write it, instead of being stored for another kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.cost import CHEAP, body_cost
from ...analysis.fusion.loop_operands import runs_in
from ...analysis.levels import Level
from ...analysis.operations import is_before, operations_of_kind, used_from_above
from ...dialects import loop, te
from ...dialects.combiner import Combiner
from ...dialects.dtypes import is_float
from ...dialects.shaped import tensor_type
from ...dialects.te.loops import buffer_of
from ...frozen import frozen
from ..numerics import DEFAULT_FP, fp_contract
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .elements import ElementWriter
from .merge_loops import CarriedLoops
from .replace_kernel import replace_kernel


@frozen
class TeConsumeInLoopsPass(StepwellPass):
    """
    Compute what alone needs the elements that loops write, each of them once, inside of the loops.

    Before: `y = te.loops { for s { x += u[s]; y[s] = x } }; z = te.compute add [s] (y[s] * y[s])`. After:
    `z = te.loops { z = 0; for s { x += u[s]; z += x * x } }`. Loops do so whose steps wait for one another: what costs little is
    done while they wait. A sum of such a sum is one with it. `fp=strict` keeps the order of all sums of floats.
    """

    name = "te-consume-in-loops"
    level_in = Level.TE
    level_out = Level.TE
    numerics = "reassociates"

    fp: str = DEFAULT_FP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        is_strict = fp_contract(self.fp) == "strict"
        for kernel in operations_of_kind(op, te.KernelOp):
            found = CarriedLoops.of(kernel) if kernel.parent is not None else None
            while found is not None:
                plan = plan_consumption(found, is_strict)
                if isinstance(plan, str):
                    remark(
                        found.kernel,
                        f"'{found.kernel.kernel_name.data}' stores: {plan}",
                        missed=True,
                    )
                    break
                found = CarriedLoops.of(plan.apply())


@frozen
class _Reader:
    """The first compute of a kernel, which alone reads a tensor, each of its elements once."""

    kernel: te.KernelOp
    compute: te.ComputeOp
    source: BlockArgument
    """the tensor, as the kernel sees it"""
    axes: tuple[int, ...]
    """for each of the compute's iterators which axis of the tensor it goes along"""

    @property
    def combiner(self) -> Combiner | None:
        return self.compute.combining

    @staticmethod
    def of(value: SSAValue) -> _Reader | str:
        """What reads a value; why it is nothing like this."""
        uses = [*value.uses]
        kernel = uses[0].operation if len(uses) == 1 else None
        if not isinstance(kernel, te.KernelOp) or kernel.destinations or len(uses) != 1:
            return "others than one kernel need it"
        source = kernel.body.block.args[uses[0].index]
        compute = next((op for op in kernel.body.block.ops if isinstance(op, te.ComputeOp)), None)
        if compute is None or any(use.operation is not compute for use in source.uses):
            return "it is not read by the first compute of a kernel alone"
        yields = [use.operation for use in compute.outputs[0].uses]
        if any(isinstance(op, te.YieldOp) for op in yields) and len(kernel.outputs) > 1:
            return "its kernel has several results"
        axes = _axes(compute, source)
        if isinstance(axes, str):
            return axes
        others = (read for read in compute.reads if read.source is not source)
        if any(not isinstance(read.source, BlockArgument) or read.map is None for read in others):
            return "what reads it reads others at computed indices"
        if compute.combiners and compute.combining not in _JOINED:
            return (
                "what reads it is an extreme, which tests for NaNs and waits longer than the loops"
            )
        if len(compute.outputs) > 1 or used_from_above(compute.body):
            return "what reads it has several results, or values of its kernel"
        if body_cost(compute) > CHEAP:
            return f"what reads it costs more than {CHEAP:g} additions"
        return _Reader(kernel, compute, source, axes)


_JOINED = (Combiner.ADD, Combiner.MUL)
"""What is joined as fast as running sums are."""


def _axes(compute: te.ComputeOp, source: SSAValue) -> tuple[int, ...] | str:
    """Which axis of a tensor each iterator goes along; why they do not go through its elements once each."""
    maps = {(read.map, read.pad) for read in compute.reads if read.source is source}
    ((map_, pad),) = maps if len(maps) == 1 else ((None, None),)
    extents = compute.static_extents
    if map_ is None or pad is not None or DYNAMIC_INDEX in extents:
        return "its elements are read in several places, or outside of it"
    along = [expr.position for expr in map_.results if isinstance(expr, AffineDimExpr)]
    shape = tensor_type(source).get_shape()
    if sorted(along) != list(range(len(extents))) or len(along) != len(shape):
        return "it is not read along its axes, once each"
    if any(extents[n] != size for n, size in zip(along, shape, strict=True)):
        return "not all of it is read"
    return tuple(along.index(n) for n in range(len(extents)))


@frozen
class ConsumptionPlan:
    """Loops, the result that is used where they write it, and what uses it."""

    loops: CarriedLoops
    number: int
    stores: tuple[loop.StoreOp, ...]
    reader: _Reader
    behind: _Reader | None
    """a reduction of the reduction by the same operator, which then takes what is joined"""

    def apply(self) -> te.KernelOp:
        """The loops' kernel, with what the compute defines in place of what it read."""
        kernel, reader = self.loops.kernel, self.reader
        last = self.behind or reader
        others = [r.source for r in reader.compute.reads if r.source is not reader.source]
        passed = [reader.kernel.inputs[_number(source)] for source in others]
        inputs = list(dict.fromkeys((*kernel.inputs, *passed)))
        block = Block(arg_types=[value.type for value in inputs])
        at = dict(zip(inputs, block.args, strict=True))
        for value, arg in at.items():
            arg.name_hint = value.name_hint
        new = self._loops(at)
        block.add_op(new)
        block.add_op(te.YieldOp(*new.outputs))
        name = f"{kernel.kernel_name.data}_{last.compute.result.name_hint or 'result'}"
        made = te.KernelOp(name, inputs, [value.type for value in new.outputs], Region(block))
        made.location = kernel.location
        Builder(InsertPoint.before(kernel)).insert(made)
        outputs = dict(zip(self.loops.loops.outputs, made.outputs, strict=True))
        for old, inner in zip(kernel.outputs, kernel.yielded, strict=True):
            output = outputs[inner]  # pyright: ignore[reportArgumentType]
            if old is not self._stored:
                output.name_hint = old.name_hint
                old.replace_all_uses_with(output)
        result = made.outputs[self.number]
        result.name_hint = last.compute.result.name_hint
        for each in (last, reader) if self.behind else (reader,):
            _without_first(each, result if each is last else None)
        kernel.detach()
        kernel.erase()
        return made

    @property
    def _stored(self) -> SSAValue:
        """What is no longer stored, outside of the kernel."""
        kernel, inner = self.loops.kernel, self.loops.loops.outputs[self.number]
        return kernel.outputs[[*kernel.yielded].index(inner)]

    def _loops(self, at: Mapping[SSAValue, SSAValue]) -> te.LoopsOp:
        """The new loops, over the values of the kernel that `at` has by those outside."""
        loops, reader = self.loops.loops, self.reader
        own = [at[self.loops.kernel.inputs[_number(source)]] for source in loops.sources]
        read = {
            each.source: at[reader.kernel.inputs[_number(each.source)]]
            for each in reader.compute.reads
            if each.source is not reader.source
        }
        sources = [*own, *read.values()]
        mapping: dict[SSAValue, SSAValue] = {}
        region = Region()
        loops.body.clone_into(region, value_mapper=mapping)
        block, buffers = region.block, dict[SSAValue, SSAValue]()
        for position, source in enumerate(read, len(own)):
            type_ = buffer_of(tensor_type(source))
            buffers[source] = block.insert_arg(type_, position)
            buffers[source].name_hint = source.name_hint
        last = (self.behind or reader).compute
        stored = mapping[loops.output_args[self.number]]
        assert isinstance(stored, BlockArgument)
        out = block.insert_arg(buffer_of(last.result.type), stored.index)
        out.name_hint = last.result.name_hint
        for store in [use.operation for use in stored.uses]:
            assert isinstance(store, loop.StoreOp)
            self._consume(store, out, buffers)
        block.erase_arg(stored)
        if last.combining is not None:
            _fill(Builder(InsertPoint.at_start(block)), out, last)
        types = [value.type for value in loops.outputs]
        types[self.number] = last.result.type
        new = te.LoopsOp(loops.loops_name.data, sources, [], types, region)
        new.location = loops.location
        return new

    def _consume(
        self, store: loop.StoreOp, out: SSAValue, buffers: dict[SSAValue, SSAValue]
    ) -> None:
        """Before: `y[i] = x`. After: `z[i] = f(x)`, or `z = z + f(x)`."""
        reader, builder = self.reader, Builder(InsertPoint.before(store))
        operands = list(store.operands_)
        place = _ordered(store.map.data, reader.axes)
        writer = ElementWriter(reader.compute, buffers, {reader.source: store.value})
        element = writer.element(builder, place, operands)
        kept = _first(place, len(reader.compute.parallel))
        if self.behind is not None:
            kept = _first(_ordered(kept, self.behind.axes), len(self.behind.compute.parallel))
        if reader.combiner is not None:
            before = builder.insert(loop.LoadOp(out, kept, operands)).result
            element = reader.combiner.combine(builder, before, element)
        builder.insert(loop.StoreOp(element, out, kept, operands))
        store.detach()
        store.erase()


def _number(arg: SSAValue) -> int:
    assert isinstance(arg, BlockArgument)
    return arg.index


def _ordered(map_: AffineMap, axes: Sequence[int]) -> AffineMap:
    """The subscripts of an element, in the order of a compute's iterators."""
    return AffineMap(map_.num_dims, 0, tuple(map_.results[axis] for axis in axes))


def _first(map_: AffineMap, count: int) -> AffineMap:
    return AffineMap(map_.num_dims, 0, map_.results[:count])


def _fill(builder: Builder, buffer: SSAValue, compute: te.ComputeOp) -> None:
    """Let a reduction begin with what joins nothing to it."""
    assert compute.combining is not None
    type_ = compute.result.type
    identity = arith.ConstantOp(compute.combining.identity(type_.get_element_type()))
    builder.insert(identity)
    variables: list[SSAValue] = []
    for iterator in compute.parallel:
        assert isinstance(iterator.extent, int)
        around = loop.ForOp(
            f"{iterator.name}.begin", 0, iterator.extent, kind=loop.LoopKind.PARALLEL
        )
        builder.insert(around)
        last = around.body.block.last_op
        assert last is not None
        builder = Builder(InsertPoint.before(last))
        variables.append(around.induction_variable)
    dims: tuple[AffineExpr, ...] = tuple(map(AffineExpr.dimension, range(len(variables))))
    place = AffineMap(len(variables), 0, dims)
    builder.insert(loop.StoreOp(identity.result, buffer, place, variables))


def _without_first(reader: _Reader, result: SSAValue | None) -> None:
    """Leave a kernel without its first compute, whose result it is passed; nothing of it where it has no other."""
    kernel, compute = reader.kernel, reader.compute
    outer = [
        v
        for arg, v in zip(kernel.body.block.args, kernel.inputs, strict=True)
        if arg is not reader.source
    ]
    rest = [
        op for op in kernel.body.block.ops if isinstance(op, te.ComputeOp) and op is not compute
    ]
    if not rest:
        (output,) = kernel.outputs
        if result is not None:
            output.replace_all_uses_with(result)
        kernel.detach()
        kernel.erase(safe_erase=False)
        return
    assert result is not None
    body = kernel.detach_region(kernel.body)
    block = body.block
    compute.result.replace_all_uses_with(block.insert_arg(result.type, len(block.args)))
    block.args[-1].name_hint = result.name_hint
    compute.detach()
    compute.erase()
    block.erase_arg(reader.source)
    replace_kernel(kernel, [*outer, result], body)


def plan_consumption(found: CarriedLoops, is_strict: bool) -> ConsumptionPlan | str:
    """Which result of loops is used where they write it, and how; or why none is, the last result's reason."""
    reason = "their results are the function's"
    for number in range(len(found.loops.outputs)):
        plan = _plan_of(found, number, is_strict)
        if isinstance(plan, ConsumptionPlan):
            return plan
        reason = plan
    return reason


def _plan_of(found: CarriedLoops, number: int, is_strict: bool) -> ConsumptionPlan | str:
    kernel, loops = found.kernel, found.loops
    if not found.in_registers:
        return "it is updated at computed places: what is there is known at the end"
    argument, inner = loops.output_args[number], loops.outputs[number]
    if [*kernel.yielded].count(inner) != 1 or len([*kernel.yielded]) != len(loops.outputs):
        return "it is several results of its kernel"
    if not found.has_floats:
        return "steps that lanes do together need not wait"
    stores = tuple(use.operation for use in argument.uses)
    times = [runs_in(op, loops) for op in stores]
    written = sum(count or 0 for count in times)
    size = prod(tensor_type(inner).get_shape())
    writes = tuple(op for op in stores if isinstance(op, loop.StoreOp))
    if len(writes) < len(stores) or None in times or written != size:
        return "the loops read it, or write elements more than once"
    reader = _Reader.of(kernel.outputs[[*kernel.yielded].index(inner)])
    if isinstance(reader, str):
        return reader
    is_reordered = reader.combiner in (Combiner.ADD, Combiner.MUL)
    if is_strict and is_reordered and is_float(reader.compute.result.type.get_element_type()):
        return "fp=strict keeps the order of what reads it"
    if not _is_there(reader, kernel):
        return "what reads it reads what is computed later"
    behind = _behind(reader)
    return ConsumptionPlan(found, number, writes, reader, behind)


def _is_there(reader: _Reader, kernel: te.KernelOp) -> bool:
    """Whether all that a compute reads is there before another kernel."""
    for read in reader.compute.reads:
        if read.source is reader.source:
            continue
        if not is_before(reader.kernel.inputs[_number(read.source)], kernel):
            return False
    return reader.kernel.parent is kernel.parent


def _behind(reader: _Reader) -> _Reader | None:
    """What joins what a reduction that is all of its kernel has joined, by the same operator."""
    computes = [op for op in reader.kernel.body.block.ops if isinstance(op, te.ComputeOp)]
    if reader.combiner is None or len(computes) != 1:
        return None
    behind = _Reader.of(reader.kernel.outputs[0])
    if isinstance(behind, str) or behind.combiner is not reader.combiner:
        return None
    compute = behind.compute
    is_plain = list(compute.yielded) == list(compute.read_args) and len(compute.reads) == 1
    is_near = behind.kernel.parent is reader.kernel.parent
    return behind if is_plain and is_near else None

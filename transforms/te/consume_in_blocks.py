"""What reads the results of loops at fixed shifts follows these block by block, instead of when all is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.fusion.blocks_of_steps import BlocksPlan, Follower, plan_blocks
from ...analysis.levels import Level
from ...analysis.operations import operations_of_kind
from ...dialects import loop, te
from ...dialects.affine_bounds import Range, bounds, linear_form
from ...dialects.shaped import tensor_type
from ...dialects.te.loops import buffer_of
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass
from .elements import ElementWriter


class TeConsumeInBlocksPass(StepwellPass):
    """
    Compute what needs the results of loops at fixed shifts after each block of their steps, from a buffer in cache.

    Before: `y = te.loops { for s { x += u[s]; y[s] = x } }; z = te.compute [i] (y[i + 20] - y[i])`. After, in one kernel: for
    each block of steps the sums are written behind the last 20 of the block before, the elements of z whose last operand
    is in the block are computed, in a loop of which no step waits for another, and the last 20 sums are put in front.
    So y is never in memory, unless something else needs it.
    """

    name = "te-consume-in-blocks"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in operations_of_kind(op, te.KernelOp):
            plan = None if kernel.parent is None else plan_blocks(kernel)
            name = kernel.kernel_name.data
            if isinstance(plan, str):
                remark(kernel, f"nothing follows '{name}' in blocks: {plan}", missed=True)
            elif plan is not None:
                names = " and ".join(f"'{each.kernel.kernel_name.data}'" for each in plan.followers)
                remark(
                    kernel, f"{names} follow '{name}' in {plan.blocks} blocks of {plan.size} steps"
                )
                _rewrite(plan)


def _rewrite(plan: BlocksPlan) -> None:
    """Put a kernel of the loops and of what follows them in the place of theirs."""
    kernels = [plan.kernel, *(follower.kernel for follower in plan.followers)]
    gone = set(plan.kernel.outputs)
    inputs = list(dict.fromkeys(v for each in kernels for v in each.inputs if v not in gone))
    block = Block(arg_types=[value.type for value in inputs])
    builder = Builder(InsertPoint.at_end(block))
    at = dict(zip(inputs, block.args, strict=True))
    for value, arg in at.items():
        arg.name_hint = value.name_hint
    inside: dict[SSAValue, SSAValue] = {}
    for each in kernels:
        pairs = zip(each.body.block.args, each.inputs, strict=True)
        inside |= {arg: at[value] for arg, value in pairs if value in at}
        for op in each.body.block.ops:
            if isinstance(op, arith.ConstantOp):
                builder.insert(op.clone(inside))
    outputs = [v for n, v in enumerate(plan.kernel.outputs) if n in plan.kept]
    outputs += [output for each in plan.followers for output in each.kernel.outputs]
    new = builder.insert(_Writer(plan).write(inside))
    builder.insert(te.YieldOp(*new.outputs))
    name = "_".join(kernel.kernel_name.data for kernel in kernels)
    made = te.KernelOp(name, inputs, [value.type for value in outputs], Region(block))
    made.location = plan.kernel.location
    Builder(InsertPoint.before(plan.place)).insert(made)
    for old, output, inner in zip(outputs, made.outputs, new.outputs, strict=True):
        output.name_hint = inner.name_hint = old.name_hint
        old.replace_all_uses_with(output)
    for kernel in reversed(kernels):
        kernel.detach()
        kernel.erase()


@frozen
class _Part:
    """A part of the steps, and what follows them in it."""

    name: str
    """added to names of loops, which are all different"""
    block: SSAValue | None
    """the number of the block; None for the steps that are no whole block"""
    numbers: tuple[int, int]
    """the first and the last number that the block may have"""


class _Writer:
    """Writes the loops in blocks, with what follows them."""

    def __init__(self, plan: BlocksPlan):
        self.plan, loops = plan, plan.loops
        reads = [
            read.source
            for follower in plan.followers
            for read in follower.compute.reads
            if read.source not in follower.written
        ]
        self.read = list(dict.fromkeys((*loops.sources, *reads)))
        kept = [v for n, v in enumerate(loops.output_args) if n in plan.kept]
        made = [v for follower in plan.followers for v in follower.compute.outputs]
        self.types = [v.type for n, v in enumerate(loops.outputs) if n in plan.kept]
        self.types += [v.type for v in made]
        types: list[Attribute] = [buffer_of(tensor_type(value)) for value in self.read]
        types += [arg.type for arg in kept]
        types += [buffer_of(v.type) for v in made]
        self.body = Block(arg_types=types)
        args, values = self.body.args, [*self.read, *kept, *made]
        for arg, value in zip(args, values, strict=True):
            arg.name_hint = value.name_hint
        self.buffers: dict[SSAValue, SSAValue] = dict(zip(values, args, strict=True))
        own = zip(loops.sources, loops.source_args, strict=True)
        self.mapping: dict[SSAValue, SSAValue] = {arg: self.buffers[v] for v, arg in own}
        self.mapping |= {arg: self.buffers[arg] for arg in kept}
        self.last: dict[SSAValue, SSAValue] = {}
        """for each tensor that is written, as the loops see it, the buffer of what is still read of it"""

    def write(self, inside: Mapping[SSAValue, SSAValue]) -> te.LoopsOp:
        """The loops; `inside` has what stands for the values of the kernels in the new one."""
        plan, builder = self.plan, Builder(InsertPoint.at_end(self.body))
        for one in plan.written:
            element = tensor_type(one.value).get_element_type()
            type_ = MemRefType(element, (plan.length,))
            buffer = builder.insert(loop.AllocOp(loop.Scope.ARENA, type_)).buffer
            buffer.name_hint = f"last_{one.value.name_hint or 'result'}"
            self.last[one.argument] = buffer
        rest = _Part(".rest", None, (plan.blocks, plan.blocks))
        for op in plan.loops.body.block.ops:
            is_steps = op in plan.steps.loops
            if isinstance(op, loop.ForOp) and (is_steps or op is plan.steps.around):
                if not is_steps or plan.steps.around is None:
                    self._blocks(builder, op)
                if is_steps:
                    self._steps(builder, op, rest)
            elif not isinstance(op, te.YieldOp):
                builder.insert(op.clone(self.mapping))
        self._follow(builder, rest)
        builder.insert(te.YieldOp())
        sources = [inside[value] for value in self.read]
        new = te.LoopsOp(plan.loops.loops_name.data, sources, [], self.types, Region(self.body))
        new.location = plan.loops.location
        return new

    def _blocks(self, builder: Builder, op: loop.ForOp) -> None:
        """
        Write the loop over blocks: that in which the steps stand, or a new one around a loop of all steps. What reads less
        in the first block than in others follows that by itself.
        """
        plan = self.plan
        apart = 1 if plan.behind or _pads(plan.followers) else 0
        name = op.loop_name.data if op is plan.steps.around else f"{op.loop_name.data}.block"
        for first, last in ((0, apart), (apart, plan.blocks)):
            if first == last:
                continue
            end = ".first" if last < plan.blocks else ""
            around = builder.insert(loop.ForOp(f"{name}{end}", first, last))
            part = _Part(end, around.induction_variable, (first, last - 1))
            inner = _inside(around)
            self.mapping[op.induction_variable] = around.induction_variable
            steps = plan.steps.loops[0]
            for each in op.body.block.ops if op is plan.steps.around else (op,):
                if each is steps:
                    self._steps(inner, steps, part)
                elif not isinstance(each, loop.YieldOp):
                    copy = inner.insert(each.clone(self.mapping))
                    for found in copy.walk() if end else ():
                        if isinstance(found, loop.ForOp):
                            found.loop_name = StringAttr(f"{found.loop_name.data}{end}")
            self._follow(inner, part)
            self._keep(inner, part)

    def _steps(self, builder: Builder, op: loop.ForOp, part: _Part) -> None:
        """Write the steps of a part, which put what is read of their results into buffers."""
        plan, name = self.plan, op.loop_name.data
        around = [] if part.block is None else [part.block]
        start = AffineExpr.constant(plan.whole)
        count = plan.steps.count - plan.whole
        if part.block is not None:
            start, count = AffineExpr.dimension(0) * plan.size, plan.size
        if not count:
            return
        low, high = ((AffineMap(len(around), 0, (at,)), around) for at in (start, start + count))
        end = part.name if part.block is not None or plan.steps.around is None else ""
        made = builder.insert(loop.ForOp(f"{name}{end}", low, high, kind=op.kind.data))
        own, inner = made.induction_variable, _inside(made)
        self.mapping[op.induction_variable] = own
        begin = start.replace_dims_and_symbols([AffineExpr.dimension(1)], [])
        place = AffineExpr.dimension(0) - begin + plan.halo
        for each in op.body.block.ops:
            if isinstance(each, loop.StoreOp) and each.buffer in self.last:
                value, operands = self.mapping.get(each.value, each.value), [own, *around]
                map_ = AffineMap(len(operands), 0, (place,))
                inner.insert(loop.StoreOp(value, self.last[each.buffer], map_, operands))
            is_kept = not isinstance(each, loop.StoreOp) or (
                each.buffer in self.mapping or each.buffer not in self.last
            )
            if is_kept and not isinstance(each, loop.YieldOp):
                inner.insert(each.clone(self.mapping))

    def _follow(self, builder: Builder, part: _Part) -> None:
        """Write what follows the steps of a part."""
        plan = self.plan
        for number, follower in enumerate(plan.followers):
            (iterator,) = follower.compute.parallel
            if part.block is None:
                first, last = 0, follower.extent + plan.behind - plan.per_block * plan.blocks
            else:
                first, last = (plan.behind if part.numbers[0] == 0 else 0), plan.per_block
            if first >= last:
                continue
            name = f"{iterator.name}.after{number or ''}{part.name}"
            each = builder.insert(loop.ForOp(name, first, last, kind=loop.LoopKind.PARALLEL))
            around = [] if part.block is None else [part.block]
            low, high = (plan.per_block * n - plan.behind for n in part.numbers)
            start = AffineExpr.constant(low)
            if around:
                start = AffineExpr.dimension(1) * plan.per_block - plan.behind
            range_ = (low + first, high + last - 1)
            writer = _FollowingWriter(plan, follower, self.buffers, self.last, range_)
            operands = [each.induction_variable, *around]
            place = AffineMap(len(operands), 0, (AffineExpr.dimension(0) + start,))
            inner = _inside(each)
            elements = writer.elements(inner, place, operands)
            for element, output in zip(elements, follower.compute.outputs, strict=True):
                inner.insert(loop.StoreOp(element, self.buffers[output], place, operands))

    def _keep(self, builder: Builder, part: _Part) -> None:
        """Put what later blocks read in front."""
        plan = self.plan
        if not plan.halo:
            return
        name = f"{plan.steps.loops[0].loop_name.data}.kept{part.name}"
        each = builder.insert(loop.ForOp(name, 0, plan.halo, kind=loop.LoopKind.PARALLEL))
        inner, operands, at = _inside(each), [each.induction_variable], AffineExpr.dimension(0)
        for buffer in self.last.values():
            behind = AffineMap(1, 0, (at + plan.size,))
            element = inner.insert(loop.LoadOp(buffer, behind, operands)).result
            inner.insert(loop.StoreOp(element, buffer, operands))


class _FollowingWriter(ElementWriter):
    """Writes elements of a compute that follows steps, whose indices are in a range."""

    def __init__(
        self,
        plan: BlocksPlan,
        follower: Follower,
        buffers: Mapping[SSAValue, SSAValue],
        last: Mapping[SSAValue, SSAValue],
        range_: Range,
    ):
        written = {source: last[one.argument] for source, one in follower.written.items()}
        super().__init__(follower.compute, {**buffers, **written})
        self.plan, self.written, self.range = plan, written, range_

    def read(
        self, builder: Builder, read: te.Read, map_: AffineMap, operands: Sequence[SSAValue]
    ) -> SSAValue:
        assert read.map is not None
        pairs = zip(read.map.results, tensor_type(read.source).get_shape(), strict=True)
        inside = [_is_within(expr, self.range, size) for expr, size in pairs]
        if read.pad is not None and False in inside:
            return builder.insert(arith.ConstantOp(read.pad)).result
        is_guarded = read.pad is not None and None in inside
        if read.source not in self.written:
            return self.load(builder, read, map_, operands, is_guarded=is_guarded)
        form = linear_form(read.map.results[0], 1)
        assert form is not None
        ((stride,), shift), plan = form, self.plan
        by = shift - plan.stride * plan.behind + plan.halo
        place = AffineMap(map_.num_dims, 0, (AffineExpr.dimension(0) * stride + by,))
        return self.load(builder, read, map_, operands, is_guarded=is_guarded, place=place)


def _is_within(expr: AffineExpr, range_: Range, size: int) -> bool | None:
    """Whether a subscript of what has indices in a range is inside of so many elements; None for some of them."""
    low, high = bounds(expr, [range_])
    if low is None or high is None or low >= size or high < 0:
        return None if low is None or high is None else False
    return True if low >= 0 and high < size else None


def _pads(followers: Sequence[Follower]) -> bool:
    return any(read.pad is not None for each in followers for read in each.compute.reads)


def _inside(op: loop.ForOp) -> Builder:
    """Appends to the body of a loop."""
    last = op.body.block.last_op
    assert last is not None
    return Builder(InsertPoint.before(last))

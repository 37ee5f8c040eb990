"""Kernels of loops whose steps wait for one another are one kernel, where they have as many steps."""

from __future__ import annotations

from collections.abc import Container, Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.levels import Level
from ...analysis.operations import comes_after, is_before, operations_of, operations_of_kind
from ...dialects import loop, te
from ...dialects.dtypes import is_float
from ...frozen import frozen
from ..remarks import remark
from ..stepwell_pass import StepwellPass

MOST_STATES = 8
"""
The states that loops have together at most, each in a register: with as many additions under way, two in each cycle of the
four that one takes, cores have no more to gain.
"""


class TeMergeLoopsPass(StepwellPass):
    """
    Merge the loops of two kernels, such as running sums, that have as many steps: while one waits, the other goes on.

    Before: `a = te.kernel { te.loops { for s { x += u[s] } } }; b = te.kernel { te.loops { for s { y += v[s] } } }`.
    After: `a, b = te.kernel { te.loops { for s { x += u[s]; y += v[s] } } }`. What both read is read once. Updates at
    computed places, as counts and sums by groups, wait for little: they are one kernel where both read the same tensor.
    """

    name = "te-merge-loops"
    level_in = Level.TE
    level_out = Level.TE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = operations_of_kind(op, te.KernelOp)
        waiting_in: dict[Block | None, list[te.KernelOp]] = {}
        for kernel in kernels:
            found = CarriedLoops.of(kernel)
            if found is None:
                continue
            waiting = waiting_in.setdefault(kernel.parent, [])
            for number, before in enumerate(waiting):
                other = CarriedLoops.of(before)
                assert other is not None
                plan = plan_merge(other, found)
                if isinstance(plan, str):
                    names = f"'{before.kernel_name.data}' and '{kernel.kernel_name.data}'"
                    remark(kernel, f"not one kernel, {names}: {plan}", missed=True)
                    continue
                waiting[number] = plan.apply()
                break
            else:
                waiting.append(kernel)


@frozen
class CarriedLoops:
    """A kernel of nothing but loops whose steps need what those before them left in registers or at computed places."""

    kernel: te.KernelOp
    loops: te.LoopsOp
    states: int
    in_registers: bool
    """whether all states are in registers, and none at computed places of buffers"""
    has_floats: bool
    """whether steps wait for floats: what else they join is joined in lanes"""

    @property
    def read(self) -> set[SSAValue]:
        """The tensors that the loops read, and do not start from."""
        return {self.kernel.inputs[_number(source)] for source in self.loops.sources}

    @staticmethod
    def of(kernel: te.KernelOp) -> CarriedLoops | None:
        loops, *rest = kernel.body.block.ops
        is_alone = len(rest) == 1 and isinstance(rest[0], te.YieldOp)
        if not isinstance(loops, te.LoopsOp) or not is_alone or kernel.destinations:
            return None
        if loops.inits and len(loops.inits) < len(loops.outputs):
            return None
        inside = list(loops.body.walk())
        updated = _updated(inside)
        if loops.inits and not updated:
            return None
        cells = [op for op in inside if isinstance(op, loop.AllocOp)]
        states = [op.buffer.type.element_type for op in cells if _is_state(op)]
        has_floats = any(map(is_float, states))
        count = len(states) + len(updated)
        return CarriedLoops(kernel, loops, count, not updated, has_floats) if count else None


def _is_state(alloc: loop.AllocOp) -> bool:
    """Whether a register is read and written in a loop that it stands before."""
    inside = [
        use.operation for use in alloc.buffer.uses if use.operation.parent is not alloc.parent
    ]
    is_register = alloc.scope.data is loop.Scope.REGISTER
    is_read = any(isinstance(op, loop.LoadOp) for op in inside)
    return is_register and is_read and any(isinstance(op, loop.StoreOp) for op in inside)


def _updated(operations: Sequence[Operation]) -> set[SSAValue]:
    """The buffers that loops read and write at computed places."""
    read = {op.memref for op in operations if isinstance(op, memref.LoadOp)}
    return read & {op.memref for op in operations if isinstance(op, memref.StoreOp)}


@frozen
class MergePlan:
    """Two kernels, of which the first stands before the second, and where both can stand as one."""

    one: CarriedLoops
    other: CarriedLoops
    place: te.KernelOp

    def apply(self) -> te.KernelOp:
        """The kernel of both."""
        both = (self.one, self.other)
        kernels = [each.kernel for each in both]
        name = "_".join(kernel.kernel_name.data for kernel in kernels)
        inputs = list(dict.fromkeys(value for kernel in kernels for value in kernel.inputs))
        block = Block(arg_types=[value.type for value in inputs])
        at = dict(zip(inputs, block.args, strict=True))
        for value, arg in at.items():
            arg.name_hint = value.name_hint
        sources = [
            [at[each.kernel.inputs[_number(source)]] for source in each.loops.sources]
            for each in both
        ]
        inits = [
            at[each.kernel.inputs[_number(init)]] for each in both for init in each.loops.inits
        ]
        new = _merged_loops(name, self.one.loops, self.other.loops, sources, inits)
        block.add_op(new)
        defined: list[SSAValue] = [value for each in both for value in each.loops.outputs]
        results = dict(zip(defined, new.outputs, strict=True))
        yielded = [results[value] for kernel in kernels for value in kernel.yielded]
        block.add_op(te.YieldOp(*yielded))
        outputs = [value for kernel in kernels for value in kernel.outputs]
        made = te.KernelOp(name, inputs, [value.type for value in outputs], Region(block))
        made.location = self.place.location
        Builder(InsertPoint.before(self.place)).insert(made)
        for old, output in zip(outputs, made.outputs, strict=True):
            output.name_hint = old.name_hint
            old.replace_all_uses_with(output)
        for kernel in kernels:
            kernel.detach()
            kernel.erase()
        return made


def _number(arg: SSAValue) -> int:
    owner = arg.owner
    assert isinstance(owner, Block)
    return owner.args.index(arg)


def plan_merge(one: CarriedLoops, other: CarriedLoops) -> MergePlan | str:
    """How two kernels of a block are one, of which the first stands before the second; or why they are not."""
    if one.states + other.states > MOST_STATES:
        return f"their {one.states + other.states} states are more than the {MOST_STATES} that hide each other's waits"
    if not ((one.in_registers and other.in_registers) or one.read & other.read):
        return "they update computed places, and read no tensor that both need"
    if bool(one.loops.inits) != bool(other.loops.inits):
        return "only one of them updates what it is given"
    same: dict[SSAValue, SSAValue] = {}
    if not _are_alike(one.loops.body.block, other.loops.body.block, same):
        return "their loops have different bounds"
    if all(is_before(value, one.kernel) for value in other.kernel.inputs):
        return MergePlan(one, other, one.kernel)
    if all(
        comes_after(use.operation, other.kernel)
        for value in one.kernel.outputs
        for use in value.uses
    ):
        return MergePlan(one, other, other.kernel)
    return "what stands between them needs the one and is needed by the other"


def _loops_of(block: Block) -> list[loop.ForOp]:
    return [op for op in operations_of(block) if isinstance(op, loop.ForOp)]


def _are_alike(one: Block, other: Block, same: dict[SSAValue, SSAValue]) -> bool:
    """
    Whether the loops of blocks, and those inside of them, have the same bounds each.

    `same` has the variables of loops around the other block by those of the one, and gets those inside.
    """
    ours, theirs = _loops_of(one), _loops_of(other)
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs, strict=True):
        bounds = (a.lower_map, a.upper_map, a.step, a.kind, a.mode)
        if bounds != (b.lower_map, b.upper_map, b.step, b.kind, b.mode):
            return False
        operands = [same.get(v, v) for v in (*b.lower_operands, *b.upper_operands)]
        if operands != [*a.lower_operands, *a.upper_operands]:
            return False
        same[b.induction_variable] = a.induction_variable
        if not _are_alike(a.body.block, b.body.block, same):
            return False
    return True


def _merged_loops(
    name: str,
    one: te.LoopsOp,
    other: te.LoopsOp,
    sources: Sequence[Sequence[SSAValue]],
    inits: Sequence[SSAValue],
) -> te.LoopsOp:
    """Loops that do at each step what those of the one do, and then what those of the other do."""
    read = list(dict.fromkeys(value for each in sources for value in each))
    both = (one, other)
    types = [arg.type for each in both for arg in each.output_args]
    hints = [arg.name_hint for each in both for arg in each.output_args]
    args: dict[SSAValue, SSAValue] = {}
    buffers = {
        value: arg.type
        for each, values in zip(both, sources, strict=True)
        for value, arg in zip(values, each.source_args, strict=True)
    }
    block = Block(arg_types=[*(buffers[value] for value in read), *types])
    for value, arg in zip(read, block.args, strict=False):
        arg.name_hint = value.name_hint
    for arg, hint in zip(block.args[len(read) :], hints, strict=True):
        arg.name_hint = hint
    for each, values in zip(both, sources, strict=True):
        args |= {
            arg: block.args[read.index(value)]
            for value, arg in zip(values, each.source_args, strict=True)
        }
    outputs = [arg for each in both for arg in each.output_args]
    args |= zip(outputs, block.args[len(read) :], strict=True)
    _write(Builder(InsertPoint.at_end(block)), one.body.block, other.body.block, args)
    block.add_op(te.YieldOp())
    _share_loads(block, block.args[: len(read)])
    results = [value.type for each in both for value in each.outputs]
    return te.LoopsOp(name, read, inits, results, Region(block))


def _share_loads(block: Block, sources: Container[SSAValue]) -> None:
    """Let steps load an element of a tensor, which loops do not write, once."""
    found: dict[tuple[Block | None, SSAValue, AffineMap, tuple[SSAValue, ...]], loop.LoadOp] = {}
    for load in [op for op in block.walk() if isinstance(op, loop.LoadOp)]:
        if load.buffer not in sources:
            continue
        element = load.parent, load.buffer, load.map.data, tuple(load.operands_)
        first = found.setdefault(element, load)
        if first is not load:
            load.result.replace_all_uses_with(first.result)
            load.detach()
            load.erase()


def _write(builder: Builder, one: Block, other: Block, mapping: dict[SSAValue, SSAValue]) -> None:
    """Append the operations of two blocks, loops of which are written as one."""
    theirs = [op for op in operations_of(other) if not isinstance(op, te.YieldOp | loop.YieldOp)]
    for op in operations_of(one):
        if isinstance(op, te.YieldOp | loop.YieldOp):
            break
        if not isinstance(op, loop.ForOp):
            builder.insert(op.clone(mapping))
            continue
        while not isinstance(theirs[0], loop.ForOp):
            builder.insert(theirs.pop(0).clone(mapping))
        twin = theirs.pop(0)
        assert isinstance(twin, loop.ForOp)
        bounds = (
            (op.lower_map.data, [mapping.get(v, v) for v in op.lower_operands]),
            (op.upper_map.data, [mapping.get(v, v) for v in op.upper_operands]),
        )
        made = loop.ForOp(op.loop_name.data, *bounds, step=op.step.value.data, kind=op.kind.data)
        if op.mode is not None:
            made.mode = op.mode
        builder.insert(made)
        for each in (op, twin):
            mapping[each.induction_variable] = made.induction_variable
        last = made.body.block.last_op
        assert last is not None
        inside = Builder(InsertPoint.before(last))
        _write(inside, op.body.block, twin.body.block, mapping)
    for op in theirs:
        builder.insert(op.clone(mapping))

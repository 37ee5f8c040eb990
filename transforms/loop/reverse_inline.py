"""reverse_inline: an element-wise consumer computed where its operand is produced, without the buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl
from xdsl.builder import Builder
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr
from xdsl.rewriter import InsertPoint

from ...analysis.alias import is_allocation
from ...analysis.isl_affine import constraint_exprs
from ...analysis.scop import Access
from ...analysis.statements import is_free, is_structure
from ...analysis.values import as_expressions, last_write
from ...dialects import loop
from ...dialects.loop import LoopKind
from ...dialects.schedule.steps import ReverseInline
from ..schedule.dead import erase_dead
from ..schedule.nest import Nest, Nests
from ..schedule.new_times import NewTimes, followed_by, set_kinds
from ..schedule.order import check_effects
from ..schedule.planning import planner, step_pass
from ..schedule.refusal import refuse
from ..schedule.rewrite import insert_before
from ..schedule.scratch import check_certain, iteration_text, one_write, scratch_buffer
from ..schedule.slices import copy_at, used_from_outside


@dataclass(frozen=True)
class ReverseInlinePlan:
    """The store to the buffer and the statement that goes to it, at which of its iterations."""

    alloc: loop.AllocOp
    store: loop.StoreOp
    loads: tuple[loop.LoadOp, ...]
    ops: tuple[Operation, ...]
    """the consumer's operations, in order, those that load the buffer left out"""
    free: tuple[Operation, ...]
    """constants and index arithmetic they use, in order"""
    variables: tuple[SSAValue, ...]
    point: tuple[AffineExpr, ...]
    values: tuple[SSAValue, ...]
    """what the expressions of the point and the condition are over"""
    condition: tuple[AffineConstraintExpr, ...]
    """when an element that is produced is consumed at all"""
    hoisted: tuple[tuple[loop.AllocOp, Operation], ...]
    """the consumer's buffers that are made too late, each with what it has to go in front of"""
    kinds: dict[loop.ForOp, LoopKind]

    def apply(self) -> None:
        """`for i: B[i] = f(A[i])` and `for j: C[j] = g(B[j])` → `for i: C[i] = g(f(A[i]))`."""
        for maker, there in self.hoisted:
            insert_before(there, [_detached(maker)])
        builder = Builder(InsertPoint.after(self.store))
        if self.condition:
            branch = Block([loop.YieldOp()])
            builder.insert(loop.IfOp(self.condition, self.values, Region(branch)))
            last = branch.last_op
            assert last is not None
            builder = Builder(InsertPoint.before(last))
        known: dict[SSAValue, SSAValue] = {load.result: self.store.value for load in self.loads}
        copy_at([*self.free, *self.ops], builder, self.variables, self.point, self.values, known)
        for op in reversed(self.ops):
            if op.parent is not None:
                erase_dead(op)
        erase_dead(self.store)
        for use in list(self.alloc.buffer.uses):  # loads and prefetches
            erase_dead(use.operation)
        if self.alloc.parent is not None:
            erase_dead(self.alloc)
        set_kinds(self.kinds)


def _detached(op: Operation) -> Operation:
    op.detach()
    return op


@planner(ReverseInline)
def plan_reverse_inline(step: ReverseInline, nests: Nests) -> ReverseInlinePlan:
    """
    Legal when each element is consumed in at most one iteration of one statement, and no dependence is
    turned around when that runs as soon as the element is produced.
    """
    nest, name = nests.resolve(step.buffer)
    alloc = scratch_buffer(step, nest, name)
    write, reads = one_write(step, nest, alloc)
    if not reads:
        raise refuse(step, f"nothing reads '%{name}'")
    ops = _statement(step, nest, reads, name)
    free = _free_operands(step, nest, write, ops)
    consumed = _consumed(step, write, reads, name)
    point = as_expressions(consumed)
    if point is None:
        raise refuse(
            step,
            f"the iteration that reads an element of '%{name}' is no single affine function of the one "
            "that produces it",
            remedy="split the producer's loops with index_set_split first",
        )
    condition = _condition(step, write, consumed, name)
    moved = [a for op in ops for a in nest.dependences.scop.inside(op)]
    at_store = consumed.reverse().apply_range(write.time)
    times = NewTimes(
        nest,
        {
            a: followed_by(at_store.set_tuple_name(isl.dim_type.in_, a.name), [1, a.time])
            for a in moved
        },
        (write, *reads),
    )
    times.check(step, "compute it in a loop of its own, with reverse_compute_at")
    loops = [(op, nest.time_position(op)) for op in write.loops]
    assert isinstance(write.op, loop.StoreOp)
    values = (op.induction_variable for op in write.loops)
    return ReverseInlinePlan(
        alloc,
        write.op,
        tuple(a.op for a in reads if isinstance(a.op, loop.LoadOp)),
        ops,
        free,
        tuple(op.induction_variable for op in reads[0].loops),
        tuple(point),
        (*values, *nest.dependences.scop.parameters),
        condition,
        _hoisted(step, write, moved, consumed),
        times.kinds(step, loops),
    )


# The consumer.


def _statement(
    step: ReverseInline, nest: Nest, reads: list[Access], name: str
) -> tuple[Operation, ...]:
    """The operations of one block that use the loaded elements, and all that those are used with."""
    block = reads[0].op.parent
    assert block is not None
    loads = {read.op for read in reads}
    found: set[Operation] = set()
    pending: list[Operation] = list(loads)
    while pending:
        op = pending.pop()
        if op in found:
            continue
        if op.parent is not block or is_structure(op):
            raise refuse(
                step,
                f"'%{name}' is read in more than one place, or what is read is used in a loop further in",
                remedy="fission the consumer first",
            )
        found.add(op)
        for value in used_from_outside(op):
            owner = value.owner
            if isinstance(owner, Operation) and owner.parent is block:
                pending += [] if is_free(owner) or is_allocation(value) else [owner]
        for result in op.results:
            for use in result.uses:
                user = block.find_ancestor_op_in_block(use.operation)
                pending.append(use.operation if user is None else user)
    ops = tuple(op for op in block.ops if op in found and op not in loads)
    check_effects(step, ops)
    for op in ops:
        if any(isinstance(inner, loop.ForOp | loop.AllocOp) for inner in op.walk()):
            raise refuse(step, f"the consumer of '%{name}' has loops or buffers of its own")
    return ops


def _free_operands(
    step: ReverseInline, nest: Nest, write: Access, ops: tuple[Operation, ...]
) -> tuple[Operation, ...]:
    """The constants and index arithmetic that operations use. Other values must be known at the store."""
    top = nest.function.body.block
    producer = top.find_ancestor_op_in_block(write.op)
    assert producer is not None
    found: set[Operation] = set()
    pending: list[Operation] = list(ops)
    while pending:
        for value in used_from_outside(pending.pop()):
            owner = value.owner
            if isinstance(owner, Block) or owner in found or owner in ops:
                continue
            if is_free(owner):
                found.add(owner)
                pending.append(owner)
            elif (isinstance(owner, loop.LoadOp) and _reads(owner, write)) or is_allocation(value):
                continue
            elif owner.parent is not top or not owner.is_before_in_block(producer):
                raise refuse(
                    step,
                    f"the consumer uses the value of '{owner.name}', which is not known where "
                    f"'%{write.buffer.name_hint}' is produced",
                    remedy="compute it inside of the consumer's innermost loop",
                )
    return tuple(op for op in nest.function.walk() if op in found)


def _reads(op: loop.LoadOp, write: Access) -> bool:
    return op.buffer is write.buffer


def _consumed(step: ReverseInline, write: Access, reads: list[Access], name: str) -> isl.Map:
    """The iteration of the consumer that uses each element produced."""
    first: isl.Map | None = None
    for read in reads:
        check_certain(step, read)
        source = last_write(write, read)
        missing = read.domain.subtract(source.domain())
        if not missing.is_empty():
            raise refuse(
                step,
                f"the load of '%{name}' reads an element that nothing has written, in iteration "
                f"{iteration_text(read, missing)}",
            )
        source = source.set_tuple_name(isl.dim_type.in_, "")
        if first is not None and not first.is_equal(source):
            raise refuse(
                step,
                f"an iteration of the consumer reads more than one element of '%{name}'",
                remedy="use inline, compute_at or reverse_compute_at",
            )
        first = source
    assert first is not None
    consumed = first.reverse()
    if not consumed.is_single_valued():
        raise refuse(
            step,
            f"an element of '%{name}' is read in more than one iteration of the consumer",
            remedy="use inline, compute_at or reverse_compute_at",
        )
    return consumed


def _condition(
    step: ReverseInline, write: Access, consumed: isl.Map, name: str
) -> tuple[AffineConstraintExpr, ...]:
    """When an iteration of the producer makes an element that is read; nothing when it always does."""
    used = consumed.domain()
    if write.domain.is_subset(used):
        return ()
    used = used.gist(write.domain).coalesce()
    if used.n_basic_set() == 1:
        constraints = constraint_exprs(used.get_basic_sets()[0])
        if constraints is not None:
            return tuple(constraints)
    raise refuse(
        step,
        f"not every element of '%{name}' that is produced is read, and no affine condition says which",
        remedy="produce those only that are read",
    )


def _hoisted(
    step: ReverseInline, write: Access, moved: Sequence[Access], consumed: isl.Map
) -> tuple[tuple[loop.AllocOp, Operation], ...]:
    """The consumer's buffers that are made too late, each with what it has to go in front of."""
    found: dict[loop.AllocOp, Operation] = {}
    for access in moved:
        maker = access.buffer.owner
        if not is_allocation(access.buffer) or not isinstance(maker, Operation):
            continue
        block = maker.parent
        there = None if block is None else block.find_ancestor_op_in_block(write.op)
        same = consumed
        for n in range(access.private):
            same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        if there is not None and consumed.is_subset(same):
            if maker.is_before_in_block(there):
                continue
            if isinstance(maker, loop.AllocOp) and not maker.dynamic_sizes:
                found[maker] = there
                continue
        raise refuse(
            step,
            f"the consumer uses '%{access.buffer.name_hint}', which is not there where "
            f"'%{write.buffer.name_hint}' is produced",
            remedy="allocate it before the producer",
        )
    return tuple(found.items())


LoopReverseInlinePass = step_pass(ReverseInline)

"""reverse_inline: an element-wise consumer computed where its operand is produced, without the buffer."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.builder import Builder
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineConstraintExpr, AffineExpr
from xdsl.rewriter import InsertPoint

from ...analysis.alias import is_allocation
from ...analysis.isl_affine import constraint_exprs
from ...analysis.scop import Access
from ...analysis.statements import is_free, is_structure
from ...analysis.values import as_expressions
from ...dialects import loop
from ...dialects.loop import LoopKind
from ...dialects.schedule.steps import ReverseInline
from ...frozen import frozen
from ..step_support.dead import erase_dead
from ..step_support.made import Nothing
from ..step_support.nest import Nest, Nests
from ..step_support.new_times import NewTimes, followed_by, set_kinds
from ..step_support.order import check_effects
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import insert_before
from ..step_support.scratch import check_certain, known_accesses, scratch_buffer, sources
from ..step_support.slices import copy_at, used_from_outside


@frozen
class Part:
    """Operations of one block that use loaded elements, and all that those are used with."""

    number: int
    """how many such parts come before it"""
    reads: tuple[Access, ...]
    ops: tuple[Operation, ...]
    """in order, the loads left out"""

    def accesses(self, nest: Nest) -> list[Access]:
        """The loads and stores that move with it."""
        return [a for op in self.ops for a in nest.dependences.scop.inside(op)]


@frozen
class Placement:
    """A part that goes to a store, and in which of the store's iterations."""

    part: Part
    write: Access
    consumed: isl.Map
    """from iterations of the store to those of the part"""
    free: tuple[Operation, ...]
    """constants and index arithmetic that the part uses, in order"""
    point: tuple[AffineExpr, ...]
    values: tuple[SSAValue, ...]
    """what the expressions of the point and the condition are over"""
    condition: tuple[AffineConstraintExpr, ...]
    """when an element that is produced is consumed at all"""

    def apply(self, builder: Builder) -> None:
        """Insert a copy of the part."""
        if self.condition:
            branch = Block([loop.YieldOp()])
            builder.insert(loop.IfOp(self.condition, self.values, Region(branch)))
            last = branch.last_op
            assert last is not None
            builder = Builder(InsertPoint.before(last))
        store = self.write.op
        assert isinstance(store, loop.StoreOp)
        loaded: list[SSAValue] = [v for read in self.part.reads for v in read.op.results]
        known = dict.fromkeys(loaded, store.value)
        variables = tuple(op.induction_variable for op in self.part.reads[0].loops)
        ops = [*self.free, *self.part.ops]
        copy_at(ops, builder, variables, self.point, self.values, known)


@frozen
class ReverseInlinePlan:
    """The stores to the buffer, and the parts of the consumer that go to them."""

    alloc: loop.AllocOp
    stores: tuple[Operation, ...]
    parts: tuple[Part, ...]
    placements: tuple[Placement, ...]
    hoisted: tuple[tuple[loop.AllocOp, Operation], ...]
    """the consumer's buffers that are made too late, each with what it has to go in front of"""
    kinds: dict[loop.ForOp, LoopKind]

    def apply(self) -> Nothing:
        """`for i: B[i] = f(A[i])` and `for j: C[j] = g(B[j])` → `for i: C[i] = g(f(A[i]))`."""
        for maker, there in self.hoisted:
            insert_before(there, [_detached(maker)])
        builders = {op: Builder(InsertPoint.after(op)) for op in self.stores}
        for placement in self.placements:
            placement.apply(builders[placement.write.op])
        moved = [op for part in self.parts for op in reversed(part.ops)]
        uses = [use.operation for use in self.alloc.buffer.uses]  # stores, loads and prefetches
        for op in (*moved, *uses, self.alloc):
            if op.parent is not None:  # not gone already with a loop that was left empty
                erase_dead(op)
        set_kinds(self.kinds)
        return Nothing()


def _detached(op: Operation) -> Operation:
    op.detach()
    return op


@planner(ReverseInline)
def plan_reverse_inline(step: ReverseInline, nests: Nests) -> ReverseInlinePlan:
    """
    Legal when each element is consumed in at most one iteration of each statement that reads it, and no
    dependence is turned around when that runs as soon as the element is produced.
    """
    nest, name = nests.resolve(step.buffer)
    alloc = scratch_buffer(step, nest, name)
    writes, reads = known_accesses(step, nest, alloc)
    if not reads:
        raise refuse(step, f"nothing reads '%{name}'")
    parts = _parts(step, writes, reads, name)
    placements = [p for part in parts for p in _placements(step, nest, writes, part, name)]
    moved: dict[Access, isl.Map] = {}
    for placement in placements:
        at_store = placement.consumed.reverse().apply_range(placement.write.time)
        for access in placement.part.accesses(nest):
            to_store = at_store.set_tuple_name(isl.dim_type.in_, access.name)
            time = followed_by(to_store, [1 + placement.part.number, access.time])
            moved[access] = moved[access].union(time) if access in moved else time
    gone = [access for access in nest.dependences.scop.accesses if access.buffer is alloc.buffer]
    # What never runs is gone as well.
    gone += [a for part in parts for a in part.accesses(nest) if a not in moved]
    times = NewTimes(nest, moved, gone)
    times.check(step, "compute it in a loop of its own, with reverse_compute_at")
    around = dict.fromkeys(op for placement in placements for op in placement.write.loops)
    loops = [(op, nest.time_position(op)) for op in around]
    return ReverseInlinePlan(
        alloc,
        tuple(write.op for write in writes),
        parts,
        tuple(placements),
        _hoisted(step, nest, placements),
        times.kinds(step, loops),
    )


def _placements(
    step: ReverseInline, nest: Nest, writes: Sequence[Access], part: Part, name: str
) -> list[Placement]:
    """Where a part goes: to each store that it gets elements from."""
    found: list[Placement] = []
    for write, consumed in _consumed(step, writes, part, name).items():
        point = as_expressions(consumed)
        if point is None:
            raise refuse(
                step,
                f"the iteration that reads an element of '%{name}' is no single affine function of the "
                "one that produces it",
                remedy="split the producer's loops with index_set_split first",
            )
        variables = (op.induction_variable for op in write.loops)
        found.append(
            Placement(
                part,
                write,
                consumed,
                _free_operands(step, nest, write, part.ops),
                tuple(point),
                (*variables, *nest.dependences.scop.parameters),
                _condition(step, write, consumed, name),
            )
        )
    return found


# The consumer.


def _parts(
    step: ReverseInline, writes: Sequence[Access], reads: Sequence[Access], name: str
) -> tuple[Part, ...]:
    """What uses the loaded elements, cut into parts that share nothing but constants and indices."""
    parts: list[Part] = []
    left = list(reads)
    while left:
        used = _used_together(step, left[0].op, name)
        members = tuple(read for read in left if read.op in used)
        left = [read for read in left if read not in members]
        block = members[0].op.parent
        assert block is not None
        loads = {read.op for read in members}
        ops = tuple(op for op in block.ops if op in used and op not in loads)
        check_effects(step, ops)
        for op in ops:
            if any(isinstance(inner, loop.ForOp | loop.AllocOp) for inner in op.walk()):
                raise refuse(step, f"the consumer of '%{name}' has loops or buffers of its own")
            if any(op.is_ancestor(write.op) for write in writes):
                raise refuse(
                    step,
                    f"'%{name}' is computed from elements of its own (a reduction or recurrence)",
                    remedy="use reverse_compute_at",
                )
            if any(read.op is not op and op.is_ancestor(read.op) for read in reads):
                raise refuse(
                    step, f"'%{name}' is read in a branch inside of a statement that reads it"
                )
        parts.append(Part(len(parts), members, ops))
    return tuple(parts)


def _used_together(step: ReverseInline, load: Operation, name: str) -> set[Operation]:
    """The load, the operations of its block that use its value, and all that those are used with."""
    block = load.parent
    assert block is not None
    found: set[Operation] = set()
    pending = [load]
    while pending:
        op = pending.pop()
        if op in found:
            continue
        if op.parent is not block or is_structure(op) or isinstance(op, loop.YieldOp):
            raise refuse(
                step,
                f"what is read of '%{name}' is used in a loop or branch further in, or goes out of one",
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
    return found


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
                    f"'%{loop.buffer_name(write.buffer)}' is produced",
                    remedy="compute it inside of the consumer's innermost loop",
                )
    return tuple(op for op in nest.function.walk() if op in found)


def _reads(op: loop.LoadOp, write: Access) -> bool:
    return op.buffer is write.buffer


def _consumed(
    step: ReverseInline, writes: Sequence[Access], part: Part, name: str
) -> dict[Access, isl.Map]:
    """For each store whose elements a part uses, the iteration of the part that uses each of them."""
    first: dict[Access, isl.Map] | None = None
    for read in part.reads:
        check_certain(step, read)
        found = {
            write: source.set_tuple_name(isl.dim_type.in_, "")
            for write, source in sources(step, writes, read).items()
        }
        if first is None:
            first = found
        elif first.keys() != found.keys() or any(
            not source.is_equal(first[write]) for write, source in found.items()
        ):
            raise refuse(
                step,
                f"an iteration of the consumer reads more than one element of '%{name}'",
                remedy="use inline, compute_at or reverse_compute_at",
            )
    assert first is not None
    consumed = {write: source.reverse() for write, source in first.items()}
    if not all(pairs.is_single_valued() for pairs in consumed.values()):
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
        f"not every element of '%{name}' that is produced is read, and no affine condition says which "
        "(an approximation: divisions and alternatives are not looked for)",
        remedy="produce those only that are read",
    )


def _hoisted(
    step: ReverseInline, nest: Nest, placements: Sequence[Placement]
) -> tuple[tuple[loop.AllocOp, Operation], ...]:
    """The consumer's buffers that are made too late, each with what it has to go in front of."""
    found: dict[loop.AllocOp, Operation] = {}
    for placement in placements:
        for access in placement.part.accesses(nest):
            late = _made_late(step, placement, access)
            if late is not None:
                maker, there = late
                known = found.get(maker)
                if known is None or there.is_before_in_block(known):
                    found[maker] = there
    return tuple(found.items())


def _made_late(
    step: ReverseInline, placement: Placement, access: Access
) -> tuple[loop.AllocOp, Operation] | None:
    maker = access.buffer.owner
    if not is_allocation(access.buffer) or not isinstance(maker, Operation):
        return None
    write, consumed = placement.write, placement.consumed
    block = maker.parent
    there = None if block is None else block.find_ancestor_op_in_block(write.op)
    if access.private > min(consumed.dim(isl.dim_type.in_), consumed.dim(isl.dim_type.out)):
        there = None  # it is made in more loops than there are around the producer
    same = consumed
    for n in range(0 if there is None else access.private):
        same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    if there is not None and consumed.is_subset(same):
        if maker.is_before_in_block(there):
            return None
        if isinstance(maker, loop.AllocOp) and not maker.dynamic_sizes:
            return maker, there
    raise refuse(
        step,
        f"the consumer uses '%{loop.buffer_name(access.buffer)}', which is not there where "
        f"'%{loop.buffer_name(write.buffer)}' is produced",
        remedy="allocate it before the producer",
    )


LoopReverseInlinePass = step_pass(ReverseInline, numerics="reassociates")

"""decompose_reduction: a reduction's initialisation moved in front of a loop, in a nest of its own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.loop import LoopKind, LoopKindAttr
from ...dialects.schedule.steps import DecomposeReduction
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.dead import erase_dead
from ..step_support.handles import loops_in
from ..step_support.made import SomeLoops
from ..step_support.nest import Nest, Nests
from ..step_support.new_times import NewTimes, first_entries, followed_by, last_entries
from ..step_support.order import check_effects, check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import insert_before
from ..step_support.slices import may_repeat, used_from_outside


@frozen
class DecomposeReductionPlan:
    """The loop, the initialisation in it, and what a copy of the loop keeps for that."""

    nest: Nest
    at: loop.ForOp
    store: loop.StoreOp
    kept: frozenset[Operation]
    name: str
    parallel: frozenset[loop.ForOp]
    """loops around the initialisation none of whose iterations of it depends on another"""

    def apply(self) -> SomeLoops:
        """`for i: C[i] = 0; for k: C[i] += …` → `for i.init: C[i] = 0`, then `for i: for k: C[i] += …`."""
        copies: dict[Operation, Operation] = {}
        copier = Copier(self.nest)
        init = self.at.clone()
        copier.note(self.at, init)
        for old, new in zip(self.at.walk(), init.walk(), strict=True):
            copies[new] = old
        for op in reversed(list(init.walk())):
            old = copies[op]
            if isinstance(op, loop.ForOp):
                op.mode = None
                op.attributes.clear()
                if old in self.parallel:
                    op.kind = LoopKindAttr(LoopKind.PARALLEL)
            # What stands inside of an operation goes with it.
            is_inside_kept = old is self.at or old.parent_op() in (self.at, *self.kept)
            if old not in self.kept and is_inside_kept and not isinstance(op, loop.YieldOp):
                op.detach()
                op.erase()
            elif isinstance(op, loop.IfOp) and old.is_ancestor(self.store):
                _drop_empty_else(op)
        init.loop_name = StringAttr(self.name)
        copier.rename_inside(init, ".init")
        insert_before(self.at, [init])
        erase_dead(self.store)
        return SomeLoops(loops_in(self.nest, [init]))


def _drop_empty_else(op: loop.IfOp) -> None:
    blocks = op.else_region.blocks
    if blocks and isinstance(blocks[0].first_op, loop.YieldOp):
        op.else_region.erase_block(blocks[0])


@planner(DecomposeReduction)
def plan_decompose_reduction(step: DecomposeReduction, nests: Nests) -> DecomposeReductionPlan:
    """
    Legal when nothing that runs between an element's initialisation and the start of the loop reads or
    writes the element.
    """
    nest, name = nests.resolve(step.buffer)
    at = nest.loop(step.at)
    scop = nest.dependences.scop
    buffer = scop.aliases.root(nest.buffer(name))
    check_structured(step, at)
    check_effects(step, at)
    store = _initialisation(step, nest, at, buffer)
    if isinstance(buffer.owner, Operation) and at.is_ancestor(buffer.owner):
        raise refuse(
            step,
            f"'%{name}' is made inside of loop '{step.at}'",
            remedy="choose a loop further in",
        )
    kept = _kept(step, at, store)
    moved = [a for a in scop.inside(at) if a.op in kept]
    position = nest.time_position(at)
    times = {
        a: followed_by(
            first_entries(a.time, position),
            [0 if a in moved else 1, last_entries(a.time, position)],
        )
        for a in scop.inside(at)
    }
    NewTimes(nest, times).check(step, "choose a loop further in")
    return DecomposeReductionPlan(
        nest,
        at,
        store,
        kept,
        nest.fresh_loop_name(f"{step.at}.init"),
        _parallel(nest, at, moved),
    )


def _initialisation(
    step: DecomposeReduction, nest: Nest, at: loop.ForOp, buffer: SSAValue
) -> loop.StoreOp:
    """The only store to the buffer inside the loop that is no update of the reduction."""
    updates = nest.dependences.updates
    name = loop.buffer_name(buffer)
    writes = [a for a in nest.dependences.scop.inside(at) if a.buffer is buffer and a.is_write]
    if not any(a.op in updates for a in writes):
        raise refuse(step, f"loop '{step.at}' has no reduction into '%{name}'")
    rest = [a.op for a in writes if a.op not in updates]
    if len(rest) != 1 or not isinstance(rest[0], loop.StoreOp):
        raise refuse(
            step,
            f"loop '{step.at}' has {len(rest)} stores to '%{name}' that could initialise the reduction, "
            "expected one",
        )
    return rest[0]


def _kept(step: DecomposeReduction, at: loop.ForOp, store: loop.StoreOp) -> frozenset[Operation]:
    """The store, what computes its operands, and the loops and conditions around these."""
    found: set[Operation] = set()
    pending: list[Operation] = [store]
    while pending:
        op = pending.pop()
        if op in found or not at.is_ancestor(op):
            continue
        found.add(op)
        around = op.parent_op()
        if around is not None:
            pending.append(around)
        if op.is_ancestor(store):
            values = tuple(op.operands)
            if op.results:
                raise refuse(
                    step,
                    f"the initialisation stands inside of '{op.name}' with results, which others use",
                    remedy="write its condition twice",
                )
        elif may_repeat(op):
            values = tuple(used_from_outside(op))
            found.update(op.walk())
        else:
            raise refuse(
                step, f"the initialisation needs what '{op.name}' gives, which cannot be repeated"
            )
        pending.extend(v.owner for v in values if isinstance(v.owner, Operation))
    return frozenset(found)


def _parallel(nest: Nest, at: loop.ForOp, moved: Sequence[Access]) -> frozenset[loop.ForOp]:
    loops = {op: None for access in moved for op in access.loops if at.is_ancestor(op)}
    among = nest.dependences.between(moved, moved)
    return frozenset(op for op in loops if not any(d.is_carried_by(op) for d in among))


LoopDecomposeReductionPass = step_pass(DecomposeReduction)

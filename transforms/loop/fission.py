"""fission: the first part of a loop's body for all iterations, then the rest (distribution)."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.dialects import memref
from xdsl.ir import Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from ...analysis.alias import is_allocation
from ...analysis.dependence import Dependence
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.schedule.steps import Fission
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import loop_handle
from ..step_support.made import TwoLoops
from ..step_support.nest import Nest, Nests
from ..step_support.order import check_effects, check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse, refuse_dependence
from ..step_support.rewrite import (
    body_ops,
    insert_after,
    loop_like,
    lower_bound,
    upper_bound,
)


@frozen
class FissionPlan:
    """A loop, the name of the second one, and which operations of the body run in which."""

    nest: Nest
    for_op: loop.ForOp
    rest: str
    moved: tuple[Operation, ...]
    """Operations that run in the second loop only."""
    repeated: tuple[Operation, ...]
    """Loads and arithmetic whose values both loops use: the second computes them again."""

    def apply(self) -> TwoLoops:
        """`for i: S(i); T(i)` → `for i: S(i)` then `for i.rest: T(i)`"""
        second = loop_like(
            self.for_op, lower_bound(self.for_op), upper_bound(self.for_op), name=self.rest
        )
        second.induction_variable.name_hint = self.for_op.induction_variable.name_hint
        block = second.body.block
        last = block.last_op
        assert last is not None
        values: dict[SSAValue, SSAValue] = {
            self.for_op.induction_variable: second.induction_variable
        }
        copier = Copier(self.nest)
        self.nest.identities.copied(self.for_op, second)
        for op in body_ops(self.for_op):
            if op in self.repeated:
                block.insert_op_before(copier.operation(op, ".rest", values), last)
            elif op in self.moved:
                op.detach()
                block.insert_op_before(op, last)
                _rename_values(op, values)
        insert_after(self.for_op, [second])
        return TwoLoops(loop_handle(self.nest, self.for_op), loop_handle(self.nest, second))


def _rename_values(root: Operation, values: dict[SSAValue, SSAValue]) -> None:
    for op in root.walk():
        if any(v in values for v in op.operands):
            op.operands = [values.get(v, v) for v in op.operands]


@planner(Fission)
def plan_fission(step: Fission, nests: Nests) -> FissionPlan:
    """
    Legal when nothing in the first part has to run after something of the rest in an earlier iteration.

    The cut is made after the loop called `after`, or after the last store of the body to the buffer of
    that name (in a loop of the body when there is no other). Values of the first part that the rest uses
    are computed there when only the rest uses them, and computed again when that is safe.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    body = body_ops(for_op)
    cut = _cut(step, nest, for_op, body)
    if not any(_does_something(op) for op in body[cut:]):
        raise refuse(
            step,
            f"nothing follows '{step.after}' in the body of '{name}'",
            remedy="cut before the last statement",
        )
    moved, repeated = _divide(step, body[:cut], body[cut:])
    check_structured(step, for_op)
    check_effects(step, for_op)
    _check(step, nest, for_op, moved, repeated)
    return FissionPlan(nest, for_op, nest.fresh_loop_name(f"{name}.rest"), moved, repeated)


def _cut(step: Fission, nest: Nest, for_op: loop.ForOp, body: Sequence[Operation]) -> int:
    """How many operations of the body come before the cut."""
    for position, op in enumerate(body):
        if any(isinstance(o, loop.ForOp) and o.loop_name.data == step.after for o in op.walk()):
            return position + 1
    buffer = _stored_buffer(nest, for_op, step.after)
    if buffer is None:
        names = [op.loop_name.data for op in body if isinstance(op, loop.ForOp)]
        names += [loop.buffer_name(b) or "" for b in _stored_buffers(for_op)]
        known = ", ".join(f"'{n}'" for n in dict.fromkeys(names))
        raise refuse(
            step,
            f"the body of '{for_op.loop_name.data}' has no loop or store to a buffer '{step.after}'",
            remedy=f"name one of {known}" if known else "",
        )
    # `C[i] = 0; for k: C[i] += …` is cut between the two: the loop has a name of its own to cut after.
    places = [n for n, op in enumerate(body) if buffer in _stored_buffers(op)]
    return max([n for n in places if not body[n].regions] or places) + 1


def _stored_buffer(nest: Nest, for_op: loop.ForOp, name: str) -> SSAValue | None:
    return next((b for b in _stored_buffers(for_op) if loop.buffer_name(b) == name), None)


def _stored_buffers(root: Operation) -> list[SSAValue]:
    """The buffers stored to inside an operation, each once."""
    found: dict[SSAValue, None] = {}
    for op in root.walk():
        if isinstance(op, loop.StoreOp):
            found[op.buffer] = None
        elif isinstance(op, memref.StoreOp):
            found[op.memref] = None
    return list(found)


# Which operations go where.


def _divide(
    step: Fission, first: Sequence[Operation], second: Sequence[Operation]
) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """The operations that run in the second loop only, and those of the first part that run in both."""
    needed: set[Operation] = set(second)
    kept: set[Operation] = set()
    for op in reversed(first):
        users = _users(op)
        is_needed = any(user in needed for user in users)
        if not is_needed or not _may_move(op) or any(user in kept for user in users):
            kept.add(op)
        if is_needed:
            if op in kept and not _may_repeat(op):
                raise _refuse_value(step, op)
            needed.add(op)
    moved = tuple(op for op in (*first, *second) if op in needed and op not in kept)
    return moved, tuple(op for op in first if op in needed and op in kept)


def _users(op: Operation) -> set[Operation]:
    """The operations of the same block that use a result, themselves or in their regions."""
    block = op.parent
    assert block is not None
    users = (block.find_ancestor_op_in_block(u.operation) for r in op.results for u in r.uses)
    return {user for user in users if user is not None}


def _does_something(op: Operation) -> bool:
    effects = get_effects(op)
    return effects is None or any(e.kind is not MemoryEffectKind.READ for e in effects)


def _may_move(op: Operation) -> bool:
    """Whether the operation may run in the second loop instead, if dependences allow it."""
    return _only(op, MemoryEffectKind.READ, MemoryEffectKind.ALLOC)


def _may_repeat(op: Operation) -> bool:
    """Whether the operation may run in both loops, if dependences allow it."""
    return _only(op, MemoryEffectKind.READ)


def _only(op: Operation, *kinds: MemoryEffectKind) -> bool:
    effects = get_effects(op)
    return effects is not None and all(e.kind in kinds for e in effects)


def _refuse_value(step: Fission, op: Operation) -> Exception:
    value = op.results[0]
    name = (
        f"'%{loop.buffer_name(value)}'" if loop.buffer_name(value) else f"the result of '{op.name}'"
    )
    if isinstance(op, loop.AllocOp):
        return refuse(
            step,
            f"the buffer {name} is made in each iteration and used by both parts",
            remedy="make it outside of the loop, with an axis for its iterations",
        )
    return refuse(
        step,
        f"the value {name} of '{op.name}' is computed in the first part and used in the rest, and "
        "cannot be computed again",
        remedy="store it in a buffer first",
    )


# Legality.


def _check(
    step: Fission,
    nest: Nest,
    for_op: loop.ForOp,
    moved: Sequence[Operation],
    repeated: Sequence[Operation],
) -> None:
    """Raise the refusal when something of the second loop has to run before something of the first."""
    block = for_op.body.block

    def statement(dependent: Access) -> Operation | None:
        return block.find_ancestor_op_in_block(dependent.op)

    for dependence in nest.dependences.all:
        source, sink = statement(dependence.source), statement(dependence.sink)
        if (
            source is None
            or sink is None
            or (source not in moved and source not in repeated)
            or sink in moved
            or dependence.reduction is not None
        ):
            continue
        pairs = _in_one_run(dependence, for_op)
        if not pairs.is_empty():
            raise refuse_dependence(
                step, nest.dependences, dependence, pairs, remedy=_remedy(dependence, for_op)
            )


def _in_one_run(dependence: Dependence, for_op: loop.ForOp) -> isl.Map:
    """The pairs in the same iteration of all the loops around."""
    pairs = dependence.relation
    for n in range(dependence.common_loops.index(for_op)):
        pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    return pairs


def _remedy(dependence: Dependence, for_op: loop.ForOp) -> str:
    buffer = dependence.source.buffer
    if is_allocation(buffer) and not for_op.is_ancestor(buffer.owner):
        return f"give '%{loop.buffer_name(buffer)}' an axis for the iterations of '{for_op.loop_name.data}'"
    return "leave these two in one loop"


LoopFissionPass = step_pass(Fission, numerics="reassociates")

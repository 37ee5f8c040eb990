"""Taking operations away, with what only they needed."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from ...analysis.operations import blocks_of, operations_of
from ...dialects import loop


def erase_dead(op: Operation) -> None:
    """
    Erase an operation without uses, what computed its operands only for it, and loops left empty.

    Before: `for i: %v = load A[i]; store %v, B[i]`. After, of the store: nothing.
    """
    around = op.parent_op()
    operands = list(dict.fromkeys(op.operands))
    op.detach()
    op.erase()
    for operand in operands:
        owner = operand.owner
        if isinstance(owner, Operation) and _is_dead(owner):
            erase_dead(owner)
    if around is not None and around.parent is not None and _is_empty(around):
        erase_dead(around)


def _is_dead(op: Operation) -> bool:
    return op.parent is not None and not any(r.uses for r in op.results) and _does_nothing(op)


def _does_nothing(op: Operation) -> bool:
    if type(op) is loop.StoreOp:
        return False  # as most that is asked about
    if type(op) is loop.ForOp or type(op) is loop.IfOp:
        return _is_idle(op)
    effects = get_effects(op)
    harmless = (MemoryEffectKind.READ, MemoryEffectKind.ALLOC)
    return effects is not None and all(e.kind in harmless for e in effects)


def _is_empty(op: Operation) -> bool:
    """
    Whether a loop, or a branch without results, does nothing.

    It is asked after each operation that is erased, so from the end on: a body ends with what it is there for, mostly.
    """
    if not isinstance(op, loop.ForOp | loop.IfOp) or op.results:
        return False
    return _is_idle(op)


def _is_idle(op: Operation) -> bool:
    return all(
        inner.has_trait(IsTerminator) or _does_nothing(inner)
        for block in blocks_of(op)
        for inner in reversed(operations_of(block))
    )

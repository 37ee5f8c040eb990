"""What the loops of a function store to: a load of anything else may stand before them."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ..analysis.alias import Aliases
from ..analysis.effects import has_no_effect
from ..analysis.operations import operands_of, operation_around, operations_in
from ..dialects import loop


class LoopWrites:
    """For each loop of a function, the buffers loaded in it that none of its iterations stores to."""

    def __init__(self, function: func.FuncOp) -> None:
        aliases = Aliases(function)
        loaded: dict[tuple[loop.ForOp, SSAValue], None] = {}
        stored: dict[loop.ForOp, set[SSAValue]] = {}
        opaque: set[loop.ForOp] = set()
        """loops in which something happens that may write anywhere"""
        for op in operations_in(function):
            kind = type(op)
            if kind is loop.LoadOp:
                buffer = operands_of(op)[0]
                loaded |= dict.fromkeys((around, buffer) for around in _loops_around(op))
            elif kind is loop.StoreOp:
                root = aliases.root(operands_of(op)[1])
                for around in _loops_around(op):
                    stored.setdefault(around, set()).add(root)
            elif not (
                kind in _HARMLESS or has_no_effect(kind) or op.regions or is_side_effect_free(op)
            ):
                opaque.update(_loops_around(op))
        self._unchanged = {
            (around, buffer)
            for around, buffer in loaded
            if around not in opaque
            and not any(
                aliases.may_alias(aliases.root(buffer), other) for other in stored.get(around, ())
            )
        }

    def may_change(self, for_op: loop.ForOp, buffer: SSAValue) -> bool:
        """Whether an iteration may store to a buffer that is loaded from in the loop."""
        return (for_op, buffer) not in self._unchanged


_HARMLESS = frozenset((loop.PrefetchOp, loop.AllocOp, loop.YieldOp))


def _loops_around(op: Operation) -> list[loop.ForOp]:
    found: list[loop.ForOp] = []
    parent = operation_around(op)
    while parent is not None:
        if type(parent) is loop.ForOp:
            found.append(parent)
        parent = operation_around(parent)
    return found

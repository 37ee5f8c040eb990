"""What the loops of a function store to: a load of anything else may stand before them."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.traits import is_side_effect_free

from ..analysis.alias import Aliases
from ..analysis.effects import has_no_effect
from ..analysis.operations import operands_of, operations_in
from ..dialects import loop


class LoopWrites:
    """What the loops of a function may store to, found for each loop when it is asked for."""

    def __init__(self, aliases: Aliases) -> None:
        """`aliases` are those of the function, which stays as it is."""
        self._aliases = aliases
        self._stored: dict[loop.ForOp, frozenset[SSAValue] | None] = {}
        """the buffers, views seen through, or None where something happens that may write anywhere"""

    def may_change(self, for_op: loop.ForOp, buffer: SSAValue) -> bool:
        """Whether an iteration may store to a buffer that is loaded from in the loop."""
        if for_op not in self._stored:
            self._stored[for_op] = self._stored_in(for_op)
        stored, aliases = self._stored[for_op], self._aliases
        return stored is None or any(
            aliases.may_alias(aliases.root(buffer), other) for other in stored
        )

    def _stored_in(self, for_op: loop.ForOp) -> frozenset[SSAValue] | None:
        found: set[SSAValue] = set()
        for op in operations_in(for_op):
            kind = type(op)
            if kind is loop.StoreOp:
                found.add(self._aliases.root(operands_of(op)[1]))
            elif not (
                kind in _HARMLESS or has_no_effect(kind) or op.regions or is_side_effect_free(op)
            ):
                return None
        return frozenset(found)


_HARMLESS = frozenset((loop.LoadOp, loop.PrefetchOp, loop.AllocOp, loop.YieldOp))

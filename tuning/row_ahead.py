"""What runs ahead of blocks of rows: the nests that make the right operands of their contractions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from xdsl.ir import SSAValue

from ..dialects import loop
from ..dialects.schedule.steps import Inline, Stage
from ..transforms.step_support.refusal import Refusal
from .contraction import Contraction
from .facts import PerfectNest
from .session import Session


def makers(nests: Sequence[PerfectNest], buffers: Iterable[SSAValue]) -> list[PerfectNest]:
    """The nests, in order, that store to one of the buffers, or to what these are made from."""
    wanted, found = set(buffers), list[PerfectNest]()
    for nest in reversed(nests):
        if any(store.buffer in wanted for store in nest.stores):
            found.insert(0, nest)
            wanted |= {load.buffer for load in nest.loads}
    return found


class Ahead:
    """
    The steps for such nests. What is computed element by element is computed where it is packed, once for
    each entry of the batch; the rest is made in front of the blocks, and kept for one entry.
    """

    def __init__(
        self,
        session: Session,
        nests: Sequence[PerfectNest],
        contractions: Sequence[Contraction],
        batch: Sequence[int | None],
    ):
        self.session, self.batch = session, batch
        self.made = {store.buffer for nest in nests for store in nest.stores}
        self._batched = [
            store.buffer for nest in nests if self.is_batched(nest) for store in nest.stores
        ]
        operands = {c.right for c in contractions}
        self._inlined = [
            nest.stores[0].buffer
            for nest in nests
            if _is_elementwise(nest) and _is_read_by_all(nest.stores[0].buffer, operands)
        ]

    def is_batched(self, nest: PerfectNest) -> bool:
        """Whether the nest's outer loops are those over the batch."""
        outer = nest.loops[: len(self.batch)]
        return [f.constant_trip_count() for f in outer] == list(self.batch) and all(
            f.kind.data is loop.LoopKind.PARALLEL for f in outer
        )

    def computes(self, buffer: SSAValue) -> bool:
        """Whether the buffer's elements can be computed where they are packed."""
        return buffer in self._inlined

    def keep_near(self, at: str) -> None:
        """Compute in the copies what can be, and keep the rest for one iteration of the loop `at`."""
        gone: set[SSAValue] = set()
        for buffer in self._inlined:
            with suppress(Refusal):
                self.session.apply(Inline(self._name(buffer)))
                gone.add(buffer)
        for buffer in dict.fromkeys(self._batched):
            if at and buffer not in gone and isinstance(buffer.owner, loop.AllocOp):
                with suppress(Refusal):
                    self.session.apply(Stage(self._name(buffer), at, scope="arena"))

    def _name(self, buffer: SSAValue) -> str:
        return self.session.named(loop.buffer_name(buffer) or "")


def _is_elementwise(nest: PerfectNest) -> bool:
    return (
        nest.is_flat
        and len(nest.stores) == 1
        and bool(nest.loads)
        and all(f.kind.data is loop.LoopKind.PARALLEL for f in nest.loops)
        and nest.stores[0].buffer not in {load.buffer for load in nest.loads}
    )


def _is_read_by_all(buffer: SSAValue, operands: Collection[loop.LoadOp]) -> bool:
    loads = [use.operation for use in buffer.uses if isinstance(use.operation, loop.LoadOp)]
    return isinstance(buffer.owner, loop.AllocOp) and all(load in operands for load in loads)

"""Handles: loops and buffers of a function under schedule, whatever steps have made of them and their names."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from ...dialects import loop
from ...dialects.schedule import Named
from ...errors import StepwellError
from ...frozen import frozen
from .identities import Identity
from .nest import Nest, regions_around
from .trip_count import TripCount


@frozen
class Handle(Named):
    """
    A loop or buffer that stays the same while steps move, rename or copy it.

    Where a step takes a name it takes a handle too, which stands for the name that its loop or buffer has.
    Handles of one loop are equal. One whose loop is gone says by which step when it is used.
    """

    nest: Nest
    identity: Identity

    @property
    def is_gone(self) -> bool:
        """Whether a step has taken it away: split it, unrolled it, merged it with another …"""
        return self.identity.is_gone

    @property
    def target(self) -> str:
        return f"{self.nest.function.sym_name.data}/{self.name}"

    def __str__(self) -> str:
        return self.name

    def _gone(self, what: str) -> StepwellError:
        return StepwellError(
            f"{what} is gone since {self.identity.ended_by}; take a handle from what that step "
            "returned, or by name"
        )


class LoopHandle(Handle):
    """The handle of a loop."""

    @property
    def op(self) -> loop.ForOp:
        """The loop. Raises StepwellError when it is gone."""
        if self.identity.is_gone:
            raise self._gone(f"loop '{self._op.loop_name.data}'")
        return self._op

    @property
    def name(self) -> str:
        """The name it has now. Raises StepwellError when it is gone."""
        return self.op.loop_name.data

    @property
    def trips(self) -> int | None:
        """The number of iterations; None when it is not always the same one, or not known."""
        count = self.op.constant_trip_count()
        return TripCount(self.nest, self.op).constant() if count is None else count

    @property
    def most_trips(self) -> int | None:
        """The greatest number of iterations; None where it is not known."""
        return TripCount(self.nest, self.op).range()[1]

    @property
    def copies(self) -> tuple[LoopHandle, ...]:
        """
        The loop and all others that are there and that steps copied from it, or it from: itself first, the
        others in textual order. Of a loop that is gone, the copies that are left.
        """
        first = () if self.is_gone else (self,)
        if not self.nest.identities.was_copied(self.identity):
            return first
        found = self.nest.identities.copies(self.identity.root, self.nest.loops())
        others = [LoopHandle(self.nest, each) for each in found if each is not self.identity]
        return (*first, *others)

    def copies_in(self, around: LoopHandle) -> tuple[LoopHandle, ...]:
        """Those of the copies that stand inside of a loop."""
        return tuple(copy for copy in self.copies if copy.stands_in(around))

    def stands_in(self, around: LoopHandle) -> bool:
        """Whether the loop stands inside of another."""
        return around.op in regions_around(self.op)

    @property
    def main(self) -> LoopHandle:
        """What its copies were made from, or the first of them in the text where that is gone."""
        root = LoopHandle(self.nest, self.identity.root)
        return root if not root.is_gone else root.copies[0]

    @property
    def _op(self) -> loop.ForOp:
        subject = self.identity.subject
        assert isinstance(subject, loop.ForOp)
        return subject

    def __repr__(self) -> str:
        gone = f", gone since {self.identity.ended_by}" if self.is_gone else ""
        return f"<loop '{self._op.loop_name.data}'{gone}>"


class BufferHandle(Handle):
    """The handle of a buffer."""

    @property
    def value(self) -> SSAValue:
        """The buffer. Raises StepwellError when it is gone."""
        if self.identity.is_gone:
            raise self._gone(f"buffer '{loop.buffer_name(self._value)}'")
        return self._value

    @property
    def name(self) -> str:
        """The name it has now. Raises StepwellError when it is gone."""
        return loop.buffer_name(self.value) or ""

    @property
    def copies(self) -> tuple[BufferHandle, ...]:
        """The buffer and its copies, as `LoopHandle.copies`."""
        first = () if self.is_gone else (self,)
        if not self.nest.identities.was_copied(self.identity):
            return first
        found = self.nest.identities.copies(self.identity.root, self.nest.buffers())
        others = [BufferHandle(self.nest, each) for each in found if each is not self.identity]
        return (*first, *others)

    @property
    def _value(self) -> SSAValue:
        subject = self.identity.subject
        assert isinstance(subject, SSAValue)
        return subject

    def __repr__(self) -> str:
        gone = f", gone since {self.identity.ended_by}" if self.is_gone else ""
        return f"<buffer '{loop.buffer_name(self._value)}'{gone}>"


def loop_handle(nest: Nest, for_op: loop.ForOp) -> LoopHandle:
    """The handle of a loop of the function."""
    return LoopHandle(nest, nest.identities.of(for_op))


def loops_in(nest: Nest, roots: Sequence[Operation]) -> tuple[LoopHandle, ...]:
    """The handles of all loops of operations, in textual order."""
    inside = (op for root in roots for op in root.walk())
    return tuple(loop_handle(nest, op) for op in inside if isinstance(op, loop.ForOp))


def buffer_handle(nest: Nest, buffer: SSAValue) -> BufferHandle:
    """The handle of a buffer of the function."""
    return BufferHandle(nest, nest.identities.of(buffer))

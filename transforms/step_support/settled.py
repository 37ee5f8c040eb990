"""Which operations were found to be as simple as they can be, and are not looked at again until they change."""

from __future__ import annotations

from xdsl.dialects import affine
from xdsl.ir import Operation

from ...analysis.frames import Frame

Said = tuple[object, ...]


class Settled:
    """
    Operations with what they said, and what surrounded them, when nothing was left to do.

    Attributes and operands are replaced and never changed in their place; an operation over the result of an
    `affine.apply`, which may be, is never settled.
    """

    def __init__(self) -> None:
        self._said: dict[Operation, Said] = {}

    def __call__(self, op: Operation, frame: Frame) -> bool:
        """Whether the operation and what surrounds it are as they were when it was added."""
        known = self._said.get(op)
        return known is not None and known == _said(op, frame)

    def add(self, op: Operation, frame: Frame) -> None:
        """Nothing is left to do for an operation in a frame."""
        if not any(type(value.owner) is affine.ApplyOp for value in op.operands):
            self._said[op] = _said(op, frame)


def _said(op: Operation, frame: Frame) -> Said:
    return frame, *op.properties.values(), *op.operands

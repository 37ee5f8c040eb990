"""Which operations were found to be as simple as they can be, and are not looked at again until they change."""

from __future__ import annotations

from xdsl.dialects import affine
from xdsl.ir import Attribute, Operation, SSAValue

from ...analysis.frames import Frame
from ...analysis.operations import operands_of

Said = tuple[Operation, Frame, tuple[SSAValue, ...], tuple[Attribute, ...]]


class Settled:
    """
    Operations with what they said, and what surrounded them, when nothing was left to do.

    Attributes and operands are replaced and never changed in their place; an operation over the result of an
    `affine.apply`, which may be, is never settled.
    """

    def __init__(self) -> None:
        self._said: dict[int, Said] = {}
        """By the identity of the operation, which is kept with what it said."""

    def __call__(self, op: Operation, frame: Frame) -> bool:
        """Whether the operation and what surrounds it are as they were when it was added."""
        known = self._said.get(id(op))
        return (
            known is not None
            and known[1] is frame
            and known[2] is operands_of(op)
            and known[3] == tuple(op.properties.values())
        )

    def add(self, op: Operation, frame: Frame) -> None:
        """Nothing is left to do for an operation in a frame."""
        operands = operands_of(op)
        for value in operands:
            if type(value.owner) is affine.ApplyOp:
                return
        self._said[id(op)] = op, frame, operands, tuple(op.properties.values())

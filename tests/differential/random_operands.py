"""What random operations take their operands from: the program so far, and shapes drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random
from typing import Protocol

from stepwell.dialects import graph
from stepwell.dialects.dtypes import ELEMENT_TYPES
from stepwell.dialects.graph.base import GraphOp, tensor_type
from xdsl.dialects.builtin import bf16, f16
from xdsl.ir import Attribute, SSAValue

STORED = (f16, bf16)
"""Types for storage: what rounds where depends on what is fused, which a comparison here does not know."""

COMPUTED_TYPES = tuple(type_ for type_ in ELEMENT_TYPES if type_ not in STORED)

EXTENTS = (0, 1, 2, 3, 5, 7, 17, 31, 33)


class Pool(Protocol):
    """The program so far."""

    rng: Random
    max_elements: int

    def pick(
        self, elements: Sequence[Attribute], accept: Callable[[tuple[int, ...]], bool] = ...
    ) -> SSAValue:
        """A value, new or there already, of one of these element types and of a shape that is accepted."""
        ...

    def fresh(self, element: Attribute, shape: Sequence[int]) -> SSAValue:
        """A new input or constant."""
        ...

    def constant(self, element: Attribute, shape: Sequence[int]) -> graph.ConstantOp:
        """A new constant, which is part of the program already."""
        ...

    def partner(self, element: Attribute, shape: Sequence[int]) -> SSAValue:
        """A value, new or there already, whose shape broadcasts with this one."""
        ...


Maker = Callable[[Pool], GraphOp]
"""Raises VerifyException when what it happened to choose is no operation."""


def element_of(value: SSAValue) -> Attribute:
    return tensor_type(value).get_element_type()


def has_axes(shape: Sequence[int]) -> bool:
    return len(shape) > 0


def random_shape(rng: Random, max_elements: int, rank: int | None = None) -> tuple[int, ...]:
    """Extents from `EXTENTS`, with at most this many elements; one in eight has none."""
    rank = rng.randint(0, 4) if rank is None else rank
    extents = EXTENTS if rng.random() < 0.125 else EXTENTS[1:]
    shape: list[int] = []
    for _ in range(rank):
        room = max_elements // max(1, prod(shape))
        shape.append(rng.choice([extent for extent in extents if extent <= room]))
    rng.shuffle(shape)
    return tuple(shape)


def broadcast_partner_shape(rng: Random, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape that broadcasts to this one."""
    kept = shape[rng.randint(0, len(shape)) if rng.random() < 0.3 else 0 :]
    return tuple(1 if rng.random() < 0.2 else extent for extent in kept)

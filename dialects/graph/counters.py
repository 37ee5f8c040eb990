"""
How often a `while` runs that only counts.

This is found as compilers find the trip count of a loop (Muchnick, Advanced Compiler Design and Implementation, 1997,
section 14.1): a number that grows by a constant is compared with a constant.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ...frozen import frozen
from ..control_flow import While
from ..dtypes import is_bool, numpy_dtype
from ..shaped import shape_of, tensor_type
from .base import constant_array
from .binary import AddOp, GeOp, GtOp, LeOp, LtOp, NeOp, SubOp

MIRRORED = {LtOp: GtOp, LeOp: GeOp, GtOp: LtOp, GeOp: LeOp, NeOp: NeOp}
"""The comparison with the operands exchanged."""


@frozen
class Counter:
    """A carried number that alone decides how often a loop runs."""

    position: int
    """which of the carried values it is"""
    start: int
    step: int
    trips: int
    """how often the body runs"""

    @property
    def last(self) -> int:
        return self.start + self.step * self.trips

    def numbers(self, dtype: np.dtype) -> np.ndarray:
        """What the steps are given."""
        found = range(self.start, self.last, self.step) if self.step else [self.start]
        return np.array(found, dtype)


def counter_of(loop: While) -> Counter | None:
    """The counter of a loop whose condition holds at first; None for a loop that does more than count, or never ends."""
    go, *following = loop.yielded(loop.body.block)
    comparison = go.owner
    if not isinstance(comparison, tuple(MIRRORED)):
        return None
    kind, (counted, bound) = type(comparison), comparison.operands
    if (limit := _integer(bound)) is None:
        kind, counted, bound = MIRRORED[kind], bound, counted
        limit = _integer(bound)
    if limit is None:
        return None
    for position, (arg, value) in enumerate(zip(loop.body.block.args, following, strict=True)):
        start, step = _integer(loop.carried[position]), _step(arg, value)
        if counted not in (arg, value) or start is None or step is None:
            continue
        tested = start if counted is arg else start + step
        if (more := _further_trips(kind, tested, step, limit)) is None:
            return None
        found = Counter(position, start, step, 1 + more)
        info = np.iinfo(numpy_dtype(tensor_type(arg).get_element_type()))
        return found if info.min <= found.last <= info.max else None
    return None


def _integer(value: SSAValue) -> int | None:
    """The integer that a constant of no axes is."""
    element = tensor_type(value).get_element_type()
    if shape_of(value) or is_bool(element) or not isinstance(element, IntegerType):
        return None
    array = constant_array(value)
    return None if array is None else int(array)


def _step(arg: SSAValue, value: SSAValue) -> int | None:
    """By how much a carried number grows."""
    made = value.owner
    if isinstance(made, AddOp) and arg in made.operands:
        return _integer(made.rhs if made.lhs is arg else made.lhs)
    if isinstance(made, SubOp) and made.lhs is arg:
        step = _integer(made.rhs)
        return None if step is None else -step
    return None


def _further_trips(kind: type, tested: int, step: int, limit: int) -> int | None:
    """How often `tested`, `tested + step`, … compare as `kind` with the limit, before one does not; None for always."""
    if kind is NeOp:
        trips, rest = divmod(limit - tested, step) if step else (-1, 0)
        return trips if trips >= 0 and not rest else 0 if tested == limit else None
    if kind in (GtOp, GeOp):
        tested, step, limit = -tested, -step, -limit
    if kind in (LeOp, GeOp):
        limit += 1
    if tested >= limit:
        return 0
    return -((tested - limit) // step) if step > 0 else None

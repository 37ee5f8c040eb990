"""
Values of which only so many elements count as the program finds out: the outputs of NonZero, Compress, Unique.

Such a value is a tensor with room for the most there can be, and its true extent beside it. An operator that takes it
needs the extent at import, so the model is compiled for the values that decide it. As an output of the model it is
computed for any values, and cut to its extent where the model is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, ModuleOp, i64
from xdsl.dialects.func import FuncOp

from ...frozen import frozen
from ..tensor import Tensor
from .registry import Value, ValueNeeded

EXTENTS = "stepwell.extents"
"""
Attribute of a model's function: for each output that is to be cut its number, the axis, and the number of the result,
behind the outputs, that is its extent there.
"""


@frozen
class Bounded:
    """A tensor of which the first `count` slices along an axis are meant."""

    tensor: Tensor
    count: Tensor
    axis: int


def bounded(tensor: Value, count: Value, axis: int = 0) -> Value:
    """The first `count` slices of an axis: cut where their number is known."""
    if isinstance(count, Tensor):
        return Bounded(tensor, count, axis)
    return tensor[(slice(None),) * axis + (slice(int(count)),)]


def require_extents(values: Sequence[Value]) -> None:
    """Raise ValueNeeded for a value whose extent is not known at import."""
    for value in values:
        if isinstance(value, Bounded):
            raise ValueNeeded(value.count, "the number of elements of an operand")


def with_extents(outputs: Sequence[Value]) -> tuple[list[Value], list[tuple[int, int, int]]]:
    """The outputs with the true extents of bounded ones behind them, and which is which, as in `EXTENTS`."""
    values = [value.tensor if isinstance(value, Bounded) else value for value in outputs]
    cuts: list[tuple[int, int, int]] = []
    for number, value in enumerate(outputs):
        if isinstance(value, Bounded):
            cuts.append((number, value.axis, len(values)))
            values.append(value.count)
    return values, cuts


def mark_extents(module: ModuleOp, cuts: Sequence[tuple[int, int, int]]) -> None:
    """Say in the module which results are to be cut."""
    if cuts:
        (function,) = (op for op in module.ops if isinstance(op, FuncOp))
        function.attributes[EXTENTS] = ArrayAttr(DenseArrayBase.from_list(i64, cut) for cut in cuts)


def marked_extents(module: ModuleOp) -> list[tuple[int, int, int]]:
    """What `mark_extents` has said."""
    found: list[tuple[int, int, int]] = []
    for op in module.ops:
        marks: Any = op.attributes.get(EXTENTS, ())
        found += [tuple(mark.get_values()) for mark in marks]
    return found


def cut(
    results: tuple[np.ndarray, ...], cuts: Sequence[tuple[int, int, int]]
) -> tuple[np.ndarray, ...]:
    """The outputs of a call cut to their extents, which are the last results."""
    outputs = list(results[: len(results) - len(cuts)])
    for number, axis, extent in cuts:
        index = (slice(None),) * axis + (slice(int(results[extent])),)
        outputs[number] = np.ascontiguousarray(outputs[number][index])
    return tuple(outputs)

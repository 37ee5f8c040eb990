"""One use of a graph operation, as the tables of cases have them, and values for its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from stepwell.dialects.dtypes import is_float, numpy_dtype
from stepwell.dialects.graph.base import GraphOp
from xdsl.ir import Attribute

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

Operand = Shape | tuple[Attribute, Shape]
"""The shape of an operand, with its element type when that is not the one of the case."""


@dataclass(frozen=True)
class Case:
    """One use of an operation: its operands, and how to make it of them."""

    operands: tuple[Operand, ...]
    build: Callable[..., GraphOp]


def case(build: Callable[..., GraphOp], *operands: Operand, **properties: Any) -> Case:
    return Case(operands, partial(build, **properties))


Cases = Callable[[Any, Attribute], Sequence[Case]]
"""The cases of an operation, given its class, for an element type."""


_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -2.5, 1.5, 1e20, -3e9)


def example(element: Attribute, shape: Shape, seed: int) -> Array:
    """
    Values for an operand. Those of 17 elements and more have the numbers that go wrong: NaN, infinities,
    ties of rounding; the ends of the range.
    """
    generator = np.random.default_rng(seed)
    dtype = numpy_dtype(element)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if is_float(element):
        array = generator.uniform(-2, 2, shape)
        special: Sequence[Any] = _FLOATS
    else:
        info = np.iinfo(dtype)
        array = generator.integers(max(-8, info.min), 9, shape, dtype)
        special = (info.min, info.max, 0, 1, info.max - 1)
        if info.min:
            special = (*special, -1, info.min)
    if array.size >= 17:
        # In two operands at other places, so that every special number meets others.
        places = generator.permutation(array.size)[: len(special)]
        array = array.astype(np.float64 if is_float(element) else dtype)
        array.flat[places] = special
    return np.asarray(array).astype(dtype)

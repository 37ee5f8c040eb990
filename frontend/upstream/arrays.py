"""Functions of arrays that the operations of several upstream dialects are, and NumPy has no name for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..numpy import elementwise as ew
from ..public import public
from ..recording import cast_to
from ..tensor import Tensor
from .operations import Node, Operations, Value


def enter_public(operations: Operations, names: Mapping[str, str]) -> None:
    """Enter, for each operation, the public function of ours that it is."""
    for name, ours in names.items():
        function = public(ours)
        assert function is not None, ours

        def same(*values: Value, node: Node, function: Callable[..., Any] = function) -> Value:
            try:
                inspect.signature(function).bind(*values)
            except TypeError:
                count = len(values)
                raise node.refuse(f"of {count} operands", "another number; mend the list") from None
            return function(*values)

        operations(name)(same)


def cast_value(x: Value, dtype: np.dtype) -> Value:
    if isinstance(x, Tensor):
        return cast_to(x, dtype)
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(dtype)


def divide_towards_zero(x: Value, y: Value) -> Value:
    """The quotient of integers as C rounds it."""
    quotient = ew.floor_divide(ew.abs(x), ew.abs(y))
    return ew.multiply(quotient, ew.multiply(ew.sign(x), ew.sign(y)))


def flipped(x: Value, axes: Sequence[int]) -> Value:
    """Backwards along these axes."""
    return x[tuple(slice(None, None, -1 if a in axes else None) for a in range(len(x.shape)))]

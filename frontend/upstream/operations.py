"""The operations of an upstream dialect that are known, and how a function says that it is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias, TypeVar

import numpy as np
from xdsl.ir import Attribute, Operation

from ...dialects.dtypes import numpy_dtype
from ...dialects.shaped import tensor_type
from ...errors import StepwellError
from ...frozen import frozen
from ..tensor import Tensor

Value: TypeAlias = Any
"""A Tensor, or a NumPy array when the value is known."""


@frozen
class Node:
    """An operation that is brought in: its settings, the types of its results, and how its regions are run."""

    op: Operation
    settings: dict[str, Any]
    run: Callable[[int, Sequence[Value]], list[Value]]
    """What a region, by its number, gives for these arguments."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tensor_type(self.op.results[0]).get_shape()

    @property
    def dtype(self) -> np.dtype:
        return numpy_dtype(tensor_type(self.op.results[0]).get_element_type())

    def refuse(self, found: str, expected: str) -> StepwellError:
        """The error that says what of the operation Stepwell does not take."""
        return StepwellError(f"found {self.op.name} {found}, expected {expected}", op=self.op)


Function: TypeAlias = Callable[..., Any]
FunctionT = TypeVar("FunctionT", bound=Function)


@frozen
class Operations:
    """What is known of the operations of one or more dialects that belong together."""

    title: str
    """As messages call it."""
    dialects: tuple[str, ...]
    """The first one is meant where a name has no dialect in front."""
    terminators: tuple[str, ...] = ()
    """Operations that end a region with its results."""
    other_types: tuple[type[Attribute], ...] = ()
    """Types of values that are no tensors and always known, as the extents of a shape."""
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    """By name: a function of the operands, and of the node as `node`; its value, or a list of them for several results."""

    def __call__(self, *names: str) -> Callable[[FunctionT], FunctionT]:
        """Decorate the function that computes operations of these names."""

        def enter(function: FunctionT) -> FunctionT:
            for name in names:
                self.functions[name if "." in name else f"{self.dialects[0]}.{name}"] = function
            return function

        return enter

    def has(self, op: Operation) -> bool:
        """Whether the operation is one of these dialects, known or not."""
        return op.dialect_name() in self.dialects


def known(value: Value, node: Node, what: str) -> np.ndarray:
    """The value, which must be known at import. Raises StepwellError."""
    if isinstance(value, Tensor):
        raise node.refuse(f"with {what} that is computed", "a constant; make it one")
    return np.asarray(value)

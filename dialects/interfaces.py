"""
What an operation can tell about itself: small interfaces, reached by passes with `isinstance`.

Each fact stands once, in the operation's class; passes and interpreters match these interfaces and
never lists of operation names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Attribute, SSAValue

if TYPE_CHECKING:
    from .scalar import ScalarBuilder
    from .te.builder import TeBuilder

Array = np.ndarray[Any, Any]


class ReferenceSemantics(ABC):
    """An operation whose meaning is given by a NumPy function: the definition of what it computes."""

    @abstractmethod
    def reference(self, *arrays: Array) -> Array | tuple[Array, ...]:
        """
        The results for these operands: one array, or a tuple when there are several results.

        The dtypes are exactly those of the result types; no warnings are given; operands are not
        changed, but a result may share memory with an operand.
        """


class Elementwise(ABC):
    """An operation whose result element at an index depends on the operands' elements there only."""

    @property
    @abstractmethod
    def body_type(self) -> Attribute:
        """The element type `scalar` computes with, signedness included."""

    # `*args: Any, **kwargs: Any` is how Python's types say "any parameters": an operation names its own.
    @abstractmethod
    def scalar(self, b: ScalarBuilder, *args: Any, **kwargs: Any) -> SSAValue:
        """
        Emit the computation of one element from one element of each operand (`SSAValue`s); its value.
        """


class DefinedInTe(ABC):
    """
    An operation that says itself element by element, as `te.compute`.

    What it says depends on nothing but itself, the types of its operands, which of them are one value, and the number
    that all elements of an operand equal: equal operations are asked once.
    """

    @abstractmethod
    def define(self, te: TeBuilder) -> SSAValue | Sequence[SSAValue]:
        """Insert computes; the value of the result, or one for each of several."""


class HasCost(ABC):
    """An operation that knows what it costs to execute, without regard to caches or fusion."""

    @abstractmethod
    def flops(self) -> int | None:
        """
        Scalar operations, the field's way: one each for an addition, a multiplication, a comparison or
        a transcendental function; moving data is free. None when an extent it needs is `?`.
        """

    @abstractmethod
    def multiply_adds(self) -> int | None:
        """The multiply-adds of a product or convolution, which `flops` counts as two each; else 0."""

    @abstractmethod
    def bytes_moved(self) -> int | None:
        """Bytes of all operands and results, each once. None when an extent is `?`."""

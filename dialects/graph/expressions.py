"""
Graph operations written like mathematics: `e = exp(x - x.max(-1, keepdims=True))`.

Decompositions, rewrites and importers say in this form what they insert. Numbers become constants of the other
operand's element type; shapes broadcast as NumPy's do; element types are not promoted, `cast` changes them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ..dtypes import numpy_dtype
from ..shaped import Tensor, tensor_type
from . import binary, constants, contraction, conversion, indexing, movement, reductions, unary
from .ternary import WhereOp

Number: TypeAlias = float | int | bool
Axes: TypeAlias = int | Sequence[int] | None


@dataclass(frozen=True, eq=False)
class Expr:
    """A tensor of the graph level, and where operations on it are inserted."""

    value: SSAValue
    builder: Builder

    @property
    def type(self) -> Tensor:
        return tensor_type(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.type.get_shape())

    @property
    def element(self) -> Attribute:
        """The element type."""
        return self.type.get_element_type()

    @property
    def rank(self) -> int:
        return self.type.get_num_dims()

    def named(self, hint: str) -> Expr:
        """The same tensor, with a name for the printed text."""
        self.value.name_hint = hint
        return self

    def constant(self, value: Any, hint: str = "constant") -> Expr:
        """A number or an array as a constant of this tensor's element type."""
        array = numpy_dtype(self.element).type(value)
        return self.made(constants.ConstantOp(array, hint)).named(hint)

    def made(self, op: Operation) -> Expr:
        """Insert an operation; its only result, named like the operation."""
        self.builder.insert(op)
        return Expr(op.results[0], self.builder).named(op.name.rpartition(".")[2])

    def all_made(self, op: Operation) -> tuple[Expr, ...]:
        """Insert an operation; all its results."""
        self.builder.insert(op)
        return tuple(Expr(result, self.builder) for result in op.results)

    def operand(self, other: Expr | Number) -> SSAValue:
        """What stands on the other side of an operator, as a value."""
        return other.value if isinstance(other, Expr) else self.constant(other).value

    # Operators, NumPy's.

    def _with(self, op: Callable[..., Operation], other: Expr | Number) -> Expr:
        return self.made(op(self.value, self.operand(other)))

    def _behind(self, op: Callable[..., Operation], other: Number) -> Expr:
        return self.made(op(self.operand(other), self.value))

    def __add__(self, other: Expr | Number) -> Expr:
        return self._with(binary.AddOp, other)

    def __sub__(self, other: Expr | Number) -> Expr:
        return self._with(binary.SubOp, other)

    def __mul__(self, other: Expr | Number) -> Expr:
        return self._with(binary.MulOp, other)

    def __truediv__(self, other: Expr | Number) -> Expr:
        return self._with(binary.DivOp, other)

    def __pow__(self, other: Expr | Number) -> Expr:
        return self._with(binary.PowOp, other)

    def __matmul__(self, other: Expr) -> Expr:
        return self._with(contraction.MatmulOp, other)

    def __and__(self, other: Expr | Number) -> Expr:
        return self._with(binary.AndOp, other)

    def __or__(self, other: Expr | Number) -> Expr:
        return self._with(binary.OrOp, other)

    def __lt__(self, other: Expr | Number) -> Expr:
        return self._with(binary.LtOp, other)

    def __le__(self, other: Expr | Number) -> Expr:
        return self._with(binary.LeOp, other)

    def __gt__(self, other: Expr | Number) -> Expr:
        return self._with(binary.GtOp, other)

    def __ge__(self, other: Expr | Number) -> Expr:
        return self._with(binary.GeOp, other)

    def __radd__(self, other: Number) -> Expr:
        return self._behind(binary.AddOp, other)

    def __rsub__(self, other: Number) -> Expr:
        return self._behind(binary.SubOp, other)

    def __rmul__(self, other: Number) -> Expr:
        return self._behind(binary.MulOp, other)

    def __rtruediv__(self, other: Number) -> Expr:
        return self._behind(binary.DivOp, other)

    def __neg__(self) -> Expr:
        return self.made(unary.NegOp(self.value))

    def __invert__(self) -> Expr:
        return self.made(unary.NotOp(self.value))

    def equals(self, other: Expr | Number) -> Expr:
        """Element by element; `==` says whether two expressions are one object."""
        return self._with(binary.EqOp, other)

    # Reductions.

    def sum(self, axes: Axes = None, keepdims: bool = False) -> Expr:
        return self.made(reductions.SumOp(self.value, axes, keepdims))

    def prod(self, axes: Axes = None, keepdims: bool = False) -> Expr:
        return self.made(reductions.ProdOp(self.value, axes, keepdims))

    def max(self, axes: Axes = None, keepdims: bool = False) -> Expr:
        return self.made(reductions.MaxOp(self.value, axes, keepdims))

    def min(self, axes: Axes = None, keepdims: bool = False) -> Expr:
        return self.made(reductions.MinOp(self.value, axes, keepdims))

    # Movement and conversion.

    def reshape(self, shape: Sequence[int]) -> Expr:
        return self.made(movement.ReshapeOp(self.value, shape))

    def transpose(self, perm: Sequence[int] | None = None) -> Expr:
        return self.made(movement.TransposeOp(self.value, perm))

    def expand_dims(self, axes: int | Sequence[int]) -> Expr:
        return self.made(movement.ExpandDimsOp(self.value, axes))

    def squeeze(self, axes: int | Sequence[int] | None = None) -> Expr:
        return self.made(movement.SqueezeOp(self.value, axes))

    def broadcast_to(self, shape: Sequence[int]) -> Expr:
        return self.made(movement.BroadcastToOp(self.value, shape))

    def cast(self, element: Attribute) -> Expr:
        """The elements as another type; this tensor where they have that type."""
        return (
            self if element == self.element else self.made(conversion.CastOp(self.value, element))
        )

    def __getitem__(self, slices: Sequence[slice]) -> Expr:
        """One slice for each axis."""
        return self.made(indexing.SliceOp(self.value, slices))

    def pad(self, low: Sequence[int], high: Sequence[int], value: Number = 0) -> Expr:
        return self.made(indexing.PadOp(self.value, low, high, value))


def built_before(op: Operation) -> Builder:
    """Inserts before an operation, at its location."""
    builder = Builder(InsertPoint.before(op))

    def place(new: Operation) -> None:
        new.location = op.location

    builder.operation_insertion_handler.append(place)
    return builder


def _function(op: Callable[[SSAValue], Operation], text: str) -> Callable[[Expr], Expr]:
    def function(x: Expr) -> Expr:
        return x.made(op(x.value))

    function.__doc__ = text
    return function


exp = _function(unary.ExpOp, "e to the power of x.")
log = _function(unary.LogOp, "The natural logarithm.")
sqrt = _function(unary.SqrtOp, "The square root.")
rsqrt = _function(unary.RsqrtOp, "1 / sqrt(x).")
reciprocal = _function(unary.ReciprocalOp, "1 / x.")
tanh = _function(unary.TanhOp, "The hyperbolic tangent.")
sigmoid = _function(unary.SigmoidOp, "1 / (1 + exp(-x)).")
relu = _function(unary.ReluOp, "max(x, 0).")
erf = _function(unary.ErfOp, "The error function.")
absolute = _function(unary.AbsOp, "|x|.")
floor = _function(unary.FloorOp, "The greatest integer not above x.")


def maximum(x: Expr, y: Expr | Number) -> Expr:
    """The greater element; NaN where either is."""
    return x.made(binary.MaximumOp(x.value, x.operand(y)))


def minimum(x: Expr, y: Expr | Number) -> Expr:
    """The lesser element; NaN where either is."""
    return x.made(binary.MinimumOp(x.value, x.operand(y)))


def where(condition: Expr, x: Expr | Number, y: Expr | Number) -> Expr:
    """x where the condition holds, y elsewhere; one of them at least is a tensor."""
    tensor = x if isinstance(x, Expr) else y
    assert isinstance(tensor, Expr)
    return condition.made(WhereOp(condition.value, tensor.operand(x), tensor.operand(y)))


def concat(parts: Sequence[Expr], axis: int = 0) -> Expr:
    """The tensors joined along an axis."""
    return parts[0].made(indexing.ConcatOp([part.value for part in parts], axis))


class Decomposable(ABC):
    """An operation that is said with simpler operations."""

    # `*args: Any, **kwargs: Any` is how Python's types say "any parameters": an operation names its own.
    @abstractmethod
    def decompose(self, *args: Any, **kwargs: Any) -> Expr | Sequence[Expr]:
        """
        What replaces the results, of the same types, written with the operands.

        Raises StepwellError when an extent it needs is `?`.
        """


class DecomposableInParts(Decomposable):
    """
    An operation whose result is put together of parts of it, so that a function of its elements, such as an addition of a bias
    and an activation, may be applied to each part instead.
    """

    WHOLE_AXES: ClassVar[int]
    """How many of the result's first axes each part has all of."""

    @abstractmethod
    def decompose_finished(self, finish: Callable[[Expr], Expr], *operands: Expr) -> Expr:
        """What replaces the result, each part of it finished by a function."""

    def decompose(self, *operands: Expr) -> Expr:
        return self.decompose_finished(lambda part: part, *operands)

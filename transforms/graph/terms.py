"""
Expressions over variables, for both sides of an equation: `x * sigmoid(x)`.

A term says which operations a rule looks for (matching.py) and which it puts in their place (`built`). It prints as
it is written, so that a table of equations is also its documentation and the text of its remarks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ...dialects import graph
from ...dialects.dtypes import float_limits, is_float_dtype
from ...dialects.graph.expressions import Expr
from ...frozen import frozen

Bindings: TypeAlias = Mapping[str, Any]
"""By name: an `Expr` for a variable, a NumPy scalar for a constant, a Python value for a setting."""

TermLike: TypeAlias = "Term | float"


@frozen
class Term:
    """The base of all terms, with NumPy's operators."""

    def __add__(self, other: TermLike) -> Apply:
        return Apply(graph.AddOp, (self, term(other)))

    def __radd__(self, other: float) -> Apply:
        return Apply(graph.AddOp, (term(other), self))

    def __sub__(self, other: TermLike) -> Apply:
        return Apply(graph.SubOp, (self, term(other)))

    def __rsub__(self, other: float) -> Apply:
        return Apply(graph.SubOp, (term(other), self))

    def __mul__(self, other: TermLike) -> Apply:
        return Apply(graph.MulOp, (self, term(other)))

    def __rmul__(self, other: float) -> Apply:
        return Apply(graph.MulOp, (term(other), self))

    def __truediv__(self, other: TermLike) -> Apply:
        return Apply(graph.DivOp, (self, term(other)))

    def __rtruediv__(self, other: float) -> Apply:
        return Apply(graph.DivOp, (term(other), self))

    def __pow__(self, other: TermLike) -> Apply:
        return Apply(graph.PowOp, (self, term(other)))

    def __matmul__(self, other: Term) -> Apply:
        return Apply(graph.MatmulOp, (self, other))

    def __neg__(self) -> Apply:
        return Apply(graph.NegOp, (self,))

    def __invert__(self) -> Apply:
        return Apply(graph.NotOp, (self,))

    def __lt__(self, other: TermLike) -> Apply:
        return Apply(graph.LtOp, (self, term(other)))

    def __le__(self, other: TermLike) -> Apply:
        return Apply(graph.LeOp, (self, term(other)))

    def __gt__(self, other: TermLike) -> Apply:
        return Apply(graph.GtOp, (self, term(other)))

    def __ge__(self, other: TermLike) -> Apply:
        return Apply(graph.GeOp, (self, term(other)))


@frozen
class Variable(Term):
    """Any tensor; of one element type where that is given. The same name stands for the same tensor."""

    name: str
    element: Attribute | None = None

    def __str__(self) -> str:
        return self.name


@frozen
class Constant(Term):
    """Any number: a constant whose elements are all equal, or a number among an operation's settings."""

    name: str

    def __str__(self) -> str:
        return self.name


@frozen
class Number(Term):
    """This number, within the rounding of the element type that it has."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:.6g}"


@frozen
class Setting:
    """Any value of an operation's property that is no number, such as axes."""

    name: str

    def __str__(self) -> str:
        return self.name


@frozen
class Apply(Term):
    """An operation on operands, with all its properties by name."""

    op: type[graph.GraphOp]
    operands: tuple[Term, ...]
    settings: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        symbol = _SYMBOLS.get(self.op)
        if symbol is None:
            settings = [f"{name}={_text(value)}" for name, value in self.settings]
            name = self.op.name.rpartition(".")[2]
            return f"{name}({', '.join([*map(str, self.operands), *settings])})"
        inner = [_in_parentheses(operand) for operand in self.operands]
        return f" {symbol} ".join(inner) if len(inner) > 1 else f"{symbol}{inner[0]}"


_SYMBOLS: dict[type[Operation], str] = {
    graph.AddOp: "+",
    graph.SubOp: "-",
    graph.MulOp: "*",
    graph.DivOp: "/",
    graph.PowOp: "**",
    graph.MatmulOp: "@",
    graph.NegOp: "-",
    graph.NotOp: "~",
    graph.LtOp: "<",
    graph.LeOp: "<=",
    graph.GtOp: ">",
    graph.GeOp: ">=",
}

_ARITHMETIC: dict[type[Operation], Callable[[Any, Any], Any]] = {
    graph.AddOp: lambda x, y: x + y,
    graph.SubOp: lambda x, y: x - y,
    graph.MulOp: lambda x, y: x * y,
    graph.DivOp: lambda x, y: x / y,
    graph.MaximumOp: max,
    graph.MinimumOp: min,
    graph.LtOp: lambda x, y: x < y,
    graph.LeOp: lambda x, y: x <= y,
    graph.GtOp: lambda x, y: x > y,
    graph.GeOp: lambda x, y: x >= y,
}
"""What is computed of numbers when an equation is used."""


def term(value: TermLike) -> Term:
    return value if isinstance(value, Term) else Number(value)


def function(op: type[graph.GraphOp]) -> Callable[..., Apply]:
    """How an operation is written in a term: operands, then every property that it has by name."""

    def apply(*operands: TermLike, **settings: Any) -> Apply:
        return Apply(op, tuple(map(term, operands)), tuple(settings.items()))

    return apply


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _in_parentheses(operand: Term) -> str:
    is_infix = isinstance(operand, Apply) and operand.op in _SYMBOLS
    return f"({operand})" if is_infix else str(operand)


# Building.


def number_in(value: Term, bound: Bindings) -> Any:
    """
    What a term of numbers alone amounts to, else None.

    Raises VerifyException where more is lost than by rounding: a number that is infinite, or a product that vanishes.
    """
    match value:
        case Number(number):
            return number
        case Constant(name):
            return bound[name]
        case Apply(op, operands) if op in _ARITHMETIC:
            numbers = [number_in(operand, bound) for operand in operands]
            if None in numbers:
                return None
            with np.errstate(all="ignore"):
                return _checked(op, _ARITHMETIC[op](*numbers), numbers)
        case _:
            return None


def _checked(op: type[Operation], number: Any, of: Sequence[Any]) -> Any:
    dtype = np.asarray(number).dtype
    is_scaled = op in (graph.MulOp, graph.DivOp) and of[0] != 0 and is_float_dtype(dtype)
    if is_scaled and abs(number) < float_limits(dtype).tiny:
        raise VerifyException(f"found {number}, expected a number that is not so small")
    if not isfinite(number):
        raise VerifyException(f"found {number}, expected a finite number")
    return number


def built(value: Term, bound: Bindings, builder: Builder, like: Expr) -> Expr:
    """
    The operations of a term, inserted, with numbers of the element type of `like`.

    Raises VerifyException where an operation does not take these operands.
    """
    number = number_in(value, bound)
    if number is not None:
        # Beside a number, `like` says only of what type the constant is.
        return Expr(like.value, builder).constant(number)
    if isinstance(value, Variable):
        return Expr(bound[value.name].value, builder)
    assert isinstance(value, Apply)
    tensors = [x for x in value.operands if number_in(x, bound) is None]
    first = built(tensors[0], bound, builder, like)
    operands = [
        first if x is tensors[0] else built(x, bound, builder, like if x in tensors else first)
        for x in value.operands
    ]
    settings = {name: _setting(x, bound) for name, x in value.settings}
    return first.made(value.op(*(x.value for x in operands), **settings))


def _setting(value: Any, bound: Bindings) -> Any:
    if isinstance(value, Setting):
        return bound[value.name]
    return number_in(value, bound) if isinstance(value, Term) else value

"""
Where a term of terms.py occurs in a graph: the operations it stands for and what its variables are.

Operations are looked for as they are written, commutative ones in either order. With `any_order`, a product is looked
for as its factors and a sum as its terms, however they are grouped: `0.5 * x * y` is also `(x / 2) * y` and
`x * (y * 0.5)`. That is matching modulo associativity and commutativity, on numbers as one coefficient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cache
from itertools import permutations
from math import isfinite
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import Commutative

from ...dialects import graph
from ...dialects.dtypes import float_limits, is_float, numpy_dtype
from ...dialects.graph.base import splat_number
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from .terms import Apply, Constant, Number, Setting, Term, Variable

_SUMS = (graph.AddOp, graph.SubOp)
_PRODUCTS = (graph.MulOp, graph.DivOp, graph.NegOp, graph.ReciprocalOp)
_NUMBERS_IN_GRAPH = 2
"""How many numbers beside its factors a product may have: no exporter writes more, and it bounds the search."""


@frozen
class Match:
    """What the variables of a term are, and the operations that it covers, users first."""

    bound: dict[str, Any] = field(default_factory=dict[str, Any])
    """Values for variables, NumPy scalars for constants, Python values for settings."""
    ops: tuple[Operation, ...] = ()

    def with_bound(self, name: str, found: Any) -> Match | None:
        """With a name bound, None where it is bound to something else."""
        if name not in self.bound:
            return replace(self, bound={**self.bound, name: found})
        known = self.bound[name]
        # By what is printed: 0.0 and -0.0 are different numbers here.
        is_same = known is found if isinstance(found, SSAValue) else repr(known) == repr(found)
        return self if is_same else None

    def with_op(self, op: Operation) -> Match:
        return self if op in self.ops else replace(self, ops=(*self.ops, op))


def needed_kinds(pattern: Term, any_order: bool) -> frozenset[type[Operation]]:
    """Kinds of operations of which each match of the pattern has one."""
    if not isinstance(pattern, Apply):
        return frozenset()
    is_in_any_order = any_order and pattern.op in (*_SUMS, *_PRODUCTS)
    own = frozenset[type[Operation]]() if is_in_any_order else frozenset((pattern.op,))
    return own.union(*(needed_kinds(operand, any_order) for operand in pattern.operands))


def is_close(found: Any, wanted: float, element: Attribute) -> bool:
    """Whether a number is the wanted one within the rounding of an element type and of one operation on it."""
    if not is_float(element):
        return bool(found == wanted)
    with np.errstate(over="ignore"):
        rounded = float(numpy_dtype(element).type(wanted))
    return abs(float(found) - rounded) <= 2 * float(float_limits(numpy_dtype(element)).eps) * abs(
        rounded
    )


def matches(pattern: Term, value: SSAValue, any_order: bool, found: Match) -> Iterator[Match]:
    """Every way in which `value` is the pattern, given what is bound already."""
    match pattern:
        case Variable(name, element):
            if element is None or tensor_type(value).get_element_type() == element:
                yield from _some(found.with_bound(name, value))
        case Constant(name):
            number = _number(value)
            yield from _some(None if number is None else found.with_bound(name, number))
        case Number(wanted):
            number = _number(value)
            if number is not None and is_close(
                number, wanted, tensor_type(value).get_element_type()
            ):
                yield found
        case Apply(op) if any_order and op in (*_SUMS, *_PRODUCTS):
            yield from _combinations(pattern, value, found)
        case Apply():
            yield from _applications(pattern, value, any_order, found)
        case _:
            raise TypeError(type(pattern))


def _number(value: SSAValue) -> Any:
    """`splat_number`, quickly None of what is no constant."""
    return splat_number(value) if isinstance(value.owner, graph.ConstantOp) else None


def _some(found: Match | None) -> Iterator[Match]:
    if found is not None:
        yield found


def _applications(
    pattern: Apply, value: SSAValue, any_order: bool, found: Match
) -> Iterator[Match]:
    """The pattern's operation with operands that are its operands."""
    op: Operation | Block = value.owner
    if (
        not isinstance(op, Operation)
        or type(op) is not pattern.op
        or len(op.operands) != len(pattern.operands)
    ):
        return
    settled = _with_settings(pattern, op, found.with_op(op))
    if settled is None:
        return
    yield from _each(pattern.operands, op.operands, any_order, settled)
    if op.has_trait(Commutative):
        yield from _each(pattern.operands, op.operands[::-1], any_order, settled)


def _each(
    patterns: Sequence[Term], values: Sequence[SSAValue], any_order: bool, found: Match
) -> Iterator[Match]:
    """Each value is the pattern at its place."""
    if not patterns:
        yield found
        return
    for first in matches(patterns[0], values[0], any_order, found):
        yield from _each(patterns[1:], values[1:], any_order, first)


# Settings.


def python_value(attr: Attribute) -> Any:
    """A property as the operation's constructor takes it."""
    match attr:
        case FloatAttr() | IntegerAttr():
            return attr.value.data
        case StringAttr():
            return attr.data
        case DenseArrayBase():
            return tuple(cast("DenseArrayBase[Any]", attr).get_values())
        case _:
            return True


def _with_settings(pattern: Apply, op: Operation, found: Match) -> Match | None:
    """What the operation's properties are bound to. A property that the pattern does not name must not be there."""
    named = dict(pattern.settings)
    if not named.keys() >= op.properties.keys():
        return None
    element = tensor_type(op.operands[0]).get_element_type()
    bound: Match | None = found
    for name, wanted in named.items():
        attr = op.properties.get(name)
        value = python_value(attr) if attr is not None else False
        if isinstance(wanted, Setting):
            bound = bound.with_bound(wanted.name, value)
        elif attr is None and wanted is not False:
            return None
        elif isinstance(wanted, Constant):
            number = numpy_dtype(element).type(value)
            bound = bound.with_bound(wanted.name, number)
        elif isinstance(wanted, float):
            bound = bound if is_close(value, wanted, element) else None
        elif value != wanted:
            return None
        if bound is None:
            return None
    return bound


# Sums and products in any order.


@frozen
class _Combination:
    """`number` · Π factors, each to the power of its sign; or `number` + Σ sign · term."""

    number: float
    parts: tuple[tuple[Any, int], ...]
    ops: tuple[Operation, ...] = ()


@cache
def _combination_of(pattern: Apply) -> _Combination:
    """A pattern's parts, the most particular ones first, as they leave the fewest choices."""
    is_sum = pattern.op in _SUMS
    number, parts, _ = _flattened(pattern, is_sum, _pattern_node, _pattern_number, limit=100)
    return _Combination(number, tuple(sorted(parts, key=lambda part: -_size(part[0]))))


def _size(pattern: Term) -> int:
    return 1 + sum(map(_size, pattern.operands)) if isinstance(pattern, Apply) else 0


def _pattern_node(pattern: Any) -> tuple[Any, Sequence[Any]] | None:
    return (pattern.op, pattern.operands) if isinstance(pattern, Apply) else None


def _pattern_number(pattern: Any) -> Any:
    return pattern.value if isinstance(pattern, Number) else None


def _value_node(value: Any) -> tuple[Any, Sequence[Any]] | None:
    op = value.owner
    return (type(op), op.operands) if isinstance(op, Operation) else None


def _flattened(
    root: Any, is_sum: bool, node_of: Any, number_of: Any, limit: int
) -> tuple[float, list[tuple[Any, int]], list[Any]]:
    """
    The number, the parts with their signs and the inner nodes of a sum or product.

    It stops at `limit` parts: a long chain of sums is looked at a few operations at a time.
    """
    number, parts, inner = (0.0 if is_sum else 1.0), [(root, 1)], [root]
    position = 0
    while position < len(parts) and len(parts) <= limit:
        part, sign = parts[position]
        found = node_of(part) if part is root or _is_inner(part) else None
        signs = _SIGNS[is_sum].get(found[0]) if found else None
        value = number_of(part)
        if value is not None:
            del parts[position]
            with np.errstate(all="ignore"):
                exact = float(value)
                number = number + sign * exact if is_sum else number * np.float64(exact) ** sign
        elif signs is not None and found is not None:
            inner.append(part)
            operands = zip(found[1], signs, strict=True)
            parts[position : position + 1] = [(x, sign * each) for x, each in operands]
            if found[0] is graph.NegOp and not is_sum:
                number = -number
        else:
            position += 1
    return float(number), parts, inner


_SIGNS: dict[bool, dict[Any, tuple[int, ...]]] = {
    True: {graph.AddOp: (1, 1), graph.SubOp: (1, -1), graph.NegOp: (-1,)},
    False: {
        graph.MulOp: (1, 1),
        graph.DivOp: (1, -1),
        graph.NegOp: (1,),
        graph.ReciprocalOp: (-1,),
    },
}
"""What an operation does to the sign of its operands, in sums and in products."""


def _is_inner(part: Any) -> bool:
    """A value that others use as well is a part of its own: it is computed anyway."""
    return not isinstance(part, SSAValue) or part.has_one_use()


def _combinations(pattern: Apply, value: SSAValue, found: Match) -> Iterator[Match]:
    is_sum = pattern.op in _SUMS
    if type(value.owner) not in _SIGNS[is_sum]:
        return
    wanted = _combination_of(pattern)
    limit = len(wanted.parts) + _NUMBERS_IN_GRAPH
    number, parts, inner = _flattened(value, is_sum, _value_node, _number, limit)
    element = tensor_type(value).get_element_type()
    if len(parts) != len(wanted.parts) or not is_float(element):
        return
    if not isfinite(number) or not is_close(number, wanted.number, element):
        return
    for part in inner:
        found = found.with_op(part.owner)
    for order in permutations(parts):
        if [sign for _, sign in order] != [sign for _, sign in wanted.parts]:
            continue
        patterns = [part for part, _ in wanted.parts]
        yield from _each(patterns, [part for part, _ in order], True, found)

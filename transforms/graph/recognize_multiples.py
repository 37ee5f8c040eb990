"""Masks of the multiples of a number, by which elements of a vector are replaced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from xdsl.dialects.builtin import i64

from ...dialects import graph
from ...dialects.graph.base import splat_number
from ...dialects.graph.expressions import Expr
from ...frozen import frozen
from .functions import at_least, at_most, both, either, equal, inverse, remainder, where
from .rules import EquationsPass, Rule
from .terms import Variable

x, v, index, step, start = map(Variable, ("x", "v", "index", "step", "start"))


def _is_index(index: Expr) -> bool:
    """Whether each element is its own index, along the only axis."""
    is_counted = isinstance(index.value.owner, graph.IotaOp)
    return is_counted and len(index.shape) == 1 and index.element == i64


def _is_traced(number: Expr) -> bool:
    """
    Whether it is a number that is not known. Of a known one, remainders are products, which vectors compute, and loops
    can be cut.
    """
    is_number = number.shape == () and number.element == i64
    return is_number and splat_number(number.value) is None


def _are_multiples(x: Expr, index: Expr, step: Expr) -> bool:
    return _is_index(index) and _is_traced(step) and x.shape == index.shape


def _are_later_multiples(x: Expr, index: Expr, step: Expr, start: Expr) -> bool:
    is_number = start.shape == () and start.element == i64
    return _are_multiples(x, index, step) and is_number


def _have_value(x: Expr, v: Expr, index: Expr, step: Expr) -> bool:
    return _are_multiples(x, index, step) and v.shape == ()


def _have_value_later(x: Expr, v: Expr, index: Expr, step: Expr, start: Expr) -> bool:
    return _are_later_multiples(x, index, step, start) and v.shape == ()


def _filled(x: Expr, v: Expr | bool, step: Expr, start: Expr | int) -> Expr:
    value = v if isinstance(v, Expr) else x.constant(v)
    first = start if isinstance(start, Expr) else step.constant(start)
    return x.made(graph.FillMultiplesOp(x.value, value.value, step.value, first.value))


def _cleared(x: Expr, step: Expr, start: Expr) -> Expr:
    return _filled(x, False, step, start)


def _set(x: Expr, step: Expr, start: Expr) -> Expr:
    return _filled(x, True, step, start)


def _all_replaced(x: Expr, v: Expr, step: Expr) -> Expr:
    return _filled(x, v, step, 0)


def _all_cleared(x: Expr, step: Expr) -> Expr:
    return _filled(x, False, step, 0)


def _all_set(x: Expr, step: Expr) -> Expr:
    return _filled(x, True, step, 0)


def _rules() -> Iterator[Rule]:
    """Without a start and with one, in the ways in which masks are used on conditions and on numbers."""
    every = equal(remainder(index, step), 0)
    text = "fill_multiples(x, {}, step, {})"
    yield Rule(both(x, inverse(every)), _all_cleared, _are_multiples, text.format("False", 0))
    yield Rule(either(x, every), _all_set, _are_multiples, text.format("True", 0))
    yield Rule(where(every, v, x), _all_replaced, _have_value, text.format("v", 0))
    for bound in (at_least(index, start), at_most(start, index)):
        mask, when = both(every, bound), _are_later_multiples
        yield Rule(both(x, inverse(mask)), _cleared, when, text.format("False", "start"))
        yield Rule(either(x, mask), _set, when, text.format("True", "start"))
        yield Rule(where(mask, v, x), _filled, _have_value_later, text.format("v", "start"))


MULTIPLES = tuple(_rules())


@frozen
class GraphRecognizeMultiplesPass(EquationsPass):
    """Touch only the multiples of a number: `where(i % step == 0, v, x)` → `fill_multiples(x, v, step, 0)`."""

    name = "graph-recognize-multiples"
    RULES: ClassVar = MULTIPLES

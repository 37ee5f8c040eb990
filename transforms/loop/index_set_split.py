"""index_set_split: a loop as several, before and from a point on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from ...dialects import loop
from ...dialects.affine_atoms import constant_expr, dim_expr
from ...dialects.affine_bounds import linear_form, simplified, why_not_affine
from ...dialects.affine_text import parse_affine, parse_constraint
from ...dialects.ir_parser import IRParser
from ...dialects.schedule.steps import IndexSetSplit
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import loop_handle
from ..step_support.made import SomeLoops
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse
from ..step_support.rewrite import BoundExprs, insert_after, set_bounds, shifted_to
from ..step_support.tight_bounds import plain_bounds

Leaf = Callable[[], AffineExpr | None]
ParsedT = TypeVar("ParsedT", AffineExpr, AffineConstraintExpr)


@frozen
class IndexSetSplitPlan:
    """The loop, the points it is split at in order, and the names of the loops after each point."""

    nest: Nest
    for_op: loop.ForOp
    points: tuple[AffineExpr, ...]
    values: tuple[SSAValue, ...]
    """what the points are over"""
    names: tuple[str, ...]
    lower: BoundExprs
    upper: BoundExprs

    def apply(self) -> SomeLoops:
        """`for i in L..U` → `for i in L..min(U, p)` and `for i.rest in max(L, p)..U`"""
        copier = Copier(self.nest)
        copies = [copier.loop(self.for_op, name) for name in self.names]
        ends = [*self.points, None]
        for copy, start, end in zip(copies, self.points, ends[1:], strict=True):
            set_bounds(copy, self._from(start), self.upper if end is None else self._until(end))
        set_bounds(self.for_op, self.lower, self._until(self.points[0]))
        insert_after(self.for_op, copies)
        return SomeLoops(tuple(loop_handle(self.nest, op) for op in (self.for_op, *copies)))

    def _until(self, point: AffineExpr) -> BoundExprs:
        exprs, values = self.upper
        return [*exprs, *shifted_to([point], len(values))], [*values, *self.values]

    def _from(self, point: AffineExpr) -> BoundExprs:
        """The loop's first value that is not before the point."""
        exprs, values = self.lower
        (start,) = shifted_to([point], len(values))
        step = self.for_op.step.value.data
        if step != 1:
            (low,) = exprs
            start = low + simplified(start - low, len(values) + 64).ceil_div(step) * step
        return [*exprs, start], [*values, *self.values]


@planner(IndexSetSplit)
def plan_index_set_split(step: IndexSetSplit, nests: Nests) -> IndexSetSplitPlan:
    """
    Always legal: the order of iterations stays.

    `at` is the point where the second loop begins, or a condition on the loop's own variable: then the
    point is where it begins or ceases to hold; an equality gives three loops.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    check_unmarked(step, for_op)
    lower, upper = plain_bounds(nest.frames, for_op)
    if for_op.step.value.data != 1 and len(lower[0]) > 1:
        raise refuse(
            step,
            f"loop '{name}' starts at a maximum of several expressions and its step is not 1, so the "
            "first iteration from a point on is no affine expression",
            remedy="simplify it first",
        )
    scope = _Scope(step, nest, for_op)
    points = scope.points()
    suffixes = ("rest",) if len(points) == 1 else ("at", "rest")
    names = nest.chosen_names((), [f"{name}.{suffix}" for suffix in suffixes])
    return IndexSetSplitPlan(nest, for_op, points, tuple(scope.values), tuple(names), lower, upper)


class _Scope:
    """The names that `at` may use: the loop itself (dimension 0 of a condition), those around, arguments."""

    def __init__(self, step: IndexSetSplit, nest: Nest, for_op: loop.ForOp):
        self.step = step
        self.own = for_op.loop_name.data
        self.names: dict[str, SSAValue] = {}
        for arg in nest.function.body.block.args:
            if isinstance(arg.type, IndexType) and arg.name_hint:
                self.names[arg.name_hint] = arg
        for around in loops_around(for_op):
            self.names[around.loop_name.data] = around.induction_variable
        self.values: list[SSAValue] = list(self.names.values())

    def points(self) -> tuple[AffineExpr, ...]:
        """The points over `values`."""
        constraint = self._parse(parse_constraint)
        if constraint is not None:
            if reason := why_not_affine(constraint.lhs - constraint.rhs):
                raise self._refuse(f"cannot be computed: {reason}")
            return self._where_it_changes(constraint)
        point = self._parse(parse_affine)
        if point is None:
            raise self._refuse(
                "is neither an affine expression nor an affine condition with >=, <= or =="
            )
        if reason := why_not_affine(point):
            raise self._refuse(f"cannot be computed: {reason}")
        if 0 in point.used_dims():
            raise self._refuse(
                f"uses the variable of '{self.own}' itself",
                "give a point, or a condition with >=, <= or ==",
            )
        return (self._without_own(point),)

    def _parse(self, rule: Callable[[Parser, Leaf], ParsedT]) -> ParsedT | None:
        text = self.step.at.strip()
        try:
            parser = IRParser(Context(), text)
            found = rule(parser, lambda: self._leaf(parser))
            return found if parser.pos == len(text) else None
        except (ParseError, RecursionError):
            return None

    def _leaf(self, parser: Parser) -> AffineExpr | None:
        name = parser.parse_optional_identifier()
        if name is None:
            operand = parser.parse_optional_unresolved_operand()
            name = None if operand is None else operand.span.text.removeprefix("%")
        if name is None:
            return None
        if name == self.own:
            return dim_expr(0)
        if name not in self.names:
            raise self._refuse(f"uses '{name}'", f"use {self._known()}")
        return dim_expr(1 + list(self.names).index(name))

    def _where_it_changes(self, constraint: AffineConstraintExpr) -> tuple[AffineExpr, ...]:
        """Where `a*i + rest` compared with 0 begins or ceases to hold."""
        linear = linear_form(constraint.lhs - constraint.rhs, 1 + len(self.values))
        if linear is None or linear[0][0] == 0:
            raise self._refuse(
                f"is no linear condition on the variable of '{self.own}'",
                "name a point instead",
            )
        coefficients, number = linear
        if constraint.kind is AffineConstraintKind.le:
            coefficients, number = [-c for c in coefficients], -number
        own = coefficients[0]
        rest = constant_expr(number)
        for n, coefficient in enumerate(coefficients[1:]):
            rest = rest + dim_expr(n) * coefficient
        rest = simplified(rest, len(self.values))
        if constraint.kind is AffineConstraintKind.eq:
            zero_at = simplified(rest * -1 if own > 0 else rest, len(self.values))
            return _divided_up(zero_at, abs(own)), _divided_down(zero_at, abs(own)) + 1
        if own > 0:
            return (_divided_up(simplified(rest * -1, len(self.values)), own),)
        return (_divided_down(rest, -own) + 1,)

    def _without_own(self, expr: AffineExpr) -> AffineExpr:
        zero = constant_expr(0)
        others = [dim_expr(n) for n in range(len(self.values))]
        return expr.replace_dims_and_symbols([zero, *others], ())

    def _known(self) -> str:
        named = ", ".join(f"'{name}'" for name in self.names)
        return f"the loops around and the index arguments: {named}" if named else "numbers only"

    def _refuse(self, what: str, remedy: str = "") -> Refusal:
        return refuse(self.step, f"'at' is \"{self.step.at}\", which {what}", remedy=remedy)


def _divided_up(expr: AffineExpr, divisor: int) -> AffineExpr:
    return expr if divisor == 1 else expr.ceil_div(divisor)


def _divided_down(expr: AffineExpr, divisor: int) -> AffineExpr:
    return expr if divisor == 1 else expr // divisor


LoopIndexSetSplitPass = step_pass(IndexSetSplit)

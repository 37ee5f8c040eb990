"""
Sets of iterations and maps of accesses by what they are made of.

Steps rewrite a loop at a time and then ask about all of them again. What isl has built for one loop nest is
kept by the nest's content, bounds and subscripts, so that the same question is answered once.
Expressions here are over the parameters and then the variables of the loops around, outermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import islpy as isl
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineConstraintExpr,
    AffineDimExpr,
    AffineExpr,
)

from ..dialects.affine_bounds import linear_form
from ..frozen import frozen_in_types
from ..lazy import cached_property
from .affine_isl import (
    as_map,
    constant,
    constraint_set,
    linear_function,
    number_of,
    parameter,
    pw_aff,
    variable,
)

REMEMBERED = 2048
"""How many answers of each kind are kept: those about a few dozen kernels."""

Exprs = tuple[AffineExpr, ...]


@frozen_in_types
class LoopPart:
    """What a loop runs through; no bounds where they are not affine."""

    lower: Exprs
    upper: Exprs
    step: int
    multiple: int = 1


@frozen_in_types
class BranchPart:
    """A condition, and whether it holds; None for one that is not affine."""

    constraints: tuple[AffineConstraintExpr, ...] | None
    taken: bool


@frozen_in_types
class Around:
    """
    What surrounds an operation: how many parameters there are, and the loops and branches.

    `outermost` and `within` give the same one for the same content, which is found by its identity therefore.
    """

    parameters: int
    outer: Around | None = None
    part: LoopPart | BranchPart | None = None
    """The innermost one."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @staticmethod
    @lru_cache(REMEMBERED)
    def outermost(parameters: int) -> Around:
        """What surrounds all loops and branches."""
        return Around(parameters)

    def within(self, part: LoopPart | BranchPart) -> Around:
        """What surrounds the operations inside of a loop or branch that stands here."""
        return _within(self, part)

    @cached_property
    def depth(self) -> int:
        """How many loops there are."""
        outer = 0 if self.outer is None else self.outer.depth
        return outer + isinstance(self.part, LoopPart)

    @cached_property
    def parts(self) -> tuple[LoopPart | BranchPart, ...]:
        """The loops and branches, outermost first."""
        outer = () if self.outer is None else self.outer.parts
        return outer if self.part is None else (*outer, self.part)

    @cached_property
    def space(self) -> isl.Space:
        """The loops' variables, without names: copies of a loop and loops of other nests are over the same sets."""
        return space_of(self.parameters, self.depth)

    @property
    def variables(self) -> tuple[isl.PwAff, ...]:
        """What dimensions of expressions stand for."""
        return _variables(self.parameters, self.depth)

    @property
    def domain(self) -> isl.Set:
        """The iterations; a bound or condition that is not affine is left out, which only adds some."""
        return _domain(self)

    def values(self, exprs: Sequence[AffineExpr]) -> list[isl.PwAff]:
        """The expressions as functions of the loops' variables."""
        return [self._value(expr) for expr in exprs]

    def _value(self, expr: AffineExpr) -> isl.PwAff:
        form = linear_form(expr, self.parameters + self.depth)
        if form is None:
            return pw_aff(expr, self.variables, self.space)
        local = _local_space(self.parameters, self.depth)
        return isl.PwAff.from_aff(linear_function(local, self.parameters, *form))


@lru_cache(REMEMBERED)
def space_of(parameters: int, depth: int) -> isl.Space:
    """Parameters, which have names, and variables, which have none."""
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, parameters, depth)
    for n in range(parameters):
        space = space.set_dim_name(isl.dim_type.param, n, f"p{n}")
    return space


@lru_cache(REMEMBERED)
def _local_space(parameters: int, depth: int) -> isl.LocalSpace:
    return isl.LocalSpace.from_space(space_of(parameters, depth))


@lru_cache(REMEMBERED)
def _variables(parameters: int, depth: int) -> tuple[isl.PwAff, ...]:
    """The functions that are parameters and then loops' variables: one space is that of all nests as deep."""
    space = space_of(parameters, depth)
    found = [parameter(space, n) for n in range(parameters)]
    return (*found, *(variable(space, n) for n in range(depth)))


@lru_cache(REMEMBERED)
def _within(outer: Around, part: LoopPart | BranchPart) -> Around:
    """The same one each time, with what it knows already."""
    return Around(outer.parameters, outer, part)


@frozen_in_types
class Place:
    """
    The element an access is of: how many of the loops have a buffer of their own, and the subscripts.

    A subscript that is not affine is None, and may be any index of its axis.
    """

    private: int
    subscripts: tuple[AffineExpr | None, ...]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def is_affine(self) -> bool:
        """Whether all subscripts are."""
        return all(subscript is not None for subscript in self.subscripts)

    @staticmethod
    @lru_cache(REMEMBERED)
    def of(private: int, subscripts: tuple[AffineExpr | None, ...]) -> Place:
        """The same one for the same subscripts: what is known of places is looked for again and again."""
        return Place(private, subscripts)


Moment = tuple[AffineExpr, ...]
"""The entries of a time vector: numbers and loops' variables."""


@lru_cache(REMEMBERED)
def _domain(around: Around) -> isl.Set:
    space, outer, part = around.space, around.outer, around.part
    if outer is None:
        return isl.Set.universe(space)
    if isinstance(part, LoopPart):
        inner = outer.domain.add_dims(isl.dim_type.set, 1)
        linear = _linear_range(around, part)
        if linear is not None:
            for constraint in linear:
                inner = inner.add_constraint(constraint)
            return inner
        lower, upper = around.values(part.lower), around.values(part.upper)
        here = around.variables[-1]
        return inner.intersect(loop_range(here, lower, upper, part.step, part.multiple))
    if part is None or part.constraints is None:
        return outer.domain
    holds = isl.Set.universe(space)
    for constraint in part.constraints:
        holds = holds.intersect(constraint_set(constraint, around.variables, space))
    if not part.taken:
        holds = isl.Set.universe(space).subtract(holds)
    return outer.domain.intersect(holds)


def _linear_range(around: Around, loop: LoopPart) -> list[isl.Constraint] | None:
    """What a loop runs through, where its bounds are linear: as `loop_range`, in less time."""
    if loop.step != 1 or loop.multiple != 1:
        return None
    parameters, depth = around.parameters, around.depth
    local, count = _local_space(parameters, depth), parameters + depth
    found: list[isl.Constraint] = []
    for number, expr in enumerate((*loop.lower, *loop.upper)):
        times, dividend = quotient(expr)
        form = linear_form(dividend, count)
        if form is None or (times != 1 and number < len(loop.lower)):
            return None
        # i - low >= 0, high - 1 - i >= 0; i < e ceildiv n is n * i < e.
        sign = -1 if number < len(loop.lower) else 1
        coefficients = [sign * c for c in form[0]]
        coefficients[-1] -= sign * times
        function = linear_function(local, parameters, coefficients, sign * form[1] - (sign == 1))
        found.append(isl.Constraint.inequality_from_aff(function))
    return found


def quotient(expr: AffineExpr) -> tuple[int, AffineExpr]:
    """`n` and `e` of `e ceildiv n`; 1 and the expression of any other."""
    if type(expr) is AffineBinaryOpExpr and expr.kind is AffineBinaryOpKind.CeilDiv:
        by = expr.rhs
        if type(by) is AffineConstantExpr and by.value > 0:
            return by.value, expr.lhs
    return 1, expr


def iteration_count(around: Around, lower: Exprs, upper: Exprs, step: int) -> isl.PwAff:
    """The number of iterations of a loop as a function of what surrounds it."""
    lows, highs = around.values(lower), around.values(upper)
    first, last = lows[0], highs[0]
    for bound in lows[1:]:
        first = first.max(bound)
    for bound in highs[1:]:
        last = last.min(bound)
    count = last.sub(first).scale_down_val(isl.Val(step)).ceil()
    count = count.max(constant(around.space, 0))
    return count.intersect_domain(around.domain).coalesce()


def loop_range(
    here: isl.PwAff,
    lower: Sequence[isl.PwAff],
    upper: Sequence[isl.PwAff],
    step: int,
    multiple: int = 1,
) -> isl.Set:
    """
    Where a variable is one that `max(lower) to min(upper) step` runs through.

    The number of iterations is rounded up to a multiple of `multiple`.
    """
    result = isl.Set.universe(here.get_domain_space())
    if multiple == 1 or not lower:
        for bound in upper:
            result = result.intersect(here.lt_set(bound))
    if not lower:
        return result
    start = lower[0]
    for bound in lower[1:]:
        start = start.max(bound)
    result = result.intersect(here.ge_set(start))
    if multiple != 1 and upper:
        end = upper[0]
        for bound in upper[1:]:
            end = end.min(bound)
        span = number_of(step * multiple)
        blocks = end.sub(start).scale_down_val(span).ceil()
        result = result.intersect(here.sub(start).lt_set(blocks.scale_val(span)))
    if step != 1:
        offset = here.sub(start).mod_val(isl.Val(step))
        result = result.intersect(offset.zero_set())
    return result


@lru_cache(REMEMBERED)
def element_map(around: Around, place: Place) -> isl.Map:
    """
    The space's points to the elements of the buffer, preceded by the variables of the loops that
    the buffer is made in: each of their iterations has memory of its own.
    """
    exprs = [subscript for subscript in place.subscripts if subscript is not None]
    private_variables = around.variables[around.parameters :][: place.private]
    values = [*private_variables, *around.values(exprs)]
    if values and len(exprs) == len(place.subscripts):
        return as_map(values)
    everywhere = isl.Set.universe(around.space)
    target = isl.Space.create_from_names(
        isl.DEFAULT_CONTEXT, set=["e"], params=[f"p{n}" for n in range(around.parameters)]
    )
    anything = isl.Map.from_domain_and_range(everywhere, isl.Set.universe(target))
    relation = anything.project_out(isl.dim_type.out, 0, 1)
    for private in private_variables:
        relation = relation.flat_range_product(isl.Map.from_pw_aff(private))
    for subscript in place.subscripts:
        index = anything
        if subscript is not None:
            index = isl.Map.from_pw_aff(around.values([subscript])[0])
        relation = relation.flat_range_product(index)
    return relation


@lru_cache(REMEMBERED)
def touched(around: Around, place: Place) -> isl.Map:
    """The elements that the iterations touch."""
    return element_map(around, place).intersect_domain(around.domain)


@lru_cache(REMEMBERED)
def time_map(around: Around, moment: Moment) -> isl.Map:
    """The iterations to time vectors."""
    space = around.space
    target = space.params().add_dims(isl.dim_type.set, len(moment))
    functions = isl.MultiAff.zero(isl.Space.map_from_domain_and_range(space, target))
    local = isl.LocalSpace.from_space(space)
    for n, entry in enumerate(moment):
        if isinstance(entry, AffineDimExpr):
            aff = isl.Aff.var_on_domain(local, isl.dim_type.set, entry.position - around.parameters)
        else:
            assert isinstance(entry, AffineConstantExpr)
            aff = isl.Aff.zero_on_domain(local).set_constant_val(isl.Val(entry.value))
        functions = functions.set_aff(n, aff)
    return isl.Map.from_multi_aff(functions).intersect_domain(around.domain)

"""Whether a new order of iterations keeps every dependence: the one legality test of reordering steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import islpy as isl
from xdsl.dialects import affine, func
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.affine_isl import applied, as_map, constant, parameter, pw_aff, variable
from ...analysis.dependence import Dependence, Unless
from ...analysis.domains import space_of
from ...analysis.effects import hidden_effects
from ...analysis.frames import constant_value
from ...analysis.operations import operation_around
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.schedule import Step
from ...errors import location_of
from .nest import Nest, loops_around
from .refusal import refuse, refuse_dependence

Reordering = Callable[[list[isl.PwAff]], Sequence[isl.PwAff]]
"""From the entries of a time vector to those of the new one, each a function of the old vector."""

Order = isl.Map | Callable[[Access], isl.Map]
"""A new order: from old time vectors to new ones, the same for all accesses or one for each."""


class TimeSpace:
    """The time vectors of a nest, and values of loop variables and bounds as functions of them."""

    def __init__(self, nest: Nest):
        self.nest = nest
        scop = nest.dependences.scop
        self.length = scop.time_length
        self.space = space_of(len(scop.parameters), self.length)

    def entries(self) -> list[isl.PwAff]:
        """The entries of the vector themselves."""
        return [variable(self.space, n) for n in range(self.length)]

    def value(self, value: SSAValue) -> isl.PwAff | None:
        """A loop variable, a parameter or what is computed from them; None for any other value."""
        if isinstance(value.owner, affine.ApplyOp):
            return self.expr(applied(value.owner), value.owner.mapOperands)
        number = constant_value(value)
        if number is not None:
            return constant(self.space, number)
        for for_op in self.nest.loops():
            if for_op.induction_variable is value:
                return variable(self.space, self.nest.time_position(for_op))
        parameters = self.nest.dependences.scop.parameters
        if value in parameters:
            return parameter(self.space, parameters.index(value))
        return None

    def expr(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> isl.PwAff | None:
        """An affine expression of a loop of the nest, or None when an operand is not affine."""
        dims = [self.value(operand) for operand in operands]
        known = [dim for dim in dims if dim is not None]
        return pw_aff(expr, known, self.space) if len(known) == len(dims) else None

    def lower_bound(self, for_op: loop.ForOp) -> isl.PwAff | None:
        """The first value of the loop's variable, or None when it is not affine."""
        result: isl.PwAff | None = None
        for expr in for_op.lower_map.data.results:
            bound = self.expr(expr, for_op.lower_operands)
            if bound is None:
                return None
            result = bound if result is None else result.max(bound)
        return result

    def upper_bound(self, for_op: loop.ForOp) -> isl.PwAff | None:
        """The value the loop's variable stays below, or None when it is not affine."""
        result: isl.PwAff | None = None
        for expr in for_op.upper_map.data.results:
            bound = self.expr(expr, for_op.upper_operands)
            if bound is None:
                return None
            result = bound if result is None else result.min(bound)
        return result

    def map(self, reordering: Reordering) -> isl.Map:
        """The reordering as a map from old time vectors to new ones."""
        return as_map(reordering(self.entries()))


def new_times(dependence: Dependence, order: Order) -> tuple[isl.Map, isl.Map]:
    """When the two ends of a dependence run in a new order."""
    ends = dependence.source, dependence.sink
    source, sink = (
        end.time.apply_range(order if isinstance(order, isl.Map) else order(end)) for end in ends
    )
    return source, sink


def is_reduction(dependence: Dependence) -> bool:
    """Whether it is between updates by one operator that may be reassociated: any order will do."""
    return dependence.reduction is not None


def is_free_within(loops: Sequence[loop.ForOp], others: list[Dependence] | None = None) -> Unless:
    """
    For an order that is the old one for any two iterations that are the same in all of these nested loops, and
    for any two that are not in the loops around them: what need not be asked of such an order.

    Dependences that are not seen to stay in one iteration of the loops, free or not, are appended to `others`.
    """
    given = len(loops_around(loops[0]))
    if others is None:
        return lambda d: is_reduction(d) or d.stays_inside(loops, given)

    def is_free(dependence: Dependence) -> bool:
        if dependence.stays_inside(loops, given):
            return True
        others.append(dependence)
        return is_reduction(dependence)

    return is_free


def violations(
    nest: Nest,
    inside: Operation | Sequence[Operation],
    new_order: Order,
    is_free: Unless = is_reduction,
) -> list[tuple[Dependence, isl.Map]]:
    """
    The dependences inside one or several operations that a new order breaks, each with the pairs it would swap.

    Those that are free of order, which are reductions, do not count.
    """
    broken: list[tuple[Dependence, isl.Map]] = []
    operations = (inside,) if isinstance(inside, Operation) else inside
    for dependence in nest.dependences.inside(operations, unless=is_free):
        source, sink = new_times(dependence, new_order)
        if _stays_in_order(dependence.relation, source, sink):
            continue
        swapped = dependence.relation.intersect(source.lex_ge_map(sink))
        if not swapped.is_empty():
            broken.append((dependence, swapped))
    return broken


def _stays_in_order(pairs: isl.Map, source: isl.Map, sink: isl.Map) -> bool:
    """
    Whether the first of all pairs runs before the second, at the times of source and sink.

    Entries that are equal numbers do not count, nor what comes after different ones, which is most of
    long time vectors: isl takes several times as long to compare them whole.
    """
    out = isl.dim_type.out
    kept: list[int] = []
    for n in range(source.dim(out)):
        first, second = (side.plain_get_val_if_fixed(out, n) for side in (source, sink))
        if first.is_int() and second.is_int():
            if first.eq(second):
                continue
            if not kept:
                return first.lt(second)
            kept.append(n)
            break
        kept.append(n)
    source, sink = _entries(source, kept), _entries(sink, kept)
    times = pairs.apply_domain(source).apply_range(sink)
    return times.intersect(isl.Map.lex_ge(times.get_space().domain())).is_empty()


def _entries(times: isl.Map, kept: Sequence[int]) -> isl.Map:
    """Some entries of time vectors."""
    out = isl.dim_type.out
    end = kept[-1] + 1 if kept else 0
    times = times.project_out(out, end, times.dim(out) - end)
    for n in reversed(range(end)):
        if n not in kept:
            times = times.project_out(out, n, 1)
    return times


def kind_after(
    nest: Nest,
    inside: Operation,
    new_order: Order,
    position: int,
    claimed: loop.LoopKind,
    among: Iterable[Dependence] | None = None,
    unless: Unless | None = None,
) -> loop.LoopKind:
    """
    What may still be said of a loop whose variable is entry `position` of the new time vectors.

    Nothing more than was `claimed`, and less where the new order makes it carry a dependence: one `among` some that
    there may be, if they are given. Those of which `unless` is true are known not to be carried.
    """
    if claimed is loop.LoopKind.SERIAL:
        return claimed

    def is_harmless(dependence: Dependence) -> bool:
        is_known = claimed is loop.LoopKind.REDUCTION and is_reduction(dependence)
        return is_known or (unless is not None and unless(dependence))

    if among is None:
        among = nest.dependences.inside([inside], unless=is_harmless)
    else:
        among = (d for d in among if not is_harmless(d) and d.exists)
    for dependence in among:
        if claimed is loop.LoopKind.REDUCTION and dependence.reduction is not None:
            continue
        if _is_carried(dependence, new_order, position):
            if dependence.reduction is None:
                return loop.LoopKind.SERIAL
            claimed = loop.LoopKind.REDUCTION
    return claimed


def agreeing(source: isl.Map, sink: isl.Map, count: int) -> isl.Map:
    """The pairs of iterations whose times have the same first `count` entries."""
    rest = source.dim(isl.dim_type.out) - count
    first = source.project_out(isl.dim_type.out, count, rest)
    return first.apply_range(sink.project_out(isl.dim_type.out, count, rest).reverse())


def _is_carried(dependence: Dependence, new_order: Order, position: int) -> bool:
    """Whether the ends' new times differ in entry `position` for iterations that agree before it."""
    into, out = isl.dim_type.in_, isl.dim_type.out
    source, sink = new_times(dependence, new_order)
    rest = source.dim(out) - position - 1
    source, sink = (ends.project_out(out, position + 1, rest) for ends in (source, sink))
    # Conditions on the short vectors first: isl is slow to take long relations apart.
    same = isl.Map.universe(isl.Space.map_from_set(source.get_space().range()))
    for n in range(position):
        same = same.equate(into, n, out, n)
    for differ in (isl.Map.order_lt, isl.Map.order_gt):
        pairs = differ(same, into, position, out, position)
        pairs = source.apply_range(pairs).apply_range(sink.reverse())
        if not dependence.relation.intersect(pairs).is_empty():
            return True
    return False


def check_structured(step: Step, op: Operation) -> None:
    """Raise the refusal of `step` for a loop inside of an operation that analyses do not look into."""
    around = operation_around(op)
    while type(around) is loop.ForOp or type(around) is loop.IfOp:
        around = operation_around(around)
    if around is not None and type(around) is not func.FuncOp:
        raise refuse(
            step,
            f"it stands inside of '{around.name}', whose iterations are unknown",
            remedy="write that as loop.for or loop.if",
        )


def check_effects(step: Step, inside: Operation | Sequence[Operation]) -> None:
    """Raise the refusal of `step` when something in the operations has effects that nothing tells of."""
    for op in (inside,) if isinstance(inside, Operation) else inside:
        unknown = hidden_effects(op)
        if unknown is not None:
            where = location_of(unknown)
            raise refuse(
                step,
                f"'{unknown.name}'" + (f" ({where})" if where else "") + " has unknown effects, "
                "which may have to happen in order",
                remedy="keep it outside of the loops",
            )


def check_order(
    step: Step,
    nest: Nest,
    inside: Operation | Sequence[Operation],
    new_order: Order,
    *,
    remedy: str | Callable[[], str] = "",
    is_free: Unless = is_reduction,
) -> None:
    """
    Raise the refusal of `step` when the new order breaks a dependence inside the operations that is not free of it.

    A remedy that takes time to find is given as a function, and so may the order be.
    """
    for op in (inside,) if isinstance(inside, Operation) else inside:
        check_structured(step, op)
    check_effects(step, inside)
    broken = violations(nest, inside, new_order, is_free)
    if broken:
        dependence, pairs = broken[0]
        advice = remedy if isinstance(remedy, str) else remedy()
        raise refuse_dependence(step, nest.dependences, dependence, pairs, remedy=advice)

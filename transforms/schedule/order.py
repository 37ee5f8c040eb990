"""Whether a new order of iterations keeps every dependence: the one legality test of reordering steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.affine_isl import parameter, pw_aff, variable
from ...analysis.dependence import Dependence
from ...dialects import loop
from ...dialects.schedule import Step
from .nest import Nest
from .refusal import refuse_dependence

Reordering = Callable[[list[isl.PwAff]], Sequence[isl.PwAff]]
"""From the entries of a time vector to those of the new one, each a function of the old vector."""


class TimeSpace:
    """The time vectors of a nest, and values of loop variables and bounds as functions of them."""

    def __init__(self, nest: Nest):
        self.nest = nest
        scop = nest.dependences.scop
        self.length = scop.accesses[0].time.dim(isl.dim_type.out) if scop.accesses else 1
        names = [f"p{n}" for n in range(len(scop.parameters))]
        space = isl.Space.create_from_names(
            isl.DEFAULT_CONTEXT, set=[f"t{n}" for n in range(self.length)], params=names
        )
        self.space = space

    def entries(self) -> list[isl.PwAff]:
        """The entries of the vector themselves."""
        return [variable(self.space, n) for n in range(self.length)]

    def value(self, value: SSAValue) -> isl.PwAff | None:
        """A loop variable or parameter; None for a value that is neither."""
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

    def map(self, reordering: Reordering) -> isl.Map:
        """The reordering as a map from old time vectors to new ones."""
        result: isl.Map | None = None
        for entry in reordering(self.entries()):
            part = isl.Map.from_pw_aff(entry)
            result = part if result is None else result.flat_range_product(part)
        assert result is not None
        return result


def violations(
    nest: Nest, inside: Operation, new_order: isl.Map
) -> list[tuple[Dependence, isl.Map]]:
    """
    The dependences inside an operation that a new order breaks, each with the pairs it would swap.

    Dependences of a reduction whose operator may be reassociated do not count.
    """
    broken: list[tuple[Dependence, isl.Map]] = []
    accesses = set(nest.dependences.scop.inside(inside))
    for dependence in nest.dependences.all:
        if (
            dependence.source not in accesses
            or dependence.sink not in accesses
            or dependence.reduction is not None
        ):
            continue
        source = dependence.source.time.apply_range(new_order)
        sink = dependence.sink.time.apply_range(new_order)
        swapped = dependence.relation.intersect(source.lex_ge_map(sink))
        if not swapped.is_empty():
            broken.append((dependence, swapped))
    return broken


def check_order(
    step: Step, nest: Nest, inside: Operation, new_order: isl.Map, *, remedy: str = ""
) -> None:
    """Raise the refusal of `step` when the new order breaks a dependence inside the operation."""
    broken = violations(nest, inside, new_order)
    if broken:
        dependence, pairs = broken[0]
        raise refuse_dependence(step, nest.dependences, dependence, pairs, remedy=remedy)

"""The iterations that two loops which follow each other have in common, and those that only one of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.affine_substitution import plus
from ...dialects.schedule.steps import FuseLoops
from ...frozen import frozen
from .nest import Nest
from .ranges import Ranges
from .refusal import refuse
from .rewrite import lower_bound, shifted_to, upper_bound


@frozen
class Part:
    """A range of iterations that only one of the two loops runs, before or after the common one."""

    name: str
    of_first: bool
    is_front: bool
    lower: tuple[AffineExpr, ...]
    upper: tuple[AffineExpr, ...]


def run_through_the_same(
    first: loop.ForOp, second: loop.ForOp, same: Mapping[SSAValue, SSAValue]
) -> bool:
    """Whether two loops have the same bounds and step; `same` are variables that will be others."""
    return (
        first.step == second.step
        and first.lower_map == second.lower_map
        and first.upper_map == second.upper_map
        and tuple(first.operands) == tuple(same.get(value, value) for value in second.operands)
    )


_Terms = tuple[list[AffineExpr], list[AffineExpr]]
"""The lower bounds, whose maximum counts, and the upper ones."""


class Pieces:
    """The ranges in which both loops run, and in which only one does."""

    def __init__(
        self, step: FuseLoops, nest: Nest, first: loop.ForOp, second: loop.ForOp, offset: int
    ):
        self.step = step
        self.nest = nest
        self.loops = (first, second)
        self.offset = offset
        self.values: list[SSAValue] = []
        self.first = self._terms(first, 0)
        self.second = self._terms(second, offset)
        block = first.parent
        assert block is not None
        self.ranges = Ranges(nest.frames.of(block), self.values)

    def _terms(self, op: loop.ForOp, offset: int) -> _Terms:
        """The lower and the upper bounds of a loop, over `values`, in the fused loop's numbers."""
        terms: list[list[AffineExpr]] = []
        for exprs, operands in (lower_bound(op), upper_bound(op)):
            moved = shifted_to(exprs, len(self.values))
            self.values.extend(operands)
            terms.append([plus(e, offset) for e in moved])
        return terms[0], terms[1]

    def all(
        self,
    ) -> tuple[
        tuple[SSAValue, ...], tuple[AffineExpr, ...], tuple[AffineExpr, ...], tuple[Part, ...]
    ]:
        """The values, the bounds of the fused loop, and the parts of the two loops around it."""
        ranges, is_same = self.ranges, self._run_through_the_same()
        if not is_same:
            self._check_lattice()
        others: _Terms = ([], []) if is_same else self.second
        lower = ranges.greatest([*self.first[0], *others[0]])
        upper = ranges.least([*self.first[1], *others[1]])
        if ranges.is_empty(lower, upper):
            raise refuse(
                self.step,
                "the loops have no iterations in common",
                remedy="choose a shift with which their ranges meet",
            )
        if is_same:  # as nearly always
            return tuple(self.values), tuple(lower), tuple(upper), ()
        parts = [
            part
            for of_first, own, other in (
                (True, self.first, self.second),
                (False, self.second, self.first),
            )
            for part in (self._front(of_first, own, other), self._back(of_first, own, other))
            if part is not None
        ]
        return tuple(self.values), tuple(lower), tuple(upper), tuple(parts)

    def _run_through_the_same(self) -> bool:
        """Whether the two loops have the same bounds, so that none has iterations of its own."""
        return self.offset == 0 and run_through_the_same(*self.loops, {})

    def _check_lattice(self) -> None:
        """With a step, both loops must run through the same numbers."""
        stride = self.loops[0].step.value.data
        if stride != 1 and not all(
            self.ranges.is_multiple(a - b, stride)
            for a in self.first[0]
            for b in (*self.first[0], *self.second[0])
        ):
            raise refuse(
                self.step,
                f"the loops do not surely start a multiple of their step {stride} apart",
                remedy="normalize them first",
            )

    def _front(self, of_first: bool, own: _Terms, other: _Terms) -> Part | None:
        """The iterations of one loop before the other loop's first."""
        lower = self.ranges.greatest(own[0])
        choices = [
            (lower, self.ranges.least([*own[1], start])) for start in self.ranges.greatest(other[0])
        ]
        return self._part(of_first, True, choices)

    def _back(self, of_first: bool, own: _Terms, other: _Terms) -> Part | None:
        """The iterations of one loop after the other loop's last."""
        upper = self.ranges.least(own[1])
        choices = [
            (self.ranges.greatest([self._at_turn(end, own), *other[0], *own[0]]), upper)
            for end in self.ranges.least(other[1])
        ]
        return self._part(of_first, False, choices)

    def _at_turn(self, end: AffineExpr, own: _Terms) -> AffineExpr:
        """The first number from `end` on that a loop runs through, if it started before."""
        stride = self.loops[0].step.value.data
        if stride == 1:
            return end
        start = own[0][0]
        turns = simplified(end - start, len(self.values)).ceil_div(stride)
        return simplified(start + turns * stride, len(self.values))

    def _part(
        self,
        of_first: bool,
        is_front: bool,
        choices: Sequence[tuple[list[AffineExpr], list[AffineExpr]]],
    ) -> Part | None:
        """The one of the ranges that is not always empty."""
        name = self.loops[0 if of_first else 1].loop_name.data
        used = [choice for choice in choices if not self.ranges.is_empty(*choice)]
        if not used:
            return None
        if len(used) > 1:
            raise refuse(
                self.step,
                f"the iterations that only '{name}' has are no single range, because the bounds of the "
                "other loop are a maximum or minimum",
                remedy="simplify or index_set_split that loop first",
            )
        ((lower, upper),) = used
        part = self.nest.fresh_loop_name(f"{name}.{'front' if is_front else 'back'}")
        return Part(part, of_first, is_front, tuple(lower), tuple(upper))

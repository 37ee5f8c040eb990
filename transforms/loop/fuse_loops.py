"""fuse_loops: two loops that follow each other as one (fusion), the second one some iterations later."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.dependence import Dependence
from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.loop import LoopKind, LoopKindAttr
from ...dialects.schedule.steps import FuseLoops
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import loop_handle
from ..step_support.kinds import weakest
from ..step_support.made import MergedLoop
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_effects, check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.ranges import Ranges
from ..step_support.refusal import refuse, refuse_dependence
from ..step_support.rewrite import (
    BoundExprs,
    insert_after,
    insert_before,
    lower_bound,
    move_body,
    replace_loop,
    set_bounds,
    shifted_to,
    substitute,
    upper_bound,
)


@frozen
class Part:
    """A range of iterations that only one of the two loops runs, before or after the common one."""

    name: str
    of_first: bool
    is_front: bool
    lower: tuple[AffineExpr, ...]
    upper: tuple[AffineExpr, ...]


@frozen
class FuseLoopsPlan:
    """The two loops, the ranges they run in, and where what stands between them goes."""

    nest: Nest
    first: loop.ForOp
    second: loop.ForOp
    offset: int
    """How far the fused loop's variable is ahead of the second loop's."""
    values: tuple[SSAValue, ...]
    """What the expressions of the bounds are over."""
    lower: tuple[AffineExpr, ...]
    upper: tuple[AffineExpr, ...]
    parts: tuple[Part, ...]
    before: tuple[Operation, ...]
    after: tuple[Operation, ...]
    kind: LoopKind

    def apply(self) -> MergedLoop:
        """
        `for i in L..U: S(i)` and `for j in M..V: T(j)` → the front part of one of them, then
        `for i in max(L, M)..min(U, V): S(i); T(i)`, then the back part of one of them.
        """
        block = self.first.parent
        assert block is not None
        for op in self.before:
            op.detach()
            block.insert_op_before(op, self.first)
        for op in reversed(self.after):
            op.detach()
            block.insert_op_after(op, self.second)
        copier = Copier(self.nest)
        fronts = [self._part(part, copier) for part in self.parts if part.is_front]
        backs = [self._part(part, copier) for part in self.parts if not part.is_front]
        insert_before(self.first, fronts)
        insert_after(self.second, backs)
        self._merge()
        made = [tuple(loop_handle(self.nest, op) for op in ops) for ops in (fronts, backs)]
        return MergedLoop(loop_handle(self.nest, self.first), *made)

    def _part(self, part: Part, copier: Copier) -> loop.ForOp:
        """One of the loops over a range of its own, under its own variable."""
        copy = copier.loop(self.first if part.of_first else self.second, part.name)
        back = 0 if part.of_first else self.offset
        set_bounds(copy, self._bound(part.lower, back), self._bound(part.upper, back))
        return copy

    def _merge(self) -> None:
        """Let the first loop run both bodies where both run."""
        set_bounds(self.first, self._bound(self.lower), self._bound(self.upper))
        self.first.kind = LoopKindAttr(self.kind)
        variable = self.first.induction_variable
        if self.offset:
            own = AffineExpr.dimension(0) - self.offset
            substitute(self.second.induction_variable, own, [variable])
        else:
            self.second.induction_variable.replace_all_uses_with(variable)
        move_body(self.second, self.first.body.block)
        replace_loop(self.second, ())

    def _bound(self, exprs: Sequence[AffineExpr], back: int = 0) -> BoundExprs:
        moved = [simplified(e - back, len(self.values)) if back else e for e in exprs]
        return moved, self.values


@planner(FuseLoops)
def plan_fuse_loops(step: FuseLoops, nests: Nests) -> FuseLoopsPlan:
    """
    Legal when nothing of the second loop then runs before something of the first that it depends on.

    Iterations that only one of the loops has are run before and after the fused loop. Operations between
    the two loops go before the first or after the second.
    """
    nest, name = nests.resolve(step.loop)
    first = nest.loop(name)
    second = nest.loop(step.other.rpartition("/")[2])
    between = _between(step, first, second)
    check_unmarked(step, first)
    check_unmarked(step, second)
    check_structured(step, first)
    check_effects(step, (first, *between, second))
    stride = first.step.value.data
    if second.step.value.data != stride:
        raise refuse(
            step,
            f"'{name}' has step {stride} and '{step.other}' step {second.step.value.data}",
            remedy="normalize them first, or split them to the same step",
        )
    offset = step.shift * stride
    before, after = _divide(step, nest, first, second, between)
    across = _across(nest, first, second, offset)
    _check_order(step, nest, first, second, offset, across)
    values, lower, upper, parts = _Pieces(step, nest, first, second, offset).all()
    return FuseLoopsPlan(
        nest,
        first,
        second,
        offset,
        values,
        lower,
        upper,
        parts,
        before,
        after,
        _kind(first, second, offset, across),
    )


def _between(step: FuseLoops, first: loop.ForOp, second: loop.ForOp) -> list[Operation]:
    """The operations between the two loops."""
    if first is second or first.parent is not second.parent:
        raise refuse(
            step,
            f"'{first.loop_name.data}' and '{second.loop_name.data}' do not stand in the same block",
            remedy="name two loops that follow each other",
        )
    found: list[Operation] = []
    current = first.next_op
    while current is not None and current is not second:
        found.append(current)
        current = current.next_op
    if current is None:
        raise refuse(
            step,
            f"'{second.loop_name.data}' stands before '{first.loop_name.data}'",
            remedy="name them in the order they stand in",
        )
    return found


# Legality.


_Across = list[tuple[Dependence, isl.Map]]
"""Dependences from one operation of a block to another, each with its pairs in one run of the block."""


def _across(nest: Nest, first: Operation, second: Operation, offset: int | None = None) -> _Across:
    """Those that are not seen to be within one iteration of a loop fused with an offset."""
    depth = len(loops_around(first))
    scop = nest.dependences.scop

    def is_within_one(dependence: Dependence) -> bool:
        return offset == 0 and depth in dependence.equal_loops(depth + 1, depth)

    possible = nest.dependences.possible(scop.inside(first), scop.inside(second))
    return [
        (dependence, pairs)
        for dependence in possible
        if not is_within_one(dependence) and (pairs := dependence.inside(depth)) is not None
    ]


def _check_order(
    step: FuseLoops,
    nest: Nest,
    first: loop.ForOp,
    second: loop.ForOp,
    offset: int,
    across: _Across,
) -> None:
    """
    Raise the refusal when something of the second loop would run before what it depends on.

    That is in one run of the block, and in an earlier iteration of the fused loop: in the same one the first
    body comes first, and what each of the loops does stays in order.
    """
    depth = len(loops_around(first))
    for dependence, pairs in across:
        if dependence.reduction is not None:
            continue
        swapped = _behind(pairs, depth, offset)
        if not swapped.is_empty():
            raise refuse_dependence(
                step, nest.dependences, dependence, swapped, remedy=_remedy(first, across)
            )


def _ordered(nest: Nest, first: Operation, second: Operation) -> _Across:
    """Those that are no reductions, whose order matters."""
    return [(d, pairs) for d, pairs in _across(nest, first, second) if d.reduction is None]


def _divide(
    step: FuseLoops,
    nest: Nest,
    first: loop.ForOp,
    second: loop.ForOp,
    between: Sequence[Operation],
) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
    """Which operations between the loops go before the first one and which after the second."""
    after: list[Operation] = []
    for op in between:
        used = {operand.owner for inner in op.walk() for operand in inner.operands}
        if any(late in used or _ordered(nest, late, op) for late in (first, *after)):
            after.append(op)
    for op in after:
        for inner in second.walk():
            value = next((v for v in inner.operands if v.owner is op), None)
            if value is not None:
                raise refuse(
                    step,
                    f"the value '%{value.name_hint or op.name}' between the loops needs the first one "
                    "and the second one needs it",
                    remedy="compute it before the first loop, or inside the second",
                )
        conflicts = _ordered(nest, op, second)
        if conflicts:
            dependence, pairs = conflicts[0]
            raise refuse_dependence(
                step,
                nest.dependences,
                dependence,
                pairs,
                what="swapped, as what stands between the loops must come after the first one",
                remedy="fuse the loops between first",
            )
    return tuple(op for op in between if op not in after), tuple(after)


def _remedy(first: loop.ForOp, across: _Across) -> str:
    """The least shift that keeps all dependences, when there is one."""
    depth = len(loops_around(first))
    needed: int | None = None
    for dependence, pairs in across:
        if dependence.reduction is not None:
            continue
        inner = pairs.dim(isl.dim_type.in_)
        points = pairs.wrap().flatten()
        local = isl.LocalSpace.from_space(points.get_space())
        source = isl.Aff.var_on_domain(local, isl.dim_type.set, depth)
        sink = isl.Aff.var_on_domain(local, isl.dim_type.set, inner + depth)
        lag = points.max_val(source.sub(sink))
        if not lag.is_int():
            return "the loops have to follow each other"
        steps = -(-lag.to_python() // first.step.value.data)
        needed = steps if needed is None else max(needed, steps)
    return f"shift={needed} keeps all dependences" if needed is not None else ""


def _kind(first: loop.ForOp, second: loop.ForOp, offset: int, across: _Across) -> LoopKind:
    """What is known of the fused loop."""
    kind = weakest(first.kind.data, second.kind.data)
    depth = len(loops_around(first))
    for dependence, pairs in across:
        if not pairs.is_subset(_meeting(pairs, depth, offset)):
            kind = weakest(
                kind, LoopKind.SERIAL if dependence.reduction is None else LoopKind.REDUCTION
            )
    return kind


def _meeting(pairs: isl.Map, depth: int, offset: int) -> isl.Map:
    """The pairs that are in one iteration of the fused loop."""
    local = isl.LocalSpace.from_space(pairs.get_space())
    return pairs.add_constraint(_ahead(isl.Constraint.alloc_equality(local), depth, -offset))


def _behind(pairs: isl.Map, depth: int, offset: int) -> isl.Map:
    """The pairs whose second end is in an earlier iteration of the fused loop than the first one."""
    local = isl.LocalSpace.from_space(pairs.get_space())
    return pairs.add_constraint(_ahead(isl.Constraint.alloc_inequality(local), depth, -offset - 1))


def _ahead(constraint: isl.Constraint, depth: int, number: int) -> isl.Constraint:
    """On how far the first loop's variable is ahead of the second's, plus a number."""
    return (
        constraint.set_coefficient_val(isl.dim_type.in_, depth, isl.Val(1))
        .set_coefficient_val(isl.dim_type.out, depth, isl.Val(-1))
        .set_constant_val(isl.Val(number))
    )


# Ranges.

_Terms = tuple[list[AffineExpr], list[AffineExpr]]
"""The lower bounds, whose maximum counts, and the upper ones."""


class _Pieces:
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
            terms.append([e + offset for e in moved])
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
        first, second = self.loops
        return (
            self.offset == 0
            and first.lower_map == second.lower_map
            and first.upper_map == second.upper_map
            and tuple(first.operands) == tuple(second.operands)
        )

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


LoopFuseLoopsPass = step_pass(FuseLoops, numerics="reassociates")

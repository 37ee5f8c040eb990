"""fuse_loops: two loops that follow each other as one (fusion), the second one some iterations later, or two nests level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import islpy as isl
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.dependence import Dependence
from ...analysis.operations import body_of
from ...dialects import loop
from ...dialects.affine_bounds import simplified
from ...dialects.leaf_operations import insert_leaf_before
from ...dialects.loop import LoopKind, kind_attribute
from ...dialects.schedule.steps import FuseLoops
from ...frozen import frozen
from ..step_support.copies import Copier
from ..step_support.handles import loop_handle
from ..step_support.kinds import weakest
from ..step_support.made import MergedLoop
from ..step_support.modes import check_unmarked
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_effects, check_structured
from ..step_support.pieces import Part, Pieces, run_through_the_same
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse, refuse_dependence
from ..step_support.rewrite import (
    BoundExprs,
    body_ops,
    insert_after,
    insert_before,
    move_body,
    replace_loop,
    set_bounds,
    substitute,
)

Pair = tuple[loop.ForOp, loop.ForOp]
"""A loop, and the one that becomes one with it."""


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
    kinds: tuple[LoopKind, ...]
    """of the fused loops, outermost first"""
    inner: tuple[Pair, ...] = ()
    """loops further in that run through the same, of which there is nothing else around"""

    def apply(self) -> MergedLoop:
        """
        `for i in L..U: S(i)` and `for j in M..V: T(j)` → the front part of one of them, then
        `for i in max(L, M)..min(U, V): S(i); T(i)`, then the back part of one of them.

        `for i: for k: S(i, k)` and `for j: for l: T(j, l)` → `for i: for k: S(i, k); T(i, k)`.
        """
        block = self.first.parent
        assert block is not None
        for op in self.before:
            op.detach()
            insert_leaf_before(block, op, self.first)
        for op in reversed(self.after):
            op.detach()
            block.insert_op_after(op, self.second)
        fronts: list[loop.ForOp] = []
        backs: list[loop.ForOp] = []
        if self.parts:
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
        """Let the first loops run both bodies where both run."""
        set_bounds(self.first, self._bound(self.lower), self._bound(self.upper))
        pairs: list[Pair] = [(self.first, self.second), *self.inner]
        for (first, second), kind in zip(pairs, self.kinds, strict=True):
            first.kind = kind_attribute(kind)
            variable = first.induction_variable
            if self.offset:
                own = AffineExpr.dimension(0) - self.offset
                substitute(second.induction_variable, own, [variable])
            else:
                second.induction_variable.replace_all_uses_with(variable)
        first, second = pairs[-1]
        move_body(second, body_of(first))
        replace_loop(self.second, ())

    def _bound(self, exprs: Sequence[AffineExpr], back: int = 0) -> BoundExprs:
        moved = [simplified(e - back, len(self.values)) if back else e for e in exprs]
        return moved, self.values


@planner(FuseLoops)
def plan_fuse_loops(step: FuseLoops, nests: Nests) -> FuseLoopsPlan:
    """
    Legal when nothing of the second loop then runs before something of the first that it depends on.

    Iterations that only one of the loops has are run before and after the fused loop. Operations between
    the two loops go before the first or after the second. With a `depth`, the loops inside become one too: they
    run through the same, and nothing else stands around them.
    """
    nest, name = nests.resolve(step.loop)
    first = nest.loop(name)
    second = nest.loop(step.other.rpartition("/")[2])
    between = _between(step, first, second)
    pairs = _pairs(step, first, second)
    for op in (op for pair in pairs for op in pair):
        check_unmarked(step, op)
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
    across = _across(nest, first, second, offset, len(pairs))
    _check_order(step, nest, pairs, offset, across)
    values, lower, upper, parts = Pieces(step, nest, first, second, offset).all()
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
        tuple(_kind(pairs, level, offset, across) for level in range(len(pairs))),
        tuple(pairs[1:]),
    )


def _pairs(step: FuseLoops, first: loop.ForOp, second: loop.ForOp) -> list[Pair]:
    """The loops of the two nests, outermost first. Raises the refusal of a depth that they do not have."""
    pairs = [(first, second)]
    if step.depth == 1:
        return pairs
    one_by_one = "fuse the loops one after the other, from the outside in"
    if step.depth < 1 or step.shift:
        given = f"depth is {step.depth}" + (f" and shift {step.shift}" if step.shift else "")
        raise refuse(
            step, f"{given}, expected a depth of at least 1 without a shift", remedy=one_by_one
        )
    same: dict[SSAValue, SSAValue] = {}
    while True:
        a, b = pairs[-1]
        names = f"'{a.loop_name.data}' and '{b.loop_name.data}'"
        if not run_through_the_same(a, b, same):
            raise refuse(step, f"{names} do not run through the same", remedy=one_by_one)
        if len(pairs) == step.depth:
            return pairs
        same[b.induction_variable] = a.induction_variable
        inner = [body for op in (a, b) for body in body_ops(op)]
        if len(inner) != 2 or not all(isinstance(op, loop.ForOp) for op in inner):
            raise refuse(step, f"{names} have more in them than one loop each", remedy=one_by_one)
        pairs.append((cast("loop.ForOp", inner[0]), cast("loop.ForOp", inner[1])))


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


def _across(
    nest: Nest,
    first: Operation,
    second: Operation,
    offset: int | None = None,
    levels: int = 1,
) -> _Across:
    """Those that are not seen to be within one iteration of so many loops fused with an offset."""
    depth = len(loops_around(first))
    scop, fused = nest.dependences.scop, range(depth, depth + levels)

    def is_within_one(dependence: Dependence) -> bool:
        return offset == 0 and dependence.equal_loops(depth + levels, depth).issuperset(fused)

    possible = nest.dependences.possible(scop.inside(first), scop.inside(second))
    return [
        (dependence, pairs)
        for dependence in possible
        if not is_within_one(dependence) and (pairs := dependence.inside(depth)) is not None
    ]


def _check_order(
    step: FuseLoops,
    nest: Nest,
    loops: Sequence[Pair],
    offset: int,
    across: _Across,
) -> None:
    """
    Raise the refusal when something of the second loops would run before what it depends on.

    That is in one run of the block, and in an earlier iteration of the fused loops: in the same one the first
    body comes first, and what each of the loops does stays in order.
    """
    first = loops[0][0]
    depth = len(loops_around(first))
    for dependence, pairs in across:
        if dependence.reduction is not None:
            continue
        for level in range(len(loops)):
            swapped = _behind(_together(pairs, depth, level), depth + level, offset)
            if not swapped.is_empty():
                remedy = _remedy(first, across) if len(loops) == 1 else "fuse fewer loops"
                raise refuse_dependence(step, nest.dependences, dependence, swapped, remedy=remedy)


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


def _kind(loops: Sequence[Pair], level: int, offset: int, across: _Across) -> LoopKind:
    """What is known of one of the fused loops."""
    first, second = loops[level]
    kind = weakest(first.kind.data, second.kind.data)
    outer = len(loops_around(loops[0][0]))
    depth = outer + level
    for dependence, every in across:
        pairs = _together(every, outer, level)
        if not pairs.is_subset(_meeting(pairs, depth, offset)):
            kind = weakest(
                kind, LoopKind.SERIAL if dependence.reduction is None else LoopKind.REDUCTION
            )
    return kind


def _together(pairs: isl.Map, depth: int, level: int) -> isl.Map:
    """The pairs that are in one iteration of the fused loops outside of one of them."""
    for number in range(depth, depth + level):
        pairs = pairs.equate(isl.dim_type.in_, number, isl.dim_type.out, number)
    return pairs


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


LoopFuseLoopsPass = step_pass(FuseLoops, numerics="reassociates")

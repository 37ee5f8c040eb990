"""tile: nested loops over tiles, and inside of them the loops within a tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.affine_isl import number_of
from ...dialects import loop
from ...dialects.loop import LoopKind
from ...dialects.schedule.steps import Tile
from ...frozen import frozen
from ..step_support.chain import chain_of
from ..step_support.copies import Copier
from ..step_support.extremes import extreme
from ..step_support.handles import loop_handle
from ..step_support.made import Loops, TiledLoops
from ..step_support.nest import Nest, Nests
from ..step_support.order import TimeSpace, check_order, kind_after
from ..step_support.padding import check_overrun
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse
from ..step_support.rewrite import (
    BoundExprs,
    insert_before,
    loop_like,
    lower_bound,
    move_body,
    replace_loop,
    shifted_to,
    upper_bound,
)
from ..step_support.sinking import Sinking, plan_sinking
from ..step_support.trip_count import TripCount
from .split import blocks_and_rest, check_peelable

Bounds = tuple[BoundExprs, BoundExprs]


@frozen
class Axis:
    """One loop to be tiled."""

    for_op: loop.ForOp
    span: int
    """how far the variable runs inside a tile"""
    tail: str
    """`guard`, `peel`, or `whole` where all tiles are whole or may run over"""
    tiles: Bounds
    """of the loop over tiles; the variables of other loops of the nest stand for their firsts in a tile"""
    has_own_start: bool
    """whether the loop inside a tile may start after the tile does"""
    outer_kind: LoopKind = LoopKind.SERIAL
    inner_kind: LoopKind = LoopKind.SERIAL

    def inside(self, start: SSAValue) -> Bounds:
        """Bounds of the loop inside the tile that begins at `start`."""
        first, (highs, high_values) = AffineExpr.dimension(0), upper_bound(self.for_op)
        lower: BoundExprs = [first], [start]
        if self.has_own_start:
            lows, low_values = lower_bound(self.for_op)
            lower = [first, *shifted_to(lows, 1)], [start, *low_values]
        end = first + self.span
        if self.tail != "guard":
            return lower, ([end], [start])
        return lower, ([end, *shifted_to(highs, 1)], [start, *high_values])


@frozen
class TilePlan:
    """The loops to be tiled, outermost first, and what stands between them."""

    nest: Nest
    axes: tuple[Axis, ...]
    sinking: Sinking

    def apply(self) -> TiledLoops:
        self.sinking.apply()
        chain = [axis.for_op for axis in self.axes]
        copier = Copier(self.nest, without=[op.loop_name.data for op in chain])
        builder = _Builder(self.nest, self.axes, copier)
        replace_loop(chain[0], builder.tiles(0, {}, (), ""))
        return TiledLoops(*builder.made())


@dataclass
class _Builder:
    """
    Makes the loops over tiles from the outside in, and inside of them the loops in a tile.

    Where rests are peeled, each rest has a copy of all that is further inside, made before the tiles
    it follows: these take the body itself.
    """

    nest: Nest
    axes: tuple[Axis, ...]
    copier: Copier
    outer: dict[loop.ForOp, list[loop.ForOp]] = field(
        default_factory=dict[loop.ForOp, list[loop.ForOp]]
    )
    inner: dict[loop.ForOp, list[loop.ForOp]] = field(
        default_factory=dict[loop.ForOp, list[loop.ForOp]]
    )
    """for each loop tiled, the loops over tiles and inside of a tile, those of whole tiles last"""

    def made(self) -> list[Loops]:
        """The loops over whole tiles, and those inside of one, of which those in rests are copies."""
        made: list[Loops] = []
        for loops in (self.outer, self.inner):
            for *copies, main in loops.values():
                for copy in copies:
                    self.nest.identities.copied(main, copy)
            made.append(tuple(loop_handle(self.nest, loops[axis.for_op][-1]) for axis in self.axes))
        return made

    def tiles(
        self,
        number: int,
        starts: Mapping[SSAValue, SSAValue],
        ranges: Sequence[tuple[str, Bounds]],
        suffix: str,
    ) -> list[Operation]:
        """
        The loops over tiles from axis `number` on.

        `starts` are the tiles' variables by those of the loops they are for, `ranges` the names and bounds
        of the loops inside a tile so far, `suffix` ends the names in a rest.
        """
        if number == len(self.axes):
            return [self._inside(ranges, suffix)]
        axis = self.axes[number]
        name = axis.for_op.loop_name.data
        lower, upper = (_replaced(bound, starts) for bound in axis.tiles)
        rest: list[Operation] = []
        if axis.tail == "peel":
            (lower, upper), left = blocks_and_rest(self.nest, axis.for_op, axis.span)
            rest = self.tiles(number + 1, starts, [*ranges, (f"{name}.tail", left)], ".tail")
        outer = loop_like(
            axis.for_op,
            lower,
            upper,
            name=self.copier.fresh(f"{name}.outer{suffix}"),
            step=axis.span,
            kind=axis.outer_kind,
        )
        outer.attributes.clear()
        self.outer.setdefault(axis.for_op, []).append(outer)
        start = outer.induction_variable
        inside = (f"{name}.inner", axis.inside(start))
        end = outer.body.block.last_op
        assert end is not None
        insert_before(
            end,
            self.tiles(
                number + 1,
                {**starts, axis.for_op.induction_variable: start},
                [*ranges, inside],
                suffix,
            ),
        )
        return [outer, *rest]

    def _inside(self, ranges: Sequence[tuple[str, Bounds]], suffix: str) -> Operation:
        """The loops in a tile, with the body."""
        variables: dict[SSAValue, SSAValue] = {}
        made: list[loop.ForOp] = []
        for axis, (name, bounds) in zip(self.axes, ranges, strict=True):
            lower, upper = (_replaced(bound, variables) for bound in bounds)
            name = name if name.endswith(suffix) else name + suffix
            name = self.copier.fresh(name)
            copy = loop_like(axis.for_op, lower, upper, name=name, kind=axis.inner_kind)
            self.inner.setdefault(axis.for_op, []).append(copy)
            old = axis.for_op.induction_variable
            copy.induction_variable.name_hint = old.name_hint
            if made:
                end = made[-1].body.block.last_op
                assert end is not None
                insert_before(end, [copy])
            made.append(copy)
            variables[old] = copy.induction_variable
        source = self.axes[-1].for_op
        if suffix:
            source = self.copier.operation(source, suffix, dict(variables))
        else:
            for old, new in variables.items():
                old.replace_all_uses_with(new)
        source.induction_variable.replace_all_uses_with(made[-1].induction_variable)
        move_body(source, made[-1].body.block)
        if suffix:
            source.erase()
        return made[0]


def _replaced(bound: BoundExprs, new: Mapping[SSAValue, SSAValue]) -> BoundExprs:
    exprs, values = bound
    return exprs, [new.get(value, value) for value in values]


@planner(Tile)
def plan_tile(step: Tile, nests: Nests) -> TilePlan:
    """
    Legal when no dependence is turned around by running tile after tile.

    Tiles of a loop begin at its first value and then every `factor` iterations, or, where that value
    depends on other loops of the nest, at multiples of the factor.
    """
    nest, name = nests.resolve(step.loop)
    if not step.factors or min(step.factors) < 1:
        raise refuse(
            step, f"the factors are {list(step.factors)}, expected at least one, all positive"
        )
    chain = chain_of(step, nest.loop(name), len(step.factors))
    sinking = plan_sinking(step, nest, chain)
    axes = [_axis(step, nest, chain, n) for n in range(len(chain))]
    axes = _with_kinds(step, nest, axes, sinking)
    if step.tail == "pad":
        check_overrun(step, nest, dict(zip(chain, step.factors, strict=True)))
    return TilePlan(nest, tuple(axes), sinking)


def _axis(step: Tile, nest: Nest, chain: Sequence[loop.ForOp], number: int) -> Axis:
    for_op, factor = chain[number], step.factors[number]
    span = factor * for_op.step.value.data
    variables = {op.induction_variable for op in chain}
    lower, upper = lower_bound(for_op), upper_bound(for_op)
    starts_vary = not variables.isdisjoint(lower[1])
    if starts_vary or not variables.isdisjoint(upper[1]):
        return _varying_axis(step, nest, chain, number, starts_vary)
    whole = Axis(for_op, span, "whole", (lower, upper), False)
    if TripCount(nest, for_op).is_multiple_of(factor) or step.tail == "pad":
        return whole
    if step.tail == "perfect":
        raise _not_whole(step, nest, for_op, factor)
    if step.tail == "peel":
        check_peelable(step, nest, for_op, factor)
        for other in chain[number + 1 :]:
            if for_op.induction_variable in (*other.lower_operands, *other.upper_operands):
                raise refuse(
                    step,
                    f"the bounds of '{other.loop_name.data}' depend on '{for_op.loop_name.data}', whose "
                    "rest would be peeled",
                    remedy="use tail='guard'",
                )
    return replace(whole, tail=step.tail)


def _varying_axis(
    step: Tile, nest: Nest, chain: Sequence[loop.ForOp], number: int, starts_vary: bool
) -> Axis:
    """A loop whose bounds depend on others of the nest: tiles are cut where they reach over a bound."""
    for_op, factor = chain[number], step.factors[number]
    name = for_op.loop_name.data
    span = factor * for_op.step.value.data
    divides = not starts_vary and TripCount(nest, for_op).is_multiple_of(factor)
    if step.tail == "perfect" and not divides:
        raise _not_whole(step, nest, for_op, factor)
    if step.tail in ("pad", "peel"):
        raise refuse(
            step,
            f"the bounds of '{name}' depend on other loops of the nest, so tiles are cut where those go on",
            remedy="use tail='guard'",
        )
    if starts_vary and for_op.step.value.data != 1:
        raise refuse(
            step,
            f"loop '{name}' has a step and its start depends on other loops of the nest",
            remedy="normalize it first",
        )
    room = {
        op.induction_variable: (step.factors[n] - 1) * op.step.value.data
        for n, op in enumerate(chain)
    }
    lows = extreme(lower_bound(for_op), room, greatest=False)
    highs = extreme(upper_bound(for_op), room, greatest=True)
    if lows is None or highs is None:
        raise refuse(
            step,
            f"the bounds of '{name}' neither rise nor fall with other loops of the nest",
            remedy="index_set_split the nest first",
        )
    if starts_vary:
        lows = [low // span * span for low in lows[0]], lows[1]
    return Axis(for_op, span, "guard", (lows, highs), starts_vary)


def _not_whole(step: Tile, nest: Nest, for_op: loop.ForOp, factor: int) -> Refusal:
    name = for_op.loop_name.data
    return refuse(
        step,
        f"{TripCount(nest, for_op).text(name)}, expected a multiple of {factor} in whole tiles",
        remedy="choose a factor that divides, or tail='guard', 'peel' or 'pad'",
    )


def _with_kinds(step: Tile, nest: Nest, axes: Sequence[Axis], sinking: Sinking) -> list[Axis]:
    """The axes with what their loops will be, once it is known that tiling is legal."""
    space = TimeSpace(nest)
    first = nest.time_position(axes[0].for_op)
    variables = sinking.variables(space)
    tiles: list[isl.PwAff] = []
    for axis, value in zip(axes, variables, strict=True):
        if not axis.has_own_start:
            start = space.lower_bound(axis.for_op)
            if start is None:
                name = axis.for_op.loop_name.data
                raise refuse(step, f"the start of '{name}' is not affine, so its tiles are unknown")
            value = value.sub(start)
        tiles.append(value.scale_down_val(number_of(axis.span)).floor())
    order = space.map(lambda t: [*t[:first], *tiles, *variables, *t[first + 1 :]])
    outermost = axes[0].for_op
    check_order(
        step,
        nest,
        outermost,
        order,
        remedy="skew the nest first, or tile fewer loops",
    )

    def kind(axis: Axis, position: int) -> LoopKind:
        return kind_after(nest, outermost, order, first + position, axis.for_op.kind.data)

    return [
        replace(axis, outer_kind=kind(axis, n), inner_kind=kind(axis, len(axes) + n))
        for n, axis in enumerate(axes)
    ]


LoopTilePass = step_pass(Tile, numerics="reassociates")

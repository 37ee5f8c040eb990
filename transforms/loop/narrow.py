"""loop-narrow: iterations of which nothing is needed in a step of a loop around the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint
from xdsl.traits import MemoryEffectKind, get_effects

from ...analysis.levels import Level
from ...analysis.operations import operations_in
from ...dialects import loop
from ...dialects.affine_bounds import Range, bounds, linear_form, simplified
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ..step_support.rewrite import lower_bound, set_bounds, upper_bound
from ..stepwell_pass import StepwellPass

Ranges = Mapping[SSAValue, Range]
"""The least and the greatest value of loops' variables."""


@frozen
class _Edge:
    """
    One end of what is needed along an axis of a buffer, and how far stores there are from the loop's variable v: they
    are at `factor * v + rest`, where `rest` is the least there is for a last index, and the greatest for a first one.
    """

    needed: AffineExpr
    is_last: bool
    factor: int
    rest: int

    @property
    def bound(self) -> AffineExpr:
        """The first v for which something is needed; for a last index the v behind the last one."""
        if self.is_last:
            return simplified((self.needed - self.rest) // self.factor + 1, 1)
        return simplified((self.needed - self.rest).ceil_div(self.factor), 1)

    @property
    def room(self) -> AffineExpr:
        """What is not negative where something is needed, where v is not in it."""
        room = self.needed - self.rest
        return simplified(room if self.is_last else room * -1, 1)


@frozen
class _Function:
    """A function that is called at each step of a loop, whose number is `step`."""

    step: SSAValue
    needed: Mapping[SSAValue, Sequence[AffineExpr]]
    """for each result the least and the greatest index along each axis"""

    def narrow(self, block: Block, ranges: Ranges) -> None:
        """Leave out iterations of the block's loops, and of those inside."""
        for op in [*block.ops]:
            if isinstance(op, loop.ForOp):
                self._narrow_loop(op, ranges)
                variable = op.induction_variable
                self.narrow(op.body.block, {**ranges, variable: _range(op)})
            else:
                for inner in (inner for region in op.regions for inner in region.blocks):
                    self.narrow(inner, ranges)

    def _narrow_loop(self, op: loop.ForOp, ranges: Ranges) -> None:
        edges = self._edges(op, ranges)
        if op.mode is None:
            _set_bounds(op, edges, self.step)
        elif edges:
            # As many lanes are one instruction: all of them are left out, or none.
            _guard(op, [edge.room for edge in edges], self.step)

    def _edges(self, op: loop.ForOp, around: Ranges) -> list[_Edge]:
        """The ends that all stores in a loop have to keep; none where it does something else than to store results."""
        stores = self._stores(op)
        if not stores:
            return []
        found: dict[tuple[AffineExpr, bool, int], list[int]] = {}
        for store in stores:
            for edge in self._edges_of(op, store, around):
                found.setdefault((edge.needed, edge.is_last, edge.factor), []).append(edge.rest)
        return [
            _Edge(needed, is_last, factor, min(rests) if is_last else max(rests))
            for (needed, is_last, factor), rests in found.items()
            if len(rests) == len(stores)
        ]

    def _stores(self, op: loop.ForOp) -> list[loop.StoreOp] | None:
        """The stores of results in a loop; None where it has other effects that last."""
        inside = operations_in(op)
        own: set[SSAValue] = {inner.buffer for inner in inside if isinstance(inner, loop.AllocOp)}
        stores: list[loop.StoreOp] = []
        for inner in inside:
            if isinstance(inner, loop.StoreOp):
                if inner.buffer in self.needed:
                    stores.append(inner)
                elif inner.buffer not in own:
                    return None
            elif not inner.regions and _may_write(inner, own):
                return None
        return stores

    def _edges_of(self, op: loop.ForOp, store: loop.StoreOp, around: Ranges) -> Iterator[_Edge]:
        """The ends of what is needed where the loop's own variable says how far from them the store is."""
        operands, needed = [*store.operands_], self.needed[store.buffer]
        inside = {**_ranges_inside(op), op.induction_variable: _range(op)}
        for axis, expr in enumerate(store.map.data.results):
            linear = linear_form(expr, len(operands))
            if linear is None:
                continue
            factors = dict(zip(operands, linear[0], strict=True))
            factor = factors.get(op.induction_variable, 0)
            if op.mode is not None:
                if not factor or any(factors.get(variable, 0) for variable in around):
                    continue
                factor = 0
            elif factor <= 0:
                continue
            ranges = {**around, **inside, **({op.induction_variable: (0, 0)} if factor else {})}
            low, high = bounds(expr, [ranges.get(v, (None, None)) for v in operands])
            first, last = needed[2 * axis : 2 * axis + 2]
            if low is not None and _moves(last):
                yield _Edge(last, True, factor, low)
            if high is not None and _moves(first):
                yield _Edge(first, False, factor, high)


def _moves(expr: AffineExpr) -> bool:
    """Whether an end of what is needed differs from step to step."""
    return bool(expr.used_dims())


def _may_write(op: Operation, own: set[SSAValue]) -> bool:
    effects = get_effects(op)
    return effects is None or any(
        effect.kind is not MemoryEffectKind.READ and effect.value not in own for effect in effects
    )


def _ranges_inside(op: loop.ForOp) -> dict[SSAValue, Range]:
    inside = (inner for inner in operations_in(op) if isinstance(inner, loop.ForOp))
    return {inner.induction_variable: _range(inner) for inner in inside}


def _range(op: loop.ForOp) -> Range:
    """The least and the greatest value of a loop's variable, as far as numbers say."""
    lows = [bounds(expr, ())[0] for expr in op.lower_map.data.results if not _moves(expr)]
    highs = [bounds(expr, ())[1] for expr in op.upper_map.data.results if not _moves(expr)]
    low = max((number for number in lows if number is not None), default=None)
    high = min((number for number in highs if number is not None), default=None)
    return low, None if high is None else high - 1


def _set_bounds(op: loop.ForOp, edges: Sequence[_Edge], step: SSAValue) -> None:
    """`for j in 0..25` → `for j in 0..min(25, (needed - rest) floordiv 8 + 1)`"""
    lower, upper = lower_bound(op), upper_bound(op)
    after = [edge.bound for edge in edges if edge.is_last]
    # A loop of greater steps would leave out others if it began later.
    before = [edge.bound for edge in edges if not edge.is_last and op.step.value.data == 1]
    set_bounds(op, _with(lower, before, step), _with(upper, after, step))


def _with(
    bound: tuple[Sequence[AffineExpr], Sequence[SSAValue]],
    more: Sequence[AffineExpr],
    step: SSAValue,
) -> tuple[list[AffineExpr], list[SSAValue]]:
    """A bound with further expressions over the number of the step."""
    exprs, values = bound
    last = AffineExpr.dimension(len(values))
    own = [expr.replace_dims_and_symbols([last], []) for expr in more]
    return [*exprs, *own], [*values, step]


def _guard(op: loop.ForOp, rooms: Sequence[AffineExpr], step: SSAValue) -> None:
    """`for j ...` → `if (needed - 192 >= 0) { for j ... }`"""
    conditions = [loop.at_least_zero(room) for room in rooms]
    block = Block()
    Builder(InsertPoint.before(op)).insert(loop.IfOp(conditions, [step], Region(block)))
    op.detach()
    block.add_ops([op, loop.YieldOp()])


def _narrow(function: func.FuncOp) -> None:
    if function.arg_attrs is None or len(function.body.blocks) != 1:
        return
    marks = dict(zip(function.body.block.args, function.arg_attrs.data, strict=True))
    steps = [arg for arg, mark in marks.items() if loop.STEP in mark.data]
    needed: dict[SSAValue, Sequence[AffineExpr]] = {
        arg: map_.data.results
        for arg, mark in marks.items()
        if isinstance(map_ := mark.data.get(loop.NEEDED), AffineMapAttr)
        and map_.data.num_dims == 1
        and len(map_.data.results) == 2 * memref_type(arg).get_num_dims()
    }
    if len(steps) == 1 and needed:
        _Function(steps[0], needed).narrow(function.body.block, {})


class LoopNarrowPass(StepwellPass):
    """
    Leave out the iterations of kernels whose results no later step of the loop around them needs.

    Before: `func.func private @next(%r: memref<50x200xf32> {stepwell.needed = affine_map<(d0) -> (0, 49, 0, 198 - d0)>},
    %step: index {stepwell.step}) { loop.for "j" %j = 0 to 200 { ... } }`.
    After: `loop.for "j" %j = 0 to min(200, 199 - %step)`. Loops keep their lanes: only whole vectors are left out.
    """

    name = "loop-narrow"
    level_in = Level.LOOP
    level_out = Level.LOOP

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            if isinstance(function, func.FuncOp):
                _narrow(function)

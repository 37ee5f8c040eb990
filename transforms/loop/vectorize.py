"""vectorize: a loop whose iterations run in vector lanes, `width` at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import islpy as isl
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, NoneAttr, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...analysis.affine_isl import constant, number_of
from ...analysis.dependence import Dependence
from ...analysis.operations import body_of, operations_in
from ...analysis.recurrences import varying_values
from ...analysis.reductions import ReductionUpdate, find_running
from ...dialects import loop
from ...dialects.affine_bounds import linear_form
from ...dialects.affine_substitution import difference, plus
from ...dialects.loop import LoopKind, RunMode, kind_attribute, mode_attribute
from ...dialects.schedule.steps import Split, Vectorize
from ...dialects.shaped import memref_type
from ...frozen import frozen, replaced
from ..step_support.handles import loop_handle
from ..step_support.kinds import parallel_loops, weakest
from ..step_support.made import VectorLoop
from ..step_support.modes import check_marks_around, check_marks_inside, check_unmarked
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import TimeSpace, agreeing, check_order, is_free_within
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse, refuse_dependence
from ..step_support.rewrite import BoundExprs, body_ops, lower_bound, upper_bound
from ..step_support.trip_count import TripCount
from .split import SplitPlan, plan_split

STRIDED = "stepwell.strided"
"""Attribute of a vector loop: the buffers whose elements its lanes find apart in memory."""


@frozen
class VectorizePlan:
    """The loop, how it is split first, and what is said of the loop of lanes."""

    nest: Nest
    for_op: loop.ForOp
    split: SplitPlan | None
    guard: BoundExprs | None
    """The end that every lane is tested against, when blocks run over it."""
    kind: LoopKind
    strided: tuple[str, ...]

    @property
    def only_marks(self) -> bool:
        """Whether the loop stays what it is, but for how it runs."""
        return self.split is None and self.guard is None

    def apply(self) -> VectorLoop:
        """`for i: S(i)` → `for i.outer step width: for vector i.inner: S(i)`"""
        split = self.split and self.split.apply()
        lanes = split.inner.op if split else self.for_op
        lanes.kind = kind_attribute(self.kind)
        lanes.mode = mode_attribute(RunMode.VECTOR)
        if self.strided:
            lanes.attributes[STRIDED] = ArrayAttr([StringAttr(name) for name in self.strided])
        if self.guard is not None:
            _guard(lanes, self.guard)
        return VectorLoop(
            loop_handle(self.nest, lanes), split and split.outer, split and split.tail
        )


def _guard(lanes: loop.ForOp, end: BoundExprs) -> None:
    """`S(i)` → `if (end - i - 1 >= 0): S(i)`, in the vector loop inside when there is one"""
    exprs, values = end
    around = _lanes_inside(lanes) or lanes
    lane = AffineExpr.dimension(len(values))
    body = Region(Block())
    for op in body_ops(around):
        op.detach()
        body.block.add_op(op)
    body.block.add_op(loop.YieldOp())
    test = loop.IfOp(
        [loop.at_least_zero(plus(difference(e, lane), -1)) for e in exprs],
        [*values, lanes.induction_variable],
        body,
    )
    last = body_of(around).last_op
    assert last is not None
    body_of(around).insert_op_before(test, last)


@planner(Vectorize)
def plan_vectorize(step: Vectorize, nests: Nests) -> VectorizePlan:
    """
    Legal when nothing depends on the order of the lanes: each access of the body runs for all lanes
    before the next one. A running reduction, of which each lane uses what it has come to, gives the lanes all its
    prefixes.

    Width 0 makes one vector of the whole loop, whose trip count must be a constant. With tail `guard`
    each lane is tested. Loops inside run with all lanes together. A loop around nothing but a vector
    loop can be marked too when both are parallel: what is read along one and written along the other is
    transposed in registers.
    """
    nest, name = nests.resolve(step.loop)
    for_op = nest.loop(name)
    if step.width < 0:
        raise refuse(
            step, f"width is {step.width}", remedy="give the number of lanes, or 0 for all"
        )
    check_unmarked(step, for_op)
    check_marks_around(step, for_op, (RunMode.VECTOR,))
    inside = _lanes_inside(for_op)
    refused = (RunMode.THREADS,) if inside else (RunMode.THREADS, RunMode.VECTOR)
    check_marks_inside(step, for_op, refused)
    varying = varying_values(for_op)
    _check_body(step, for_op, varying)
    trips = TripCount(nest, for_op).constant()
    if step.width == 0 and trips is None:
        raise refuse(
            step,
            f"the trip count of '{name}' is not a constant",
            remedy="give a width to split it by",
        )
    plan = VectorizePlan(nest, for_op, None, None, LoopKind.SERIAL, _strided(for_op, varying))
    if step.width not in (0, trips):
        plan = _with_split(step, nests, plan)
    order = cache(lambda: _lane_order(plan))
    if plan.split is not None and not _begins_affinely(nest, for_op):
        raise refuse(step, f"where loop '{name}' starts is not affine, so its blocks are unknown")
    running = find_running(for_op, nest.dependences.scop.aliases)
    others: list[Dependence] = []  # than those that stay in one lane
    is_free_order = is_free_within([for_op], others)

    def is_free(dependence: Dependence) -> bool:
        # All prefixes of a running reduction are computed together.
        return is_free_order(dependence) or _is_running(dependence, running)

    check_order(
        step, nest, for_op, lambda _: order(), remedy=lambda: _remedy(nest, for_op), is_free=is_free
    )
    kind = _check_lanes(step, plan, others, order, varying, running)
    if inside is not None and (kind is not LoopKind.PARALLEL or _carries(nest, inside)):
        raise refuse(
            step,
            f"loop '{inside.loop_name.data}' inside of it is marked 'vector' and not both are parallel",
            remedy="mark one of the two",
        )
    return replaced(plan, kind=kind)


def _begins_affinely(nest: Nest, for_op: loop.ForOp) -> bool:
    """Whether the first value of the loop's variable is an affine expression of what is around."""
    assert for_op.parent is not None
    return nest.frames.of(for_op.parent).terms(*lower_bound(for_op)) is not None


def _lanes_inside(for_op: loop.ForOp) -> loop.ForOp | None:
    """The loop that is all of the body, when that is marked `vector`."""
    first = body_of(for_op).first_op
    if not isinstance(first, loop.ForOp) or not isinstance(first.next_op, loop.YieldOp):
        return None
    return first if first.mode == mode_attribute(RunMode.VECTOR) else None


def _carries(nest: Nest, for_op: loop.ForOp) -> bool:
    return any(True for _ in nest.dependences.carried_by(for_op))


def _with_split(step: Vectorize, nests: Nests, plan: VectorizePlan) -> VectorizePlan:
    """The plan with the split it needs."""
    try:
        split = plan_split(Split(step.loop, step.width, tail=step.tail), nests)
    except Refusal as refusal:
        raise refuse(step, f"it has to be split first, and {refusal.reason}") from refusal
    assert isinstance(split, SplitPlan)
    if split.tail != "guard":
        return replaced(plan, split=split)
    # The lanes keep a constant number: not the loop but each lane is tested.
    return replaced(plan, split=replaced(split, tail="whole"), guard=upper_bound(plan.for_op))


# What stands in the body.


def _check_body(step: Vectorize, for_op: loop.ForOp, varying: set[SSAValue]) -> None:
    """Raise the refusal for what cannot run in lanes."""
    for op in operations_in(for_op):
        if type(op) is loop.ForOp:
            if any(v in varying for v in op.operands):
                raise refuse(
                    step,
                    f"the bounds of loop '{op.loop_name.data}' inside of it are not the same for "
                    "all lanes",
                    remedy=f"reorder so that '{for_op.loop_name.data}' is the innermost loop",
                )
        elif type(op) is func.CallOp or (op.regions and type(op) is not loop.IfOp):
            raise refuse(
                step,
                f"'{op.name}' in its body cannot run in lanes",
                remedy="move it to a loop of its own with fission",
            )


def _strided(for_op: loop.ForOp, varying: set[SSAValue]) -> tuple[str, ...]:
    """The names of the buffers in which neighbouring lanes use elements that are not neighbours."""
    names: dict[str, None] = {}
    for op in operations_in(for_op):
        if (type(op) is loop.LoadOp or type(op) is loop.StoreOp) and not _is_dense(
            op, for_op, varying
        ):
            names[loop.buffer_name(op.buffer) or "a buffer"] = None
    return tuple(names)


def _is_dense(op: loop.LoadOp | loop.StoreOp, for_op: loop.ForOp, varying: set[SSAValue]) -> bool:
    """Whether the lanes use one element, or consecutive ones."""
    lane = for_op.induction_variable
    operands = list(op.operands_)
    if not any(v in varying for v in operands):
        return True
    if any(v in varying and v is not lane for v in operands):
        return False
    if not isinstance(memref_type(op.buffer).layout, NoneAttr):
        return False
    position = operands.index(lane)
    strides: list[int] = []
    for expr in op.map.data.results:
        linear = linear_form(expr, len(operands))
        if linear is None:
            return False
        strides.append(linear[0][position] * for_op.step.value.data)
    return not any(strides[:-1]) and strides[-1] in (0, 1)


# Legality.


def _lane_order(plan: VectorizePlan) -> isl.Map:
    """
    By blocks of lanes, inside a block by the place in the body, and there by lane.

    Iterations of a tail loop come after the blocks, one by one.
    """
    nest, for_op = plan.nest, plan.for_op
    space = TimeSpace(nest)
    position = nest.time_position(for_op)
    lower = space.lower_bound(for_op)

    def in_lanes(entries: list[isl.PwAff]) -> list[isl.PwAff]:
        lane = entries[position]
        block, rest = constant(space.space, 0), constant(space.space, 0)
        if plan.split is not None:
            assert lower is not None
            step_size = for_op.step.value.data
            span = number_of(plan.split.factor * step_size)
            block = lane.sub(lower).scale_down_val(span).floor()
            end = space.upper_bound(for_op) if plan.split.tail == "peel" else None
            if end is not None:
                started = end.sub(lower).add(constant(space.space, step_size - 1))
                whole = started.scale_down_val(span).floor()
                in_rest = block.ge_set(whole)
                rest = lane.intersect_domain(in_rest).union_add(
                    rest.intersect_domain(in_rest.complement())
                )
        return [*entries[:position], block, rest, *entries[position + 1 :], lane]

    return space.map(in_lanes)


def _check_lanes(
    step: Vectorize,
    plan: VectorizePlan,
    among: Sequence[Dependence],
    order: Callable[[], isl.Map],
    varying: set[SSAValue],
    running: Mapping[Operation, ReductionUpdate],
) -> LoopKind:
    """
    What is known of the lanes of a vector; all dependences between them are `among` some that there may be.

    Raises the refusal when several of them update one element which is another one for others: a
    reduction into a few elements is neither a sum of the lanes nor one update a lane.
    """
    nest, for_op = plan.nest, plan.for_op
    kind = LoopKind.SERIAL if running else LoopKind.PARALLEL
    for dependence in among:
        if _is_running(dependence, running) or not dependence.is_carried_by(for_op):
            continue
        # Without blocks all iterations are one vector.
        if plan.split and _in_one_vector(nest, dependence, for_op, order()).is_empty():
            continue
        if dependence.reduction is None:
            kind = LoopKind.SERIAL
            continue
        kind = weakest(kind, LoopKind.REDUCTION)
        updates = nest.dependences.updates
        store = updates[dependence.source.op].store
        if store is updates[dependence.sink.op].store and any(
            v in varying for v in store.operands_
        ):
            raise refuse_dependence(
                step,
                nest.dependences,
                dependence,
                _in_one_vector(nest, dependence, for_op, order()),
                what="in lanes that update one element while other lanes update others",
                remedy=f"choose another loop, or rfactor '{for_op.loop_name.data}'",
            )
    return kind


def _is_running(dependence: Dependence, running: Mapping[Operation, ReductionUpdate]) -> bool:
    """Whether it is between the load and the store of one running reduction."""
    update = running.get(dependence.source.op)
    return update is not None and update is running.get(dependence.sink.op)


def _in_one_vector(
    nest: Nest, dependence: Dependence, for_op: loop.ForOp, order: isl.Map
) -> isl.Map:
    """The pairs in different lanes of one vector."""
    source = dependence.source.time.apply_range(order)
    sink = dependence.sink.time.apply_range(order)
    together = agreeing(source, sink, nest.time_position(for_op) + 2)
    pairs = dependence.carried_by(for_op)
    return pairs.intersect(together)


def _remedy(nest: Nest, for_op: loop.ForOp) -> str:
    """A width at which no two lanes depend on each other, or another loop."""
    near = [
        distance
        for d in nest.dependences.carried_by(for_op)
        if d.reduction is None and (distance := _least_distance(d, for_op)) is not None
    ]
    lanes = min(near, default=0) // for_op.step.value.data
    if lanes > 1:
        return f"a width of at most {lanes} is legal"
    others = parallel_loops(nest, for_op)
    return f"choose {others}" if others else "leave this loop serial, or skew the nest"


def _least_distance(dependence: Dependence, for_op: loop.ForOp) -> int | None:
    """The least distance at which the loop carries the dependence."""
    pairs = dependence.carried_by(for_op)
    depth = len(loops_around(for_op))
    points = pairs.wrap().flatten()
    local = isl.LocalSpace.from_space(points.get_space())
    source = isl.Aff.var_on_domain(local, isl.dim_type.set, depth)
    sink = isl.Aff.var_on_domain(local, isl.dim_type.set, pairs.dim(isl.dim_type.in_) + depth)
    least = points.min_val(sink.sub(source))
    return least.to_python() if least.is_int() else None


LoopVectorizePass = step_pass(Vectorize, numerics="reassociates")

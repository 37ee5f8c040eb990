"""rfactor: a reduction's partial results, one for each iteration of a loop, combined afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import islpy as isl
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.dependence import Dependence, DependenceKind
from ...analysis.reductions import ReductionUpdate
from ...analysis.regions import Box, TouchedRegion, region_of
from ...analysis.scop import Access
from ...dialects import loop
from ...dialects.combiner import Combiner
from ...dialects.dtypes import bit_width, is_float
from ...dialects.loop import LoopKind, LoopKindAttr, RunMode
from ...dialects.schedule.steps import Rfactor
from ...dialects.shaped import memref_type, row_major
from ...frozen import frozen
from ..step_support.bounds import NestBounds, nest_bounds
from ..step_support.handles import buffer_handle, loop_handle
from ..step_support.made import PartialResults
from ..step_support.modes import check_marks_around, check_unmarked
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_effects, check_structured, is_reduction
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import Refusal, refuse, refuse_dependence
from ..step_support.rewrite import BoundExprs, added_up, as_bound, set_subscripts, shifted_to
from ..step_support.scratch import check_affine, check_certain
from ..step_support.trip_count import TripCount

STACK_BYTES = 32 * 1024
"""Partial results larger than a first-level cache go to the arena."""


@frozen
class PartialPlace:
    """Partial results initialised in front of a loop and combined after it."""

    outermost: loop.ForOp
    box: Box
    """the elements that the loop reduces into"""
    axes: tuple[int, ...]
    """of the box, those with more than one element"""
    bounds: NestBounds
    """of loops over the elements of these axes, over the variables around and the function's parameters"""


@frozen
class RfactorPlan:
    """The updates, the loop that gets partial results, and where these stand."""

    nest: Nest
    updates: tuple[ReductionUpdate, ...]
    """all that the loop carries of one buffer, by one operator"""
    place: PartialPlace
    factored: loop.ForOp
    identity: FloatAttr | IntegerAttr
    name: str
    names: tuple[str, ...]
    """of the loops that initialise, then of those that combine"""
    outer: tuple[SSAValue, ...]
    """the variables of the loops around the place"""
    parameters: tuple[SSAValue, ...]
    """what the expressions of the box are over, after `outer`"""
    first: BoundExprs
    count: int
    axis: int
    """which axis of the partial results has one element for each iteration"""
    kind: LoopKind

    @property
    def shape(self) -> tuple[int, ...]:
        extents = [self.place.box.extents[axis] for axis in self.place.axes]
        extents.insert(self.axis, self.count)
        return tuple(extents)

    def apply(self) -> PartialResults:
        """
        `for k: C[i] += A[i, k]` → `for l: C.rf[l] = 0`, `for k: C.rf[l] += A[i, k]`,
        `for l: C[i] += C.rf[l]`.
        """
        before = Builder(InsertPoint.before(self.place.outermost))
        element = self.updates[0].load.result.type
        type_ = row_major(element, self.shape)
        size = prod(self.shape) * bit_width(element) // 8
        partial = before.insert(loop.AllocOp(self._scope(size), type_)).buffer
        loop.set_buffer_name(partial, self.name)
        initialise = self._initialise(before, partial)
        combine = self._combine(Builder(InsertPoint.after(self.place.outermost)), partial)
        self._redirect(partial)
        self.factored.kind = LoopKindAttr(self.kind)
        return PartialResults(
            buffer_handle(self.nest, partial),
            tuple(loop_handle(self.nest, op) for op in initialise),
            tuple(loop_handle(self.nest, op) for op in combine),
        )

    def _scope(self, size: int) -> loop.Scope:
        """Where so many bytes go: an arena is for all threads, so inside of their loop they have their own."""
        if size <= STACK_BYTES:
            return loop.Scope.STACK
        modes = [op.mode.data for op in loops_around(self.place.outermost) if op.mode]
        return loop.Scope.THREAD if RunMode.THREADS in modes else loop.Scope.ARENA

    def _initialise(self, builder: Builder, partial: SSAValue) -> list[loop.ForOp]:
        identity = builder.insert(arith.ConstantOp(self.identity)).result
        made: list[loop.ForOp] = []
        for name, extent in zip(self.names, self.shape, strict=False):
            for_op = loop.ForOp(name, 0, extent, kind=LoopKind.PARALLEL)
            builder = _into(builder, for_op)
            made.append(for_op)
        variables = [op.induction_variable for op in made]
        builder.insert(loop.StoreOp(identity, partial, variables))
        return made

    def _combine(self, builder: Builder, partial: SSAValue) -> list[loop.ForOp]:
        names = self.names[len(self.shape) :]
        made: list[loop.ForOp] = []
        variables: list[SSAValue] = []
        if self.place.bounds.guard:
            values = (*self.outer, *self.parameters)
            branch = Block([loop.YieldOp()])
            builder.insert(loop.IfOp(self.place.bounds.guard, values, Region(branch)))
            builder = _at_end(branch)
        for name, level in zip(names, self.place.bounds.levels, strict=False):
            values = (*self.outer, *variables, *self.parameters)
            for_op = loop.ForOp(
                name,
                as_bound((level.lower, values)),
                as_bound((level.upper, values)),
                kind=LoopKind.PARALLEL,
            )
            builder = _into(builder, for_op)
            made.append(for_op)
            variables.append(for_op.induction_variable)
        over = loop.ForOp(names[-1], 0, self.count, kind=LoopKind.REDUCTION)
        builder = _into(builder, over)
        here = [*self.outer, *self.parameters, *variables, over.induction_variable]
        count = len(here) - len(variables) - 1
        elements = list(self.place.box.lower)
        offsets: list[AffineExpr] = []
        for n, axis in enumerate(self.place.axes):
            elements[axis] = AffineExpr.dimension(count + n)
            offsets.append(elements[axis] - self.place.box.lower[axis])
        offsets.insert(self.axis, AffineExpr.dimension(len(here) - 1))
        target = AffineMap(len(here), 0, tuple(elements))
        source = AffineMap(len(here), 0, tuple(added_up(offsets, here)[0]))
        update = self.updates[0]
        old = builder.insert(loop.LoadOp(update.load.buffer, target, here)).result
        new = builder.insert(loop.LoadOp(partial, source, here)).result
        is_old = [value is update.load.result for value in update.combine.operands]
        combine = update.combine.clone()
        combine.operands = [old if given else new for given in is_old]
        builder.insert(combine)
        builder.insert(loop.StoreOp(combine.results[0], update.load.buffer, target, here))
        return [*made, over]

    def _redirect(self, partial: SSAValue) -> None:
        """Let the updates go to the partial result of their iteration."""
        variable = self.factored.induction_variable
        step = self.factored.step.value.data
        for op in _ends(self.updates):
            position = 0 if isinstance(op, loop.LoadOp) else 1
            values = list(op.operands_)
            count = len(values)
            lower = shifted_to(self.place.box.lower, count)
            exprs = [op.map.data.results[axis] - lower[axis] for axis in self.place.axes]
            values += [*self.outer, *self.parameters, variable]
            own = AffineExpr.dimension(len(values) - 1)
            (first,) = shifted_to(self.first[0], len(values))
            values += self.first[1]
            (number,), values = added_up([own - first], values)
            exprs.insert(self.axis, number // step if step != 1 else number)
            op.operands[position] = partial
            set_subscripts(op, *added_up(exprs, values))


def _into(builder: Builder, for_op: loop.ForOp) -> Builder:
    """Insert a loop; the builder for its body."""
    builder.insert(for_op)
    return _at_end(for_op.body.block)


def _at_end(block: Block) -> Builder:
    """A builder in front of the block's terminator."""
    last = block.last_op
    assert last is not None
    return Builder(InsertPoint.before(last))


@planner(Rfactor)
def plan_rfactor(step: Rfactor, nests: Nests) -> RfactorPlan:
    """
    Legal when the loop reduces with an operator that may be reassociated, and nothing needs the elements
    between an update and the end of the loop after which the partial results are combined. Updates of one buffer
    by one operator share the partial results: those of a short loop that is written out are several.

    That loop is the outermost one possible of those that carry the reduction. A floating-point sum of
    nothing but negative zeros may come out as a positive one.
    """
    nest, name = nests.resolve(step.loop)
    factored = nest.loop(name)
    check_unmarked(step, factored)
    check_structured(step, factored)
    check_marks_around(step, factored, (RunMode.VECTOR,))
    trip_count = TripCount(nest, factored)
    first, (_, count) = trip_count.first(), trip_count.range()
    if first is None or count is None:
        raise refuse(
            step,
            f"loop '{name}' has no greatest number of iterations, or no single first one",
            remedy="split it, and factor the inner loop",
        )
    updates = _updates(step, nest, factored)
    place = _place(step, nest, updates, factored)
    rank = len(place.axes) + 1
    if not -rank <= step.axis < rank:
        raise refuse(
            step,
            f"the partial results have {rank} axes, and axis is {step.axis}",
            remedy=f"give {-rank} to {rank - 1}",
        )
    buffer_name = loop.buffer_name(updates[0].store.buffer) or "partial"
    chosen = nest.fresh_buffer_name(step.into or f"{buffer_name}.rf")
    return RfactorPlan(
        nest,
        updates,
        place,
        factored,
        _identity(updates[0]),
        chosen,
        _loop_names(nest, factored, chosen, place.axes),
        tuple(op.induction_variable for op in loops_around(place.outermost)),
        tuple(nest.dependences.scop.parameters),
        first,
        max(count, 1),
        step.axis % rank,
        _kind_without(nest, updates, factored),
    )


def _updates(step: Rfactor, nest: Nest, factored: loop.ForOp) -> tuple[ReductionUpdate, ...]:
    """The updates, of one buffer by one operator, that the loop carries, or would if it had more iterations."""
    reducing = nest.dependences.carried_by(factored, unless=lambda d: not _is_of_update(d))
    found = list(dict.fromkeys(d.reduction for d in reducing if d.reduction is not None))
    carried = reducing if found else nest.dependences.carried_by(factored)
    if not carried:
        found = list(_updates_of_one_element(nest, factored))
    if step.of:
        wanted = nest.buffer(step.of)
        found = [update for update in found if update.store.buffer is wanted]
        if not found:
            every = nest.dependences.carried_by(factored)
            carried = [dependence for dependence in every if dependence.source.buffer is wanted]
    operators = {(u.store.buffer, u.operator): None for u in found}
    if len(operators) == 1:
        return tuple(found)
    name = factored.loop_name.data
    if found:
        buffers = [f"'%{loop.buffer_name(b)}'" for b in dict.fromkeys(b for b, _ in operators)]
        if len(buffers) == 1:
            named = " and ".join(operator for _, operator in operators)
            raise refuse(step, f"loop '{name}' reduces into {buffers[0]} by {named}, in turns")
        raise refuse(
            step,
            f"loop '{name}' reduces in {len(buffers)} places, into {', '.join(buffers)}",
            remedy="name one of them with 'of'",
        )
    remedy = "floating-point additions and products need fastmath<reassoc>"
    if carried:
        flows = [d for d in carried if d.kind is DependenceKind.FLOW]
        chosen = (flows or carried)[0]
        pairs = chosen.carried_by(factored)
        raise refuse_dependence(
            step, nest.dependences, chosen, pairs, what="computed apart", remedy=remedy
        )
    into = f" into '%{step.of}'" if step.of else ""
    raise refuse(step, f"loop '{name}' carries no reduction{into}", remedy=remedy)


def _is_of_update(dependence: Dependence) -> bool:
    """Whether it is one that the updates of a reduction have among themselves."""
    update = dependence.reduction
    return update is not None and dependence.sink.op in _ends([update])


def _updates_of_one_element(nest: Nest, factored: loop.ForOp) -> Iterator[ReductionUpdate]:
    """The updates inside of a loop that go to the same element in all of its iterations."""
    for op, update in nest.dependences.updates.items():
        if op is not update.store or not factored.is_ancestor(op):
            continue
        accesses = nest.dependences.scop.of(op)
        position = accesses[0].loops.index(factored)
        if accesses[0].exact and not accesses[0].subscripts.involves_dims(
            isl.dim_type.in_, position, 1
        ):
            yield update


def _ends(updates: Sequence[ReductionUpdate]) -> list[loop.LoadOp | loop.StoreOp]:
    return [op for update in updates for op in (update.load, update.store)]


def _accesses(nest: Nest, updates: Sequence[ReductionUpdate]) -> list[Access]:
    return [access for op in _ends(updates) for access in nest.dependences.scop.of(op)]


def _place(
    step: Rfactor, nest: Nest, updates: Sequence[ReductionUpdate], factored: loop.ForOp
) -> PartialPlace:
    """Where the partial results stand: around the outermost loop around which they can."""
    ends = _accesses(nest, updates)
    own = [*nest.dependences.possible(ends, ends)]
    carrying = [op for op in loops_around(factored) if any(d.is_carried_by(op) for d in own)]
    for outermost in carrying:
        try:
            return _place_at(step, nest, updates, outermost)
        except Refusal:  # further in there may be a place
            continue
    return _place_at(step, nest, updates, factored)


def _place_at(
    step: Rfactor, nest: Nest, updates: Sequence[ReductionUpdate], outermost: loop.ForOp
) -> PartialPlace:
    """The place around a loop. Raises the refusal when it is none."""
    check_effects(step, outermost)
    writes = [access for access in _accesses(nest, updates) if access.is_write]
    for access in writes:
        check_affine(step, access)
        check_certain(step, access)
    access = writes[0]
    _check_late(step, nest, updates, outermost)
    region = region_of(writes, len(loops_around(outermost)))
    assert region is not None
    rank = memref_type(access.buffer).get_num_dims()
    if region.is_empty():  # it never runs, and neither do loops along all axes
        box = Box((AffineExpr.constant(0),) * rank, (1,) * rank)
        return PartialPlace(
            outermost, box, tuple(range(rank)), _scan(step, nest, outermost, region, range(rank))
        )
    box = region.bounding_box()
    if box is None:
        raise refuse(
            step,
            f"the elements of '%{loop.buffer_name(access.buffer)}' that '{outermost.loop_name.data}' reduces into "
            "have no constant number",
            remedy="reorder the loops so that the reduction is further in",
        )
    axes = tuple(axis for axis, extent in enumerate(box.extents) if extent != 1)
    bounds = _scan(step, nest, outermost, region, axes)
    return PartialPlace(outermost, box, axes, bounds)


def _check_late(
    step: Rfactor, nest: Nest, updates: Sequence[ReductionUpdate], outermost: loop.ForOp
) -> None:
    """Raise the refusal when something in the loop needs an element after an update of it."""
    depth = len(loops_around(outermost))
    inside = nest.dependences.scop.inside(outermost)
    for dependence in nest.dependences.between(
        _accesses(nest, updates), inside, unless=is_reduction
    ):
        pairs = dependence.relation
        for n in range(depth):
            pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
        if not pairs.is_empty():
            raise refuse_dependence(
                step,
                nest.dependences,
                dependence,
                pairs,
                what=f"swapped, since updates are combined after loop '{outermost.loop_name.data}'",
                remedy="decompose_reduction or fission moves it out",
            )


def _identity(update: ReductionUpdate) -> FloatAttr | IntegerAttr:
    type_: Attribute = update.load.result.type
    if update.operator == "xor":
        assert not is_float(type_)
        return IntegerAttr(0, type_)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return Combiner(update.operator).identity(type_)


def _scan(
    step: Rfactor, nest: Nest, outermost: loop.ForOp, region: TouchedRegion, axes: Sequence[int]
) -> NestBounds:
    """Bounds of loops over the elements of the region, for the axes with more than one."""
    if not axes and region.seen is not None:  # of which there is something in each iteration
        return NestBounds((), ())
    block = outermost.parent
    assert block is not None
    around, elements = nest.frames.of(block).domain, region.elements
    depth = around.dim(isl.dim_type.set)
    for axis in reversed(range(elements.dim(isl.dim_type.set) - depth)):
        if axis not in axes:
            elements = elements.project_out(isl.dim_type.set, depth + axis, 1)
    found = nest_bounds(elements, around)
    if found is None:
        raise refuse(
            step,
            f"no nest of loops runs through just the elements that '{outermost.loop_name.data}' reduces "
            "into",
            remedy="reorder the loops so that the reduction is further in",
        )
    return found


def _loop_names(
    nest: Nest, factored: loop.ForOp, name: str, axes: Sequence[int]
) -> tuple[str, ...]:
    """Names of the loops that initialise the partial results, then of those that combine them."""
    wanted = [f"{name}.init{n}" for n in range(len(axes) + 1)]
    wanted += [f"{name}.{n}" for n in range(len(axes))]
    wanted.append(f"{factored.loop_name.data}.combine")
    return tuple(nest.chosen_names((), wanted))


def _kind_without(nest: Nest, updates: Sequence[ReductionUpdate], factored: loop.ForOp) -> LoopKind:
    """What the loop is once its updates go to an element of each iteration's own."""
    ends = _ends(updates)
    rest = nest.dependences.carried_by(
        factored, unless=lambda d: d.source.op in ends or d.sink.op in ends
    )
    if not rest:
        return LoopKind.PARALLEL
    shares = any(d.reduction is None for d in rest)
    return LoopKind.SERIAL if shares else LoopKind.REDUCTION


LoopRfactorPass = step_pass(Rfactor, numerics="reassociates")

"""prefetch: hints that ask for the elements a later iteration of a loop will use."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.regions import Box, bounding_box, touched
from ...dialects import loop
from ...dialects.dtypes import bit_width
from ...dialects.loop import LoopKind, RunMode
from ...dialects.schedule.steps import Prefetch
from ...dialects.shaped import memref_type
from ...frozen import frozen
from ...targets.core import LINE_BYTES
from ..step_support.handles import loop_handle
from ..step_support.made import SomeLoops
from ..step_support.modes import check_marks_around
from ..step_support.nest import Nest, Nests, loops_around
from ..step_support.order import check_structured
from ..step_support.planning import planner, step_pass
from ..step_support.refusal import refuse
from ..step_support.rewrite import added_up, lower_bound
from ..step_support.scratch import check_affine
from ..step_support.trip_count import TripCount


@frozen
class Parts:
    """How what is asked for is shared out among the iterations of loops in the body."""

    innermost: loop.ForOp
    """the loop that the hints stand in"""
    values: tuple[SSAValue, ...]
    first: AffineExpr
    """where an iteration's part begins, over the values of the box and then `values`"""
    size: int
    """elements"""


@frozen
class PrefetchPlan:
    """The loop, and the part of a buffer that one of its iterations uses."""

    nest: Nest
    at: loop.ForOp
    buffer: SSAValue
    is_written: bool
    box: Box
    values: tuple[SSAValue, ...]
    """what the expressions of the box are over, the loop's own variable at `position`"""
    position: int
    ahead: int
    """what the loop's variable will be larger by"""
    locality: int
    names: tuple[str, ...]
    parts: Parts | None

    def apply(self) -> SomeLoops:
        """`for i: use A[i]` → `for i: prefetch A[i + distance]; use A[i]`."""
        at = self.parts.innermost if self.parts else self.at
        first = at.body.block.first_op
        assert first is not None
        builder = Builder(InsertPoint.before(first))
        dims = [AffineExpr.dimension(n) for n in range(len(self.values))]
        dims[self.position] = dims[self.position] + self.ahead
        exprs = [low.replace_dims_and_symbols(dims, ()) for low in self.box.lower]
        values = list(self.values)
        extents = self.box.extents
        if self.parts:
            exprs[-1] = exprs[-1] + self.parts.first
            values += self.parts.values
            extents = (*(1 for _ in extents[1:]), self.parts.size)
        names = iter(self.names)
        made: list[loop.ForOp] = []
        for axis, extent in enumerate(extents):
            is_last = axis == len(extents) - 1
            step = elements_of_a_line(self.buffer) if is_last else 1
            if extent <= step:
                continue
            for_op = loop.ForOp(next(names), 0, extent, step=step, kind=LoopKind.PARALLEL)
            made.append(builder.insert(for_op))
            last = for_op.body.block.last_op
            assert last is not None
            builder = Builder(InsertPoint.before(last))
            exprs[axis] = exprs[axis] + AffineExpr.dimension(len(values))
            values.append(for_op.induction_variable)
        subscripts, values = added_up(exprs, values)
        map_ = AffineMap(len(values), 0, tuple(subscripts))
        builder.insert(
            loop.PrefetchOp(
                self.buffer, map_, values, is_write=self.is_written, locality=self.locality
            )
        )
        return SomeLoops(tuple(loop_handle(self.nest, op) for op in made))


def elements_of_a_line(buffer: SSAValue) -> int:
    """How many elements along the last axis one hint brings in: those of a cache line."""
    type_ = memref_type(buffer)
    strides, element = type_.get_strides(), type_.get_element_type()
    if not strides or strides[-1] != 1:
        return 1
    return max(1, LINE_BYTES // (max(8, bit_width(element)) // 8))


@planner(Prefetch)
def plan_prefetch(step: Prefetch, nests: Nests) -> PrefetchPlan:
    """
    Always legal: a hint changes nothing. The part of the buffer an iteration uses must be known.

    The hints stand at the start of the loop's body, one for each cache line of that part. With `inside`, they stand at the
    start of that loop's body, and each iteration asks for as many elements as come to it: a cache line is asked for more than
    once where these are fewer than it has. The elements must be neighbours in memory then, and what the loops from the one
    named down to `inside` count to must be known.
    """
    nest, name = nests.resolve(step.buffer)
    buffer, at = nest.buffer(name), nest.loop(step.at)
    if step.distance < 1:
        raise refuse(step, f"distance is {step.distance}, expected at least 1")
    if not 0 <= step.locality <= 3:
        raise refuse(step, f"locality is {step.locality}, expected 0 (used once) to 3 (used often)")
    check_structured(step, at)
    check_marks_around(step, at, (RunMode.VECTOR,))
    if at.mode is not None and at.mode.data is RunMode.VECTOR:
        raise refuse(
            step, f"loop '{step.at}' runs in vector lanes", remedy="prefetch at a loop around it"
        )
    scop = nest.dependences.scop
    root = scop.aliases.root(buffer)
    inside = [a for a in scop.inside(at) if a.buffer is root]
    if not inside:
        raise refuse(step, f"loop '{step.at}' does not use '%{name}'")
    if isinstance(root.owner, loop.AllocOp) and at.is_ancestor(root.owner):
        raise refuse(
            step,
            f"'%{name}' is made anew in each iteration of '{step.at}'",
            remedy="there is nothing to fetch",
        )
    for access in inside:
        check_affine(step, access)
    depth = len(loops_around(at)) + 1
    region = touched(inside, depth)
    assert region is not None
    rank = memref_type(root).get_num_dims()
    if region.is_empty():  # it never runs, so any element will do
        box = Box((AffineExpr.constant(0),) * rank, (1,) * rank)
    else:
        box = bounding_box(region, depth, rank)
    if box is None:
        raise refuse(
            step,
            f"the part of '%{name}' that one iteration of '{step.at}' uses has no constant size",
            remedy="prefetch at a loop further in",
        )
    outer = (*(op.induction_variable for op in (*loops_around(at), at)), *scop.parameters)
    parts = _shared_out(step, nest, at, root, box, len(outer)) if step.inside else None
    return PrefetchPlan(
        nest,
        at,
        root,
        all(a.is_write for a in inside),
        box,
        outer,
        depth - 1,
        step.distance * at.step.value.data,
        step.locality,
        _names(nest, name, len(box.extents)),
        parts,
    )


def _shared_out(
    step: Prefetch, nest: Nest, at: loop.ForOp, buffer: SSAValue, box: Box, values: int
) -> Parts:
    """The parts of a box for the iterations of the loops down to the one that is named, after so many other values."""
    innermost = nest.loop(step.inside)
    if innermost is at or not at.is_ancestor(innermost):
        raise refuse(step, f"loop '{step.inside}' is not inside of '{step.at}'")
    check_marks_around(step, innermost, (RunMode.VECTOR,))
    around = loops_around(innermost)
    loops = (*around[around.index(at) + 1 :], innermost)
    shape, strides = memref_type(buffer).get_shape(), memref_type(buffer).get_strides()
    first = next((n for n, extent in enumerate(box.extents) if extent > 1), len(shape) - 1)
    if strides is None or not _are_neighbours(shape[first + 1 :], strides, box.extents[first:]):
        raise refuse(
            step,
            f"the part of '%{step.buffer.rpartition('/')[2]}' that one iteration of '{step.at}' uses is not in one piece",
            remedy="pack it, or leave out 'inside'",
        )
    number, count = AffineExpr.constant(0), 1
    over: list[SSAValue] = []
    for for_op in loops:
        (start, *others), bases = lower_bound(for_op)
        trips = TripCount(nest, for_op).range()[1]
        if trips is None or others:
            name = for_op.loop_name.data
            raise refuse(
                step,
                f"loop '{name}' has no single beginning or no greatest number of iterations, by which parts are counted",
                remedy="leave out 'inside'",
            )
        dims = [AffineExpr.dimension(values + len(over) + n) for n in range(1 + len(bases))]
        over += [for_op.induction_variable, *bases]
        iteration = dims[0] - start.replace_dims_and_symbols(dims[1:], ())
        if (by := for_op.step.value.data) > 1:
            iteration = iteration // by
        number, count = number * max(1, trips) + iteration, count * max(1, trips)
    size = -(-prod(box.extents) // count)
    return Parts(innermost, tuple(over), number * size, size)


def _are_neighbours(
    inner: Sequence[int], strides: Sequence[int | None], extents: Sequence[int]
) -> bool:
    """Whether a box is one piece of memory: whole along all axes but the first that has several elements."""
    dense = all(
        stride == prod(inner[len(inner) - n :])
        for n, stride in enumerate(reversed(strides[-1 - len(inner) :]))
    )
    return dense and tuple(inner) == tuple(extents[1:])


def _names(nest: Nest, buffer: str, count: int) -> tuple[str, ...]:
    wanted = [f"{buffer}.prefetch{axis}" for axis in range(count)]
    return tuple(nest.chosen_names((), wanted))


LoopPrefetchPass = step_pass(Prefetch)

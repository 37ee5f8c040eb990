"""prefetch: hints that ask for the elements a later iteration of a loop will use."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from ...analysis.operations import body_of
from ...analysis.regions import Box, region_of
from ...analysis.scop import Access
from ...analysis.signature import is_of_caller
from ...dialects import loop
from ...dialects.affine_atoms import constant_expr, dim_expr
from ...dialects.affine_substitution import (
    difference,
    plus,
    product,
    quotient,
    substituted,
    sum_of,
    used_dims,
)
from ...dialects.dtypes import bit_width
from ...dialects.leaf_operations import inserted
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
    iteration: AffineExpr
    """the number of an iteration, over the values of the box and then `values`"""
    count: int
    """how many iterations there are at most"""
    size: int
    """elements of each part; whole lines where the box has several pieces"""
    pieces: tuple[int, ...]
    """along each axis of the box, how many pieces of neighbours in memory it has there"""
    lines: int
    """cache lines of each piece"""
    line: int
    """elements of a cache line"""

    @property
    def has_whole_pieces(self) -> bool:
        """
        Whether each part is of several whole pieces, which make it no larger than as many lines: the first line of a piece is found by
        multiplications and divisions then, and the others are next to it. (On Intel's Granite Rapids two pixels' lines of two channels took
        0.97 of the time so, with 256 channels of 56 x 56; one row of two lines of a result 1.04.)
        """
        several = -(-prod(self.pieces) // self.count)
        return several > 1 and self.lines > 1 and several * self.lines * self.line <= self.size

    def position(self, within: AffineExpr) -> tuple[AffineExpr, ...]:
        """
        Where an element of an iteration's part is along each axis of the box. Of several pieces the lines are counted, or these: where they
        are no multiple of the iterations, some are asked for twice, rather than others beyond the last one.
        """
        zero, last = constant_expr(0), len(self.pieces) - 1
        if prod(self.pieces) == 1:
            return (*(zero for _ in range(last)), self.iteration * self.size + within)
        number = within // self.line if self.size > self.line else zero
        counts, in_piece = (*self.pieces[:last], self.lines), zero
        if self.has_whole_pieces:
            counts, in_piece = (*self.pieces[:last], 1), number % self.lines
            number = number // self.lines
        every = prod(counts)
        if every % self.count == 0:
            rest = self.iteration * (every // self.count)
        elif self.count % every == 0:
            rest = self.iteration // (self.count // every)
        else:
            rest = self.iteration * every // self.count
        rest = sum_of(rest, number)
        index = [zero for _ in self.pieces]
        for axis in (n for n in reversed(range(last + 1)) if counts[n] > 1):
            if prod(counts[:axis]) == 1:
                index[axis] = rest
                break
            index[axis], rest = rest % counts[axis], rest // counts[axis]
        return (*index[:last], sum_of(index[last], in_piece) * self.line)


@frozen
class Next:
    """How the last iterations of a loop ask for what its first ones use in the next iteration of a loop around."""

    position: int
    """of that loop's variable among the values that the box is over"""
    step: int
    """what its variable will be larger by"""
    passed: AffineExpr
    """how many times the loop has ended when the iteration that is asked for comes, over those values: 0 or 1"""
    back: int
    """what the loop's own variable will be smaller by for each time"""


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
    next: Next | None
    begins_lines: bool = True
    """whether what is asked for begins with a line of the cache, as all of an iteration's parts do"""
    keeps_accesses: ClassVar[bool] = True

    def apply(self) -> SomeLoops:
        """`for i: use A[i]` → `for i: prefetch A[i + distance]; use A[i]`."""
        at = self.parts.innermost if self.parts else self.at
        first = body_of(at).first_op
        assert first is not None
        builder = Builder(InsertPoint.before(first))
        dims = [dim_expr(n) for n in range(len(self.values))]
        dims[self.position] = plus(dims[self.position], self.ahead)
        if (after := self.next) is not None:
            for position, by in ((self.position, -after.back), (after.position, after.step)):
                if by:
                    dims[position] = sum_of(dims[position], product(after.passed, by))
        exprs = [substituted(low, dims) for low in self.box.lower]
        values = [*self.values, *(self.parts.values if self.parts else ())]
        extents = (self.parts.size,) if self.parts else self.box.extents
        names = iter(self.names)
        made: list[loop.ForOp] = []
        along: list[AffineExpr] = []
        neighbours = 0 if self.parts else _axis_of_neighbours(self.buffer)
        for axis, extent in enumerate(extents):
            step = elements_of_a_line(self.buffer) if axis == neighbours else 1
            last_one = extent - 1
            if axis == neighbours and extent >= step and not self.begins_lines:
                # As far apart as a line at most, from the first element to the last: each line of a piece has one of them. A piece
                # shorter than a line is not worth two.
                count = 1 - (1 - extent) // step
                step = -((1 - extent) // (count - 1))
                last_one = (count - 1) * step
            if last_one < step:
                along.append(constant_expr(0))
                continue
            for_op = loop.ForOp(next(names), 0, last_one + 1, step=step, kind=LoopKind.PARALLEL)
            made.append(inserted(builder, for_op))
            last = body_of(for_op).last_op
            assert last is not None
            builder = Builder(InsertPoint.before(last))
            along.append(dim_expr(len(values)))
            values.append(for_op.induction_variable)
        position = self.parts.position(along[0]) if self.parts else along
        exprs = [sum_of(low, each) for low, each in zip(exprs, position, strict=True)]
        subscripts, values = added_up(exprs, values)
        map_ = AffineMap(len(values), 0, tuple(subscripts))
        inserted(
            builder,
            loop.PrefetchOp(
                self.buffer, map_, values, is_write=self.is_written, locality=self.locality
            ),
        )
        return SomeLoops(tuple(loop_handle(self.nest, op) for op in made))


def elements_of_a_line(buffer: SSAValue) -> int:
    """How many elements along the last axis one hint brings in: those of a cache line."""
    type_ = memref_type(buffer)
    strides, element = type_.get_strides(), type_.get_element_type()
    if not strides or strides[-1] != 1:
        return 1
    return max(1, LINE_BYTES // (max(8, bit_width(element)) // 8))


def _axis_of_neighbours(buffer: SSAValue) -> int:
    """The axis whose elements a line has: the last one that has several."""
    shape = memref_type(buffer).get_shape()
    return max((axis for axis, size in enumerate(shape) if size != 1), default=len(shape) - 1)


@planner(Prefetch)
def plan_prefetch(step: Prefetch, nests: Nests) -> PrefetchPlan:
    """
    Always legal: a hint changes nothing. The part of the buffer an iteration uses must be known.

    The hints stand at the start of the loop's body, one for each cache line of that part. With `inside`, they stand at the
    start of that loop's body, and each iteration asks for as many elements as come to it: a cache line is asked for more than
    once where these are fewer than it has. What the loops from the one named down to `inside` count to must be known then.

    With `then`, the number of iterations of `at` must be constant, and `distance` no more than that. Loops between are over blocks of
    these iterations, or do not move what they use. Of blocks each goes on as a whole when half of what it asks for is beyond the end:
    this is worked out once for all of its iterations.
    """
    nest, name = nests.resolve(step.buffer)
    buffer, at = nest.buffer(name), nest.loop(step.at)
    _check_numbers(step)
    _check_loop(step, at)
    scop = nest.scop
    root = scop.aliases.root(buffer)
    inside = [a for a in scop.inside(at) if a.buffer is root]
    _check_uses(step, name, at, root, inside)
    depth = len(loops_around(at)) + 1
    box = _used_part(step, name, inside, root, depth)
    outer = (*(op.induction_variable for op in (*loops_around(at), at)), *scop.parameters)
    parts = _shared_out(step, nest, at, root, box, len(outer)) if step.inside else None
    following = _next(step, nest, at, box) if step.then else None
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
        following,
        parts is not None or _begin_lines(root, elements_of_a_line(root)),
    )


def _check_numbers(step: Prefetch) -> None:
    if step.distance < 0:
        raise refuse(step, f"distance is {step.distance}, expected at least 0")
    if not 0 <= step.locality <= 3:
        raise refuse(step, f"locality is {step.locality}, expected 0 (used once) to 3 (used often)")


def _check_loop(step: Prefetch, at: loop.ForOp) -> None:
    """Raise the refusal where hints cannot stand at the start of the loop's body."""
    check_structured(step, at)
    check_marks_around(step, at, (RunMode.VECTOR,))
    if at.mode is not None and at.mode.data is RunMode.VECTOR:
        raise refuse(
            step, f"loop '{step.at}' runs in vector lanes", remedy="prefetch at a loop around it"
        )


def _check_uses(
    step: Prefetch, name: str, at: loop.ForOp, buffer: SSAValue, inside: Sequence[Access]
) -> None:
    """Raise the refusal where the loop does not use a buffer from outside of it, or at places that are not affine."""
    if not inside:
        raise refuse(step, f"loop '{step.at}' does not use '%{name}'")
    if isinstance(buffer.owner, loop.AllocOp) and at.is_ancestor(buffer.owner):
        raise refuse(
            step,
            f"'%{name}' is made anew in each iteration of '{step.at}'",
            remedy="there is nothing to fetch",
        )
    for access in inside:
        check_affine(step, access)


def _used_part(
    step: Prefetch, name: str, inside: Sequence[Access], buffer: SSAValue, depth: int
) -> Box:
    """The part of the buffer that one iteration of the loop, `depth` loops deep, uses."""
    region = region_of(inside, depth)
    assert region is not None
    rank = memref_type(buffer).get_num_dims()
    if region.is_empty():  # it never runs, so any element will do
        return Box((constant_expr(0),) * rank, (1,) * rank)
    box = region.bounding_box()
    if box is None:
        raise refuse(
            step,
            f"the part of '%{name}' that one iteration of '{step.at}' uses has no constant size",
            remedy="prefetch at a loop further in",
        )
    return box


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
    number, count = constant_expr(0), 1
    over: list[SSAValue] = []
    for for_op in loops:
        beginning, bases, trips = _first_and_most_trips(nest, for_op)
        if beginning is None or trips is None:
            name = for_op.loop_name.data
            raise refuse(
                step,
                f"loop '{name}' has several beginnings of which none is a number, or no greatest number of iterations, by which parts are counted",
                remedy="leave out 'inside'",
            )
        dims = [dim_expr(values + len(over) + n) for n in range(1 + len(bases))]
        over += [for_op.induction_variable, *bases]
        iteration = difference(dims[0], substituted(beginning, dims[1:]))
        if (by := for_op.step.value.data) > 1:
            iteration = iteration // by
        number, count = number * max(1, trips) + iteration, count * max(1, trips)
    pieces, piece = _pieces(buffer, box.extents)
    line = elements_of_a_line(buffer)
    lines = -(-piece // line) if _begin_lines(buffer, line) else 1 - (1 - piece) // line
    size = -(-piece // count) if prod(pieces) == 1 else -(-prod(pieces) * lines // count) * line
    return Parts(innermost, tuple(over), number, count, size, pieces, lines, line)


def _next(step: Prefetch, nest: Nest, at: loop.ForOp, box: Box) -> Next:
    """How hints go on in the next iteration of the loop `then`."""
    then, around = nest.loop(step.then), loops_around(at)
    if then not in around:
        raise refuse(step, f"loop '{step.then}' is not around '{step.at}'")
    variables, by = [op.induction_variable for op in around], at.step.value.data
    begin, in_block = _start_and_trips(step, nest, at, variables)
    first, trips = begin, in_block
    moving = {n for low in box.lower for n in used_dims(low)}
    for n in reversed(range(around.index(then) + 1, len(around))):
        block = around[n]
        if first == dim_expr(n) and block.step.value.data == by * trips:
            first, blocks = _start_and_trips(step, nest, block, variables)
            trips *= blocks
        elif first == dim_expr(n) or n in moving:
            name = block.loop_name.data
            raise refuse(
                step,
                f"loop '{name}', between '{step.then}' and '{step.at}', moves what that one uses, and not by its blocks",
            )
    if step.distance > trips:
        raise refuse(step, f"distance is {step.distance}, expected at most {trips} with 'then'")
    ahead = step.distance * by
    reached = plus(dim_expr(len(around)), ahead)
    if in_block < trips:
        reached = plus(begin, ahead + in_block * by // 2)
    passed = quotient(difference(reached, first), trips * by)
    position, further = around.index(then), then.step.value.data
    back = trips * by - (further if first == dim_expr(position) else 0)
    return Next(position, further, passed, back)


def _start_and_trips(
    step: Prefetch, nest: Nest, for_op: loop.ForOp, variables: Sequence[SSAValue]
) -> tuple[AffineExpr, int]:
    """What a loop begins with, a number or the variable of a loop around, and how many iterations it has."""
    trips, (starts, bases) = TripCount(nest, for_op).constant(), lower_bound(for_op)
    start = starts[0] if len(starts) == 1 else None
    if isinstance(start, AffineDimExpr) and bases[start.position] in variables:
        start = dim_expr(variables.index(bases[start.position]))
    elif not isinstance(start, AffineConstantExpr):
        start = None
    if trips is None or start is None:
        name = for_op.loop_name.data
        raise refuse(
            step,
            f"loop '{name}' has no constant number of iterations from a number or a loop around on",
            remedy="leave out 'then'",
        )
    return start, trips


def _first_and_most_trips(
    nest: Nest, for_op: loop.ForOp
) -> tuple[AffineExpr | None, Sequence[SSAValue], int | None]:
    """
    From where the iterations of a loop are counted, over some values, and how many these are at most. A loop with several
    beginnings has the greatest of them, so that one which is a number is not after the first iteration.
    """
    trips = TripCount(nest, for_op)
    starts, bases = lower_bound(for_op)
    if len(starts) == 1:
        return starts[0], bases, trips.range()[1]
    for start in starts:
        if isinstance(start, AffineConstantExpr):
            return start, (), trips.most_from(start)
    return None, (), None


def _begin_lines(buffer: SSAValue, line: int) -> bool:
    """
    Whether pieces of neighbours, which are apart along other axes, begin lines: buffers of the program do, and arrays of a caller begin
    with any element.
    """
    strides = memref_type(buffer).get_strides()
    return (
        bool(strides)
        and all(by is not None and by % line == 0 for by in strides[:-1])
        and not is_of_caller(buffer)
    )


def _pieces(buffer: SSAValue, extents: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """How many pieces of neighbours in memory a box consists of along each axis, and the elements of each."""
    strides = memref_type(buffer).get_strides()
    inner, piece = len(extents) - 1, extents[-1]
    while inner and strides and strides[-1] == 1 and strides[inner - 1] == piece:
        inner -= 1
        piece *= extents[inner]
    return (*extents[:inner], *(1 for _ in extents[inner:])), piece


def _names(nest: Nest, buffer: str, count: int) -> tuple[str, ...]:
    wanted = [f"{buffer}.prefetch{axis}" for axis in range(count)]
    return tuple(nest.chosen_names((), wanted))


LoopPrefetchPass = step_pass(Prefetch)

"""Boxes that are seen in plain numbers against exact sets: what is touched is the box, and the box is the smallest one."""

from random import Random

import islpy as isl
import pytest
from stepwell.analysis.affine_isl import constant, variable
from stepwell.analysis.boxes import TouchedBox, touched_box
from stepwell.analysis.domains import Around, BranchPart, LoopPart, Place, touched
from stepwell.analysis.isl_affine import linear_lower_bound
from stepwell.analysis.regions import Box, bounding_box
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr

CASES = 150

GE, EQ = AffineConstraintKind.ge, AffineConstraintKind.eq


class _Axis:
    """A subscript made of blocks, tiles and elements of an axis, each in a loop of its own."""

    def __init__(self, rng: Random):
        self.size = rng.choice((1, 5, 12, 13, 24, 30, 37))
        self.steps: list[int] = []
        left = self.size
        for _ in range(rng.randint(0, 2)):
            step = rng.choice((2, 3, 4, 6, 8))
            if step < left:
                self.steps.append(step)
                left = step
        self.steps.append(1)
        self.subscript: AffineExpr = AffineExpr.constant(0)
        self.length = self.size
        """of what is left to be gone through"""

    def next_loop(self, rng: Random, position: int) -> list[LoopPart | BranchPart]:
        """
        Its next loop, which may go over the end or stop there, and may not count from 0 by one. A condition in it may stop it, and
        ask for something else now and then.
        """
        step, zero = self.steps.pop(0), AffineExpr.constant(0)
        end, least = self.subscript * -1 + self.size, AffineExpr.constant(self.length)
        ends = [least.ceil_div(step) if step > 1 else least]
        if rng.random() < 0.9:
            ends.append(end.ceil_div(step) if step > 1 else end)
        self.length = step
        here = AffineExpr.dimension(position)
        if rng.random() < 0.15:  # counts by the step
            self.subscript = self.subscript + here
            return [LoopPart((zero,), (least, end), step)]
        if rng.random() < 0.1:  # begins elsewhere
            first = rng.randint(-1, 2)
            self.subscript = self.subscript + (here - first) * step
            return [LoopPart((zero + first,), tuple(e + first for e in ends), 1)]
        self.subscript = self.subscript + here * step
        if rng.random() < 0.3:
            room = end - here * step - rng.choice((1, 1, 1, 1, 0, 2))
            condition = AffineConstraintExpr(
                rng.choice((GE, GE, GE, EQ)), room, zero, canonicalize=False
            )
            branch = BranchPart((condition,), rng.random() < 0.9)
            return [LoopPart((zero,), tuple(ends[:1]), 1), branch]
        return [LoopPart((zero,), tuple(ends), 1)]


def _case(rng: Random) -> tuple[Around, Place, int, tuple[int, ...]]:
    """Loops over tiles of one axis or two and over something else, some of which are outside."""
    axes = [_Axis(rng) for _ in range(rng.randint(1, 2))]
    around, number = Around(0), rng.choice((0, 1, 1, 3))
    order = [axis for axis in axes for _ in axis.steps] + [None] * number
    rng.shuffle(order)
    for axis in order:
        if axis is None:
            end = AffineExpr.constant(rng.randint(1, 3))
            parts: list[LoopPart | BranchPart] = [LoopPart((AffineExpr.constant(0),), (end,), 1)]
        else:
            parts = axis.next_loop(rng, around.depth)
        for part in parts:
            around = around.within(part)
    subscripts = [axis.subscript for axis in axes]
    sizes = [axis.size for axis in axes]
    if rng.random() < 0.2:  # a mistake
        subscripts[0] = subscripts[0] * 2
        sizes[0] *= 2
    if rng.random() < 0.2:
        subscripts[-1] = subscripts[-1] + 1
        sizes[-1] += rng.randint(0, 2)
    if rng.random() < 0.1:
        sizes[0] += 3
    return around, Place(0, tuple(subscripts)), rng.randint(0, around.depth), tuple(sizes)


def _elements(around: Around, place: Place, depth: int, shape: tuple[int, ...]) -> isl.Set:
    """What is touched, over the outer loops' variables and the indices."""
    pairs = touched(around, place)
    pairs = pairs.project_out(isl.dim_type.in_, depth, around.depth - depth)
    return _within(pairs.wrap().flatten(), depth, shape)


def _within(elements: isl.Set, depth: int, shape: tuple[int, ...]) -> isl.Set:
    for axis, size in enumerate(shape):
        elements = elements.lower_bound_val(isl.dim_type.set, depth + axis, isl.Val(0))
        elements = elements.upper_bound_val(isl.dim_type.set, depth + axis, isl.Val(size - 1))
    return elements


def _set_of(box: TouchedBox, outside: Around, shape: tuple[int, ...]) -> isl.Set:
    depth = outside.depth
    elements = outside.domain.add_dims(isl.dim_type.set, len(shape))
    space = elements.get_space()
    for axis, ((factors, number), extent) in enumerate(zip(box.lower, box.extents, strict=True)):
        index, first = variable(space, depth + axis), constant(space, number)
        for n, factor in enumerate(factors):
            first = first.add(variable(space, n).scale_val(isl.Val(factor)))
        elements = elements.intersect(index.ge_set(first))
        elements = elements.intersect(index.lt_set(first.add(constant(space, extent))))
    return _within(elements, depth, shape)


@pytest.mark.parametrize("seed", range(6))
def test_a_box_that_is_seen_is_what_is_touched(seed: int) -> None:
    rng = Random(seed)
    seen = 0
    for _ in range(CASES):
        around, place, depth, shape = case = _case(rng)
        box = touched_box(around, place, depth, shape)
        if box is None:
            continue
        seen += 1
        outside = around
        while outside.depth > depth:
            assert outside.outer is not None
            outside = outside.outer
        exact = _elements(around, place, depth, shape)
        assert exact.is_equal(_set_of(box, outside, shape)), case
        lower = tuple(linear_lower_bound(*form) for form in box.lower)
        assert bounding_box(exact, depth, len(shape)) == Box(lower, box.extents), case
    assert seen > CASES // 3, seen


def test_tiles_of_a_matrix_are_seen_with_their_ragged_ends() -> None:
    """`for i in 0..17: for j in 0..7: for r in 0..min(6, 100 - 6 i): for c in 0..16: A[6 i + r, 16 j + c]`"""
    i, j, r, c = (AffineExpr.dimension(n) for n in range(4))
    around = Around(0)
    for ends in ((17,), (7,), (6, i * -6 + 100), (16,)):
        upper = tuple(
            end if isinstance(end, AffineExpr) else AffineExpr.constant(end) for end in ends
        )
        around = around.within(LoopPart((AffineExpr.constant(0),), upper, 1))
    place = Place(0, (i * 6 + r, j * 16 + c))
    expected = TouchedBox((((6, 0), 0), ((0, 16), 0)), (6, 16))
    assert touched_box(around, place, 2, (100, 112)) == expected
    assert touched_box(around, place, 2, (102, 112)) is None, "rows 100 and 101 are not touched"


def test_ends_in_conditions_and_of_fewer_tiles_are_seen() -> None:
    """
    `for b in 0..43: for t in 0..min(2, (679 - 16 b) ceildiv 8): for c in 0..32: if 2715 - 64 b - 32 t - c >= 0: A[64 b + 32 t + c]`:
    2716 columns, of which the last block has 28.
    """
    b, t, c = (AffineExpr.dimension(n) for n in range(3))
    zero, tiles = AffineExpr.constant(0), (b * -16 + 679).ceil_div(8)
    around = Around(0)
    for ends in ((AffineExpr.constant(43),), (AffineExpr.constant(2), tiles), (zero + 32,)):
        around = around.within(LoopPart((zero,), ends, 1))
    column, shape = Place(0, (b * 64 + t * 32 + c,)), (2716,)
    room = b * -64 + t * -32 + c * -1 + 2715

    def seen(room: AffineExpr, depth: int) -> TouchedBox | None:
        condition = AffineConstraintExpr(GE, room, zero, canonicalize=False)
        return touched_box(around.within(BranchPart((condition,), True)), column, depth, shape)

    assert seen(room, 2) == TouchedBox((((64, 32), 0),), (32,))
    assert seen(room, 1) == TouchedBox((((64,), 0),), (64,))
    assert seen(room, 0) == TouchedBox((((), 0),), (2716,))
    assert seen(room - 1, 2) is None, "the last column is not touched"
    assert touched_box(around.within(BranchPart(None, True)), column, 2, shape) is None


def test_boxes_hold_others_that_begin_with_the_same_variables() -> None:
    tile = TouchedBox((((6,), 0),), (6,))
    assert tile.holds(tile)
    assert tile.holds(TouchedBox((((6,), 2),), (4,)))
    assert not tile.holds(TouchedBox((((6,), 2),), (5,)))
    assert not tile.holds(TouchedBox((((5,), 0),), (1,)))

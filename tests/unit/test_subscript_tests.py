"""Banerjee's inequalities against exact sets: what they rule out is never there."""

from random import Random

import islpy as isl
from stepwell.analysis.domains import Around, LoopPart, Place, touched
from stepwell.analysis.iteration_pairs import meet_at_first
from stepwell.analysis.subscript_tests import SubscriptTest, equal_loops, loops_of
from xdsl.ir.affine import AffineConstantExpr, AffineExpr

PARAMETERS, COMMON, CASES = 1, 2, 150


def _expr(rng: Random, dims: int) -> AffineExpr:
    """A sum of a few variables, a parameter now and then, and a number."""
    result = AffineExpr.constant(rng.randint(-4, 4))
    for n in range(dims):
        factor = rng.choice((0, 0, 1, 1, 2, 4, -1)) if n >= PARAMETERS else rng.choice((0, 0, 0, 1))
        if factor:
            result = AffineExpr.dimension(n) * factor + result
    return result


def _loop(rng: Random, around: Around) -> Around:
    """A loop from a number or the variable before it, over a few iterations."""
    dims = PARAMETERS + around.depth
    low = AffineExpr.constant(rng.randint(-2, 2))
    if around.depth and rng.random() < 0.4:
        low = AffineExpr.dimension(dims - 1)
    upper = [low + rng.randint(1, 6)]
    if rng.random() < 0.3:
        upper.append(_expr(rng, dims))
    return around.within(LoopPart((low,), tuple(upper), rng.choice((1, 1, 2, 3))))


def _access(rng: Random, around: Around) -> Place:
    dims = PARAMETERS + around.depth
    return Place(0, (_expr(rng, dims), _expr(rng, dims)))


def _pairs(source: Around, at: Place, sink: Around, to: Place, common: int) -> isl.Map:
    """Those that meet, in the same iteration of so many loops."""
    pairs = touched(source, at).apply_range(touched(sink, to).reverse())
    for n in range(common):
        pairs = pairs.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
    return pairs


def test_what_is_ruled_out_is_not_there() -> None:
    rng = Random(4)
    ruled_out = empty = 0
    for _ in range(CASES):
        shared = Around(PARAMETERS)
        for _ in range(COMMON):
            shared = _loop(rng, shared)
        source, sink = _loop(rng, shared), _loop(rng, shared)
        at, to = _access(rng, source), _access(rng, sink)
        if rng.random() < 0.3:
            sink, to = source, at
        test = SubscriptTest(source, at, sink, to)
        for n in range(COMMON):
            pairs = _pairs(source, at, sink, to, n)
            later = pairs.order_lt(isl.dim_type.in_, n, isl.dim_type.out, n)
            empty += later.is_empty()
            ruled_out += test.never_carried(n)
            assert later.is_empty() or not test.never_carried(n), (source, at, sink, to, n)
        together = _pairs(source, at, sink, to, COMMON)
        empty += together.is_empty()
        ruled_out += test.never_together(COMMON)
        assert together.is_empty() or not test.never_together(COMMON), (source, at, sink, to)
    assert ruled_out > empty // 4, (ruled_out, empty)


def _starts_at_a_number(around: Around, n: int) -> bool:
    return isinstance(loops_of(around)[n].lower[0], AffineConstantExpr)


def test_loops_that_are_equal_are_so_in_all_pairs_that_meet() -> None:
    rng = Random(5)
    found = 0
    for _ in range(CASES):
        shared = Around(PARAMETERS)
        for _ in range(COMMON):
            shared = _loop(rng, shared)
        source, sink = _loop(rng, shared), _loop(rng, shared)
        at, to = _access(rng, source), _access(rng, sink)
        if rng.random() < 0.5:
            sink, to = source, at
        given = rng.randint(0, COMMON)
        depth = COMMON + (source is sink)
        equal = equal_loops(source, at, sink, to, depth, given)
        pairs = _pairs(source, at, sink, to, given)
        found += len(equal) - given
        for n in equal:
            # What is equal is the number of the iteration: the variable is where the loop starts at the same.
            if all(m in equal for m in range(n)) or _starts_at_a_number(source, n):
                same = isl.Map.universe(pairs.get_space())
                same = same.equate(isl.dim_type.in_, n, isl.dim_type.out, n)
                assert pairs.is_subset(same), (source, at, sink, to, given, n)
    assert found > CASES // 8, found


def test_tiles_of_tiles_are_equal_in_any_order() -> None:
    """`for i in 0..1024 step 128: for j in i..min(i + 128, 1000) step 8: for k in j..j + 8: C[k]`"""
    i, j = AffineExpr.dimension(0), AffineExpr.dimension(1)
    zero, end = AffineExpr.constant(0), AffineExpr.constant(1000)
    around = Around(0).within(LoopPart((zero,), (end,), 128))
    around = around.within(LoopPart((i,), (i + 128, end), 8))
    around = around.within(LoopPart((j,), (j + 8, end), 1))
    place = Place(0, (AffineExpr.dimension(2),))
    assert equal_loops(around, place, around, place, 3, 0) == {0, 1, 2}
    # One more is an element of the next tile.
    longer = around.outer.within(LoopPart((j,), (j + 9, end), 1))
    assert equal_loops(longer, place, longer, place, 3, 0) == set()


def test_a_tiled_update_is_carried_by_the_loop_it_sums_over_only() -> None:
    """`for it, k, i: C[4 it + i]`, where neither tile nor row can meet itself again."""
    zero = AffineExpr.constant(0)
    around = Around(0)
    for extent in (8, 5, 4):
        around = around.within(LoopPart((zero,), (AffineExpr.constant(extent),), 1))
    it, i = AffineExpr.dimension(0), AffineExpr.dimension(2)
    place = Place(0, (it * 4 + i,))
    test = SubscriptTest(around, place, around, place)
    assert [test.never_carried(n) for n in range(3)] == [True, False, True]
    assert not test.never_together(3)


def test_memory_of_its_own_in_each_iteration_carries_nothing() -> None:
    zero = AffineExpr.constant(0)
    around = Around(0).within(LoopPart((zero,), (AffineExpr.constant(9),), 1))
    place = Place(1, (zero,))
    assert SubscriptTest(around, place, around, place).never_carried(0)


def test_first_iterations_that_touch_one_element_are_a_pair_that_meets() -> None:
    rng = Random(6)
    found = missed = 0
    for _ in range(CASES):
        shared = Around(0)
        ends = [
            rng.choice((0, 1, 2, 4)) if rng.random() < 0.1 else rng.randint(1, 4) for _ in "abc"
        ]
        source = sink = shared.within(_counting(ends[0]))
        source, sink = source.within(_counting(ends[1])), sink.within(_counting(ends[2]))
        at, to = (
            Place(
                0, tuple(AffineExpr.dimension(rng.randint(0, 1)) + rng.randint(0, 1) for _ in "xy")
            )
            for _ in "st"
        )
        meets = meet_at_first(source, at, sink, to)
        together = _pairs(source, at, sink, to, 1)
        found += meets
        missed += not meets and not together.is_empty()
        assert not (meets and together.is_empty()), (source, at, sink, to)
    assert found > CASES // 10 and missed > 0, (found, missed)


def _counting(end: int) -> LoopPart:
    return LoopPart((AffineExpr.constant(0),), (AffineExpr.constant(end),), 1)

"""Answers about the iterations of a nest against exact sets: they are the same, in plain integers or not."""

from random import Random

import islpy as isl
import pytest
from stepwell.analysis import extremes
from stepwell.analysis.affine_isl import value_range
from stepwell.analysis.domains import Around, BranchPart, LoopPart, iteration_count
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr

CASES = 120


def _expr(rng: Random, dims: int) -> AffineExpr:
    result = AffineExpr.constant(rng.randint(-8, 8))
    for n in range(dims):
        factor = rng.choice((0, 0, 1, 1, 4, -1, -2))
        if factor:
            result = AffineExpr.dimension(n) * factor + result
    return result // rng.choice((2, 3)) if dims and rng.random() < 0.15 else result


def _nest(rng: Random) -> Around:
    """Some loops from numbers or variables, with one end or two, now and then with a condition between."""
    parameters = int(rng.random() < 0.15)
    around = Around(parameters)
    for _ in range(rng.randint(1, 3)):
        dims = parameters + around.depth
        low = AffineExpr.dimension(dims - 1) if dims and rng.random() < 0.5 else _expr(rng, 0)
        lower = (low,) if rng.random() < 0.8 else (low, _expr(rng, dims))
        ends = [low + rng.randint(0, 9)]
        if rng.random() < 0.4:
            ends.append(_expr(rng, dims) + 8)
        around = around.within(LoopPart(lower, tuple(ends), rng.choice((1, 1, 2, 3))))
        if rng.random() < 0.2:
            lhs, zero = _expr(rng, dims + 1), AffineExpr.constant(0)
            kind = rng.choice(list(AffineConstraintKind))
            condition = AffineConstraintExpr(kind, lhs, zero, canonicalize=False)
            around = around.within(BranchPart((condition,), rng.random() < 0.7))
    return around


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_of_exact_sets(seed: int) -> None:
    rng = Random(seed)
    for _ in range(CASES):
        around = _nest(rng)
        dims = around.parameters + around.depth
        first, second = _expr(rng, dims), _expr(rng, dims)
        domain, (value, other) = around.domain, around.values([first, second])
        is_empty = domain.is_empty()
        case = around, first, second
        assert extremes.never_runs(around) == is_empty, case
        negative = domain.intersect(value.nonneg_set().complement())
        assert extremes.is_never_negative(around, first) == negative.is_empty(), case
        values = value_range(value, domain) if not is_empty else (None, None)
        only = values[0] if values[0] == values[1] else None
        assert extremes.only_value(around, first) == only, case
        positive = domain.intersect(value.pos_set()).intersect(other.pos_set())
        assert extremes.are_never_positive(around, (first, second)) == positive.is_empty(), case
        odd = domain.subtract(value.mod_val(isl.Val(2)).zero_set())
        assert extremes.is_always_multiple(around, first, 2) == odd.is_empty(), case
        step = rng.randint(1, 3)
        found = extremes.iteration_counts(around, (first,), (second, first + 5), step)
        if is_empty:
            assert found is None and extremes.value_bounds(around, first) is None, case
        else:
            assert extremes.value_bounds(around, first) == value_range(value, domain), case
            count = iteration_count(around, (first,), (second, first + 5), step)
            assert found == value_range(count, domain), case


def test_tiles_with_a_rest_take_no_exact_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """`for i in 0..1000 step 48: for j in i..min(i + 48, 1000)`"""
    zero, end, i = AffineExpr.constant(0), AffineExpr.constant(1000), AffineExpr.dimension(0)
    tiles = Around(0).within(LoopPart((zero,), (end,), 48))
    inside = tiles.within(LoopPart((i,), (i + 48, end), 1))

    def fail(self: Around) -> isl.Set:
        raise AssertionError("asked for an exact set")

    monkeypatch.setattr(Around, "domain", property(fail))
    assert not extremes.never_runs(inside)
    assert extremes.iteration_counts(tiles, (i,), (i + 48, end), 1) == (40, 48)
    assert extremes.value_bounds(inside, i * 2 - 5) == (-5, 1915)
    assert not extremes.is_never_negative(tiles, end - i - 48)
    assert extremes.are_never_positive(tiles, (i - 960,))
    assert extremes.is_always_multiple(tiles, i * 2 + 96, 96)
    assert extremes.are_lengths_multiples(tiles, (i,), (i + 48, end), 8)
    assert not extremes.are_lengths_multiples(tiles, (i,), (i + 48, end), 16), "the last one has 40"


def test_what_bounds_of_loops_say_takes_no_exact_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """`for b in 0..6: for t in 0..min(3, (100 - 18 b) ceildiv 6): for r in 0..min(6, 100 - 18 b - 6 t)`"""
    b, t = AffineExpr.dimension(0), AffineExpr.dimension(1)
    zero, three, six = (AffineExpr.constant(n) for n in (0, 3, 6))
    rest = b * -18 + 100
    blocks = Around(0).within(LoopPart((zero,), (six,), 1))
    tiles = blocks.within(LoopPart((zero,), (three, rest.ceil_div(6)), 1))

    def fail(self: Around) -> isl.Set:
        raise AssertionError("asked for an exact set")

    monkeypatch.setattr(Around, "domain", property(fail))
    assert extremes.is_never_negative(tiles, rest - t * 6 - 1)
    assert not extremes.is_never_negative(tiles, rest - t * 6 - 6)
    v, lanes = AffineExpr.dimension(2), tiles.within(LoopPart((zero,), (six,), 1))
    assert extremes.is_never_negative(lanes, rest - t * 6 - v + 4)
    assert not extremes.is_never_negative(lanes, rest - t * 6 - v)
    assert extremes.only_value(blocks, (b * -6 + b * 6 + 12).ceil_div(5)) == 3
    assert extremes.only_value(blocks, rest.ceil_div(6)) is None
    assert extremes.counts_at_corners(blocks, (zero,), (three, rest.ceil_div(6)), 1) == {2, 3}
    assert extremes.iteration_counts(blocks, (zero,), (three, rest.ceil_div(6)), 1) == (2, 3)
    assert extremes.iteration_counts(tiles, (zero,), (six, rest - t * 6), 1) == (4, 6)

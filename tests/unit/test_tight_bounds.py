"""Bounds that are left out against exact sets: as many as there can be, and the loop runs through the same."""

from random import Random

import pytest
from stepwell.analysis.domains import Around, LoopPart
from stepwell.transforms.step_support import tight_bounds
from xdsl.ir.affine import AffineExpr

CASES = 150


def _case(rng: Random) -> tuple[Around, tuple[AffineExpr, ...], tuple[AffineExpr, ...]]:
    """Blocks and tiles of an axis, and a loop over the elements of a tile, perhaps in larger steps, with a few ends."""
    zero, size = AffineExpr.constant(0), rng.choice((24, 25, 30, 37))
    tile, step = rng.choice((3, 4, 6)), rng.choice((1, 1, 2, 3, 4, 6, 8))
    block = tile * rng.randint(2, 3)
    blocks, b, t = -(-size // block), AffineExpr.dimension(0), AffineExpr.dimension(1)
    around = Around(0).within(LoopPart((zero,), (AffineExpr.constant(blocks),), 1))
    ends = [AffineExpr.constant(block // tile), (b * -block + size).ceil_div(tile)]
    around = around.within(LoopPart((zero,), tuple(ends[: rng.randint(1, 2)]), 1))
    rest = b * -block + t * -tile + size
    highs = [AffineExpr.constant(tile), t * -tile + block, rest, rest + rng.randint(-1, 3)]
    first = rng.choice((zero, zero, b, AffineExpr.constant(1)))
    highs = [first + high for high in highs]
    lows = [first, AffineExpr.constant(0), t * -1] if rng.random() < 0.4 else [first]
    chosen = tuple(rng.sample(highs, rng.randint(1, 4)))
    return around.within(LoopPart(tuple(lows), chosen, step)), tuple(lows), chosen


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_out_is_what_exact_sets_leave_out(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    needed = tight_bounds._needed_bounds.__wrapped__
    cases = [_case(rng) for _ in range(CASES)]
    quick = [tuple(map(list, needed(*case))) for case in cases]
    monkeypatch.setattr(tight_bounds, "is_never_negative", lambda *_: False)
    monkeypatch.setattr(tight_bounds, "corners", lambda *_: ())
    exact = [tuple(map(list, needed(*case))) for case in cases]
    assert sum(len(a[1]) < len(case[2]) for a, case in zip(exact, cases, strict=True)) > CASES // 4
    for case, found, expected in zip(cases, quick, exact, strict=True):
        assert found == expected, case


def test_an_end_that_a_larger_step_never_reaches_takes_no_exact_sets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`for i in 0..7: for r in 0..min(6, 40 - 6 i) step 6` is `for r in 0..6 step 6`."""
    zero, six, i = AffineExpr.constant(0), AffineExpr.constant(6), AffineExpr.dimension(0)
    around = Around(0).within(LoopPart((zero,), (AffineExpr.constant(7),), 1))
    ends = (six, i * -6 + 40)

    def fail(*_: object) -> None:
        raise AssertionError("asked for an exact set")

    monkeypatch.setattr(tight_bounds, "loop_range", fail)
    inside = around.within(LoopPart((zero,), ends, 6))
    lows, highs = tight_bounds._needed_bounds(inside, (zero,), ends)
    assert [*lows] == [0] and [*highs] == [0]

"""What corners and ranges say of conditions is what integer sets say."""

import random

import islpy as isl
import pytest
from stepwell.analysis.affine_isl import constraint_set
from stepwell.analysis.domains import Around, LoopPart
from stepwell.transforms.step_support.dead_conditions import _needed
from xdsl.ir.affine import AffineConstraintExpr, AffineConstraintKind, AffineExpr


def number(value: int) -> AffineExpr:
    return AffineExpr.constant(value)


def loops(rng: random.Random) -> Around:
    """Two loops, of which the second may end earlier in the last iterations of the first."""
    outer, size = rng.choice((1, 3, 5)), rng.choice((1, 4, 7))
    around = Around(0).within(LoopPart((number(0),), (number(outer),), 1))
    ends = (number(size), AffineExpr.dimension(0) * -size + outer * size - rng.randrange(0, size))
    return around.within(LoopPart((number(0),), ends, rng.choice((1, 2))))


def condition(rng: random.Random) -> AffineConstraintExpr:
    i, j = AffineExpr.dimension(0), AffineExpr.dimension(1)
    lhs = i * rng.randrange(-4, 5) + j * rng.randrange(-2, 3) + rng.randrange(-12, 20)
    kind = rng.choice((AffineConstraintKind.ge, AffineConstraintKind.ge, AffineConstraintKind.eq))
    return AffineConstraintExpr(kind, lhs, number(0), canonicalize=False)


def by_sets(around: Around, constraints: tuple[AffineConstraintExpr, ...]) -> list[int] | None:
    holds = [constraint_set(c, around.variables, around.space) for c in constraints]

    def all_of(numbers: list[int]) -> isl.Set:
        result = around.domain
        for n in numbers:
            result = result.intersect(holds[n])
        return result

    kept = list(range(len(holds)))
    for n in range(len(holds)):
        if all_of([other for other in kept if other != n]).is_subset(holds[n]):
            kept.remove(n)
    return None if kept and all_of(kept).is_empty() else kept


@pytest.mark.parametrize("seed", range(300))
def test_conditions_are_needed_where_sets_say_so(seed: int) -> None:
    rng = random.Random(seed)
    around = loops(rng)
    constraints = tuple(condition(rng) for _ in range(rng.randrange(1, 4)))
    assert _needed(around, constraints) == by_sets(around, constraints)

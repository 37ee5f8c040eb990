"""Bounds of nests from sets: the hull of a union, taken over those dimensions alone that its parts disagree on."""

from __future__ import annotations

from random import Random

import islpy as isl
import pytest
from stepwell.transforms.step_support.bounds import _hull, nest_bounds

NAMES = ("x", "y", "z", "w", "p")


def constraint(random: Random) -> str:
    """Over one dimension or two, or over a dimension and the parameter."""
    one, other = random.sample(NAMES, 2)
    factor = random.choice((0, 0, 1, -1, 2))
    relation = random.choice((">=", ">=", ">=", "<=", "="))
    return f"{random.choice((1, 1, 2))}{one} + {factor}{other} {relation} {random.randint(-6, 6)}"


def union(random: Random) -> isl.Set:
    shared = [constraint(random) for _ in range(random.randint(0, 5))]
    shared += [f"0 <= {name} <= 9" for name in NAMES[:4] if random.random() < 0.7]
    parts = [
        " and ".join(
            [*shared, *(constraint(random) for _ in range(random.randint(0, 2))), "p < 99"]
        )
        for _ in range(random.randint(1, 3))
    ]
    return isl.Set("[p] -> { [x, y, z, w] : (" + ") or (".join(parts) + ") }")


@pytest.mark.parametrize("seed", range(4))
def test_the_hull_is_that_of_the_whole_set(seed: int):
    random = Random(seed)
    wider = 0
    for _ in range(60):
        points = union(random)
        found = _hull(points)
        assert found.is_equal(points.polyhedral_hull()), points
        wider += not found.is_empty() and not found.to_set().is_equal(points)
    assert wider > 2  # hulls that have points which are not in the set


def test_a_set_without_points_has_such_a_hull():
    assert _hull(isl.Set("{ [x, y] : x > 0 and x < 0 }")).is_empty()


def test_bounds_of_two_loops_that_are_tied_beside_five_that_are_not():
    """Of a row of an image and of a window: the hull over all seven takes isl seconds."""
    points = isl.Set(
        "{ [a, h, b, k, c, x, w] : 0 <= a <= 3 and 0 <= h <= 30 and 0 <= b <= 1 and 0 <= k <= 2 and 0 <= c <= 15"
        " and 0 <= w <= 2 and x - 8 <= 2w <= x and ((h <= 1 and k > 0) or (h >= 2 and 2k <= 32 - h)) }"
    )
    found = nest_bounds(points, isl.Set("{ [] }"))
    assert found is not None
    row = found.levels[3]
    assert {str(expr) for expr in row.lower} == {"0", "(((d1 * -1) + 2) ceildiv 2)"}
    assert {str(expr) for expr in row.upper} == {"3", "((((d1 * -1) + 32) floordiv 2) + 1)"}

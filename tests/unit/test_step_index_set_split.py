"""A loop as several, before and from a point on."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import IndexSetSplit, Simplify

from .loop_nests import applied, check_extents, check_random_nest, reason
from .nest_texts import LINE, TRIANGLE


@pytest.mark.parametrize(
    "at", ["0", "-9", "4", "99", "2*i - 5 >= 0", "-3*i + 7 <= 0", "2*i == 6", "i == 3"]
)
def test_extents(at: str) -> None:
    check_extents(LINE, IndexSetSplit("f/i", at), extents=(1, 2, 5, 8, 9, 33))


@pytest.mark.parametrize("at", ["i", "i - 2", "i floordiv 2", "2*j - i >= 0", "j - i + 1 == 0"])
def test_points_that_depend_on_loops_around(at: str) -> None:
    check_extents(TRIANGLE, IndexSetSplit("f/j", at), extents=(1, 2, 7, 12))


def test_the_condition_it_splits_at_is_gone_afterwards() -> None:
    program = """
    func.func @f(%A: memref<9x9xi32>, %v: i32) {
      loop.for parallel "i" %i = 0 to 9 {
        loop.for parallel "j" %j = 0 to 9 {
          loop.if (%j - %i >= 0) {
            loop.store %v, %A[%i, %j] : memref<9x9xi32>
          }
        }
      }
      func.return
    }
    """
    text = applied(program, IndexSetSplit("f/j", "j - i >= 0"), Simplify("f"))
    assert "loop.if" not in text and '"j.rest" %j = %i to 9' in text


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("k", "which uses 'k'"),
        ("i + 1", "uses the variable of 'i' itself"),
        ("4 >= 2", "is no linear condition on the variable of 'i'"),
        ("i mod 2 == 0", "is no linear condition on the variable of 'i'"),
        ("", "is neither an affine expression nor an affine condition"),
        ("4 4", "is neither an affine expression nor an affine condition"),
    ],
)
def test_points_that_are_none(at: str, expected: str) -> None:
    assert expected in reason(LINE.replace("{n}", "9"), IndexSetSplit("f/i", at))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    def steps(random: Random, name: str) -> list[Step]:
        points = ("2", "n - 2", f"2*{name} - n >= 0", f"3*{name} == n")
        return [IndexSetSplit(f"f/{name}", random.choice(points))]

    check_random_nest(seed, steps)

"""What other steps leave, normalised, decided over the iterations there are."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import IndexSetSplit, Peel, Reverse, Simplify, Split, Tile

from .loop_nests import applied, check_extents, check_random_nest
from .nest_texts import LINE, MATMUL, TRIANGLE


def test_extents() -> None:
    check_extents(TRIANGLE, Split("f/i", 4), Split("f/j", 3), Simplify("f"))
    check_extents(LINE, Split("f/i", 4, tail="peel"), Simplify("f"))
    check_extents(LINE, Peel("f/i", 1, 2), Simplify("f"))
    check_extents(TRIANGLE, Tile("f/i", (4, 4)), Simplify("f"), extents=(1, 2, 7, 12))


def test_it_changes_nothing_the_second_time() -> None:
    once = applied(MATMUL.replace("{n}", "10"), Tile("f/i", (4, 3, 2), "peel"), Simplify("f"))
    assert applied(once, Simplify("f")) == once


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("max(0, 4) to min(8, 16)", "%i = 4 to 8"),
        ("max(%n, %n - 3) to min(%n + 9, %n + 8)", "%i = %n to %n + 8"),
        ("max(0, %n) to %n + 8", "%i = max(0, %n) to %n + 8"),
    ],
)
def test_superfluous_expressions(head: str, expected: str) -> None:
    program = f"""
    func.func @f(%A: memref<99xi32>, %n: index, %v: i32) {{
      loop.for parallel "i" %i = {head} {{
        loop.store %v, %A[%i] : memref<99xi32>
      }}
      func.return
    }}
    """
    assert expected in applied(program, Simplify("f"))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("%i >= 0", None),
        ("%i - 3 <= 0, %i >= 0", "%i - 3 <= 0"),
        ("%i - %n >= 0", "%i - %n >= 0"),
        ("%i - %j + 9 >= 0", None),
        ("%i mod 2 == 0, %i + 1 >= 0", "%i mod 2 == 0"),
    ],
)
def test_conditions(condition: str, expected: str | None) -> None:
    program = f"""
    func.func @f(%A: memref<99xi32>, %B: memref<99xi32>, %n: index, %v: i32) {{
      loop.for serial "i" %i = 0 to 9 {{
        loop.for serial "j" %j = 0 to 9 {{
          loop.if ({condition}) {{
            loop.store %v, %A[%i] : memref<99xi32>
          }}
          loop.store %v, %B[%i] : memref<99xi32>
        }}
      }}
      func.return
    }}
    """
    text = applied(program, Simplify("f"))
    assert ("loop.if" not in text) if expected is None else f"loop.if ({expected})" in text


def test_a_condition_with_a_value_gives_the_branch_that_is_taken() -> None:
    program = """
    func.func @f(%A: memref<99xi32>, %v: i32, %w: i32) {
      loop.for parallel "i" %i = 0 to 9 {
        %x = loop.if (%i - 9 >= 0) -> (i32) { loop.yield %v : i32 } else { loop.yield %w : i32 }
        loop.store %x, %A[%i] : memref<99xi32>
      }
      func.return
    }
    """
    assert "loop.store %w, %A[%i]" in applied(program, Simplify("f"))


def test_loops_of_one_and_of_no_iteration() -> None:
    program = """
    func.func @f(%A: memref<99xi32>, %n: index, %v: i32) {
      loop.for parallel "i" %i = %n to %n + 1 {
        loop.for parallel "none" %z = %i to min(%i, 5) {
          loop.store %v, %A[%z] : memref<99xi32>
        }
        loop.store %v, %A[%i + 1] : memref<99xi32>
      }
      loop.for parallel "maybe" %m = 0 to min(1, %n) {
        loop.store %v, %A[%m] : memref<99xi32>
      }
      func.return
    }
    """
    text = applied(program, Simplify("f"))
    assert "loop.store %v, %A[%n + 1]" in text
    assert '"i"' not in text and '"none"' not in text and '"maybe"' in text


def test_values_that_are_not_affine_are_left_alone() -> None:
    program = """
    func.func @f(%A: memref<99xi32>, %N: memref<9xindex>, %v: i32) {
      loop.for serial "i" %i = 0 to 9 {
        %m = loop.load %N[%i] : memref<9xindex>
        loop.for serial "j" %j = max(0, %m) to min(9, %m + 4) {
          loop.if (%m - 1 >= 0) {
            loop.store %v, %A[%j] : memref<99xi32>
          }
        }
      }
      func.return
    }
    """
    text = applied(program, Simplify("f"))
    assert "max(0, %m) to min(9, %m + 4)" in text and "%m - 1 >= 0" in text


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    def steps(random: Random, name: str) -> list[Step]:
        first = [
            Split(f"f/{name}", random.randint(2, 4), tail=random.choice(("guard", "peel"))),
            Peel(f"f/{name}", 1, 1),
            IndexSetSplit(f"f/{name}", "n - 3"),
            Reverse(f"f/{name}"),
        ]
        return [random.choice(first), Simplify("f")]

    check_random_nest(seed, steps)

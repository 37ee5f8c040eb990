"""Loops that run from 0 by one, and what is said of the numbers of iterations by then."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule import Step
from stepwell.dialects.schedule.steps import (
    Fuse,
    IndexSetSplit,
    Normalize,
    Peel,
    Simplify,
    Split,
    Tile,
)

from .loop_nests import applied, check_extents, check_random_nest
from .nest_texts import LINE, MATMUL, TRIANGLE


def test_extents() -> None:
    check_extents(LINE, Normalize("f"))
    check_extents(TRIANGLE, Split("f/i", 4), Split("f/j", 3), Normalize("f"))
    check_extents(LINE, Peel("f/i", 1, 2), Normalize("f"), Simplify("f"))
    check_extents(TRIANGLE, Tile("f/i", (4, 4)), Normalize("f"), extents=(1, 2, 7, 12))


def test_an_index_that_is_stored() -> None:
    """It is a value there, not a subscript. Of integers that a test can compare, so through a cell."""
    program = """
func.func @f(%A: memref<80xi64>) {
  %cell = loop.alloc register : memref<index>
  loop.for serial "i" %i = 3 to {n} step 2 {
    loop.store %i, %cell[] : memref<index>
    %last = loop.load %cell[] : memref<index>
    %number = arith.index_cast %last : index to i64
    loop.store %number, %A[%i] : memref<80xi64>
  }
  func.return
}
"""
    check_extents(program, Normalize("f"), extents=(1, 4, 11))


def test_it_changes_nothing_the_second_time() -> None:
    once = applied(MATMUL.replace("{n}", "10"), Tile("f/i", (4, 3, 2), "peel"), Normalize("f"))
    assert " step " not in once
    assert applied(once, Normalize("f")) == once


def test_what_steps_have_left_since_it_was_tidy_is_worked_out() -> None:
    """After a cleanup only loops that are counted anew are looked at, and after other steps the whole function."""
    program = MATMUL.replace("{n}", "16")
    fused = Fuse("f/i", "j", "ij"), Split("f/ij", 16, "i", "j", "perfect")
    cut = Split("f/i", 4, "i.block", "i"), Peel("f/i.block", 1, 1)
    for before, after in ((Simplify("f"), fused), (Normalize("f"), fused), (Simplify("f"), cut)):
        text = applied(program, before, *after, Normalize("f"))
        assert " mod " not in text and " floordiv " not in text
        assert text == applied(applied(program, before, *after), Normalize("f"))
    halfway = applied(program, *cut, Simplify("f"))
    assert applied(halfway, Normalize("f")) == applied(program, *cut, Simplify("f"), Normalize("f"))


def test_few_bounds_are_left() -> None:
    """A block of 14 is one block of 14, also where the last one ends before."""
    blocks = Split("f/i", 14, "i.block", "i"), Split("f/i", 14, "i.tile", "i"), Normalize("f")
    text = applied(MATMUL.replace("{n}", "16"), *blocks)
    assert '"i.tile" %i_tile = 0 to 1 ' in text
    check_extents(MATMUL, *blocks, extents=(1, 13, 14, 16))


def test_simplify_keeps_the_numbers_of_iterations() -> None:
    program = MATMUL.replace("{n}", "16")
    blocks = applied(program, Split("f/i", 4), Simplify("f"))
    assert '"i.outer" %i_outer = 0 to 16 step 4' in blocks
    # Where a position is named, it is one of the loop that the script has split, simplified or not.
    cut = IndexSetSplit("f/i.outer", "i.outer - 8 >= 0")
    simplified = applied(blocks, cut, Simplify("f"))
    assert simplified == applied(program, Split("f/i", 4), cut, Simplify("f"))


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    def steps(random: Random, name: str) -> list[Step]:
        tail = random.choice(("guard", "peel"))
        first = [Split(f"f/{name}", random.randint(2, 4), tail=tail), Peel(f"f/{name}", 1, 1)]
        last: list[Step] = [Normalize("f"), Simplify("f")]
        random.shuffle(last)
        return [random.choice(first), *last]

    check_random_nest(seed, steps)

"""Subscripts with floordiv and mod after `simplify` and `normalize`, where the ranges of loops decide them."""

from __future__ import annotations

import pytest
from stepwell.dialects.schedule.steps import Normalize, Simplify, Split, Stage, Unroll

from .loop_nests import applied, check_extents

COPY = """
func.func @f(%A: memref<40xi32> {stepwell.noalias}, %B: memref<10x4xi32> {stepwell.noalias}) {
  loop.for parallel "i" %i = 0 to {n} {
    %a = loop.load %A[%i] : memref<40xi32>
    loop.store %a, %B[%i floordiv 4, %i mod 4] : memref<10x4xi32>
  }
  func.return
}
"""


def stored_at(text: str) -> list[str]:
    """The subscripts of the stores to %B."""
    lines = [line for line in text.splitlines() if "loop.store" in line]
    return [line.split("%B[")[1].split("]")[0].replace("%", "") for line in lines]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("factor", [2, 3, 4, 8])
@pytest.mark.parametrize("tail", ["peel", "guard"])
def test_blocks_compute_the_same(factor: int, tail: str):
    check_extents(COPY, Split("f/i", factor, tail=tail), Simplify("f"))


def test_blocks_of_the_divisor_decide():
    (subscripts,) = stored_at(
        applied(COPY.replace("{n}", "36"), Split("f/i", 4, tail="perfect"), Normalize("f"))
    )
    assert subscripts == "i_outer, i"


def test_others_do_not():
    (subscripts,) = stored_at(
        applied(COPY.replace("{n}", "36"), Split("f/i", 3, tail="perfect"), Normalize("f"))
    )
    assert "floordiv 4" in subscripts and "mod 4" in subscripts


def test_constants_are_taken_apart():
    steps = (Split("f/i", 4, tail="peel"), Unroll("f/i.inner"), Normalize("f"))
    check_extents(COPY, *steps)
    found = stored_at(applied(COPY.replace("{n}", "36"), *steps))
    assert found == [f"i_outer, {n}" for n in range(4)]


def test_factors_are_divided():
    text = COPY.replace("%i floordiv 4, %i mod 4", "(%i * 4 + 3) floordiv 4, (%i * 4 + 3) mod 4")
    assert stored_at(applied(text.replace("{n}", "10"), Simplify("f"))) == ["i, 3"]


def test_negative_numbers_round_down():
    text = COPY.replace("%i floordiv 4, %i mod 4", "(%i - 8) floordiv 4 + 2, (%i - 8) mod 4")
    check_extents(text, Simplify("f"))


def test_panels_of_a_staged_buffer():
    """Blocks of blocks: where a panel begins is a multiple of its size away from the buffer's start."""
    program = """
func.func @f(%A: memref<40xi32> {stepwell.noalias}, %B: memref<40xi32> {stepwell.noalias}) {
  loop.for parallel "i" %i = 0 to {n} {
    %a = loop.load %A[%i] : memref<40xi32>
    loop.store %a, %B[%i] : memref<40xi32>
  }
  func.return
}
"""
    steps = (
        Split("f/i", 12, outer="block", inner="i"),
        Split("f/i", 4, outer="tile", inner="i"),
        Stage("f/A", at="block", into="packed", panel=4),
        Simplify("f"),
        Normalize("f"),
    )
    check_extents(program, *steps)
    text = applied(program.replace("{n}", "38"), *steps)
    (load,) = [line for line in text.splitlines() if "loop.load %packed" in line]
    assert "floordiv" not in load and "mod" not in load

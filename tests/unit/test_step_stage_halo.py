"""Copies with the value that reads have outside of a buffer."""

import pytest
from stepwell.dialects.schedule.steps import StageHalo

from .loop_nests import applied, check_extents, reason

WINDOW = """
func.func @f(%A: memref<5x{n}xi32>, %B: memref<4x{n}xi32>) attributes {stepwell.noalias} {
  loop.for parallel "i" %i = 0 to 4 {
    loop.for parallel "j" %j = 0 to {n} {
      loop.for reduction "k" %k = 0 to 4 {
        %a = loop.if (2 * %i + %k - 2 >= 0, -2 * %i - %k + 6 >= 0, %j - 2 * %k >= 0) -> (i32) {
          %0 = loop.load %A[2 * %i + %k - 2, %j - 2 * %k] : memref<5x{n}xi32>
          loop.yield %0 : i32
        } else {
          %1 = arith.constant 7 : i32
          loop.yield %1 : i32
        }
        %b = loop.load %B[%i, %j] : memref<4x{n}xi32>
        %s = arith.addi %b, %a : i32
        loop.store %s, %B[%i, %j] : memref<4x{n}xi32>
      }
    }
  }
  func.return
}
"""


@pytest.mark.parametrize("at", ["", "i", "j", "k"])
@pytest.mark.parametrize("order", [(), (1, 0)])
def test_extents(at: str, order: tuple[int, ...]) -> None:
    """Wherever the copy is made, reads before and behind the buffer have the number that they had."""
    extents = (1, 2, 3, 7, 8, 33)
    check_extents(WINDOW, StageHalo("f/A", at, order=order), extents=extents)


def test_padding_behind_the_border() -> None:
    """Sizes are rounded up in the order of the copy, and what is added has the number of outside."""
    check_extents(WINDOW, StageHalo("f/A", pads=(4, 8)), extents=(1, 7, 8, 33))
    text = applied(WINDOW.replace("{n}", "9"), StageHalo("f/A", order=(1, 0), pads=(16, 1)))
    assert "loop.alloc arena : memref<16x" in text


def test_only_the_border_is_filled() -> None:
    """Rows before and behind those of the buffer are read, and columns before its first one."""
    text = applied(WINDOW.replace("{n}", "9"), StageHalo("f/A"))
    assert text.count("arith.constant 7") == 3 and "loop.if" not in text


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (StageHalo("f/B"), "'%B' is written there"),
        (StageHalo("f/A", scope="cloud"), "scope is 'cloud', expected one of"),
        (StageHalo("f/A", order=(0,)), "expected a permutation of the 2 axes"),
        (StageHalo("f/A", pads=(4,)), "pads is [4], expected a number for each of 2 axes"),
    ],
)
def test_refusals(step: StageHalo, expected: str) -> None:
    assert expected in reason(WINDOW.replace("{n}", "9"), step)


def test_large_copies_do_not_fit_the_stack() -> None:
    text = WINDOW.replace("{n}", "100000")
    assert "expected at most 262144 for 'stack'" in reason(text, StageHalo("f/A", scope="stack"))


def test_sizes_have_to_be_known() -> None:
    """Whether an element exists is nothing to ask where the end of an axis is open."""
    text = WINDOW.replace("{n}", "9").replace("%A: memref<5x9xi32>", "%A: memref<?x9xi32>")
    text = text.replace("%j - 2 * %k] : memref<5x9xi32>", "%j - 2 * %k] : memref<?x9xi32>")
    assert "whose sizes are not all known numbers" in reason(text, StageHalo("f/A"))

"""skew: the same iterations at the same time under other numbers."""

import pytest
from stepwell.dialects.schedule.steps import Reorder, Skew, Vectorize
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from stepwell.transforms.step_support.refusal import Refusal

from .step_agreement import check_extents


def stencil(n: int) -> str:
    """A Gauss-Seidel sweep: each element from its new left and upper neighbours."""
    return f"""
func.func @f(%A: memref<{n + 2}x{n + 2}xi32>) {{
  loop.for serial "i" %i = 1 to {n + 1} {{
    loop.for serial "j" %j = 1 to {n + 1} {{
      %a = loop.load %A[%i - 1, %j + 1] : memref<{n + 2}x{n + 2}xi32>
      %b = loop.load %A[%i, %j - 1] : memref<{n + 2}x{n + 2}xi32>
      %x = affine.apply affine_map<(d0) -> (d0 * 3)>(%j)
      %y = arith.index_cast %x : index to i32
      %s = arith.addi %a, %b : i32
      %t = arith.muli %s, %y : i32
      loop.store %t, %A[%i, %j] : memref<{n + 2}x{n + 2}xi32>
    }}
  }}
  func.return
}}"""


@pytest.mark.parametrize("factor", [1, 2, -3])
def test_extents(factor: int) -> None:
    check_extents(stencil, [Skew("f/j", "i", factor)])


def test_makes_an_exchange_legal() -> None:
    check_extents(stencil, [Skew("f/j", "i"), Reorder("f/i", ("j", "i"))])


def strided(n: int, down: int, right: int) -> str:
    """The sweep over every so many rows and columns."""
    text = stencil(n).replace("%i = 1", f"%i = {down}").replace("%j = 1", f"%j = {right}")
    text = text.replace("%i - 1", f"%i - {down}").replace("%j - 1", f"%j - {right}")
    text = text.replace("%j + 1", f"%j + {right}").replace(f"{n + 2}x{n + 2}", f"{n + 9}x{n + 9}")
    for name, step in (("i", down), ("j", right)):
        bounds = f"%{name} = {step} to {n + 1}"
        text = text.replace(bounds, f"{bounds} step {step}")
    return text


@pytest.mark.parametrize(
    ("down", "right", "factor"), [(1, 2, 2), (2, 2, 1), (3, 2, 2), (2, 4, 2), (2, 1, 1), (4, 2, 1)]
)
def test_makes_an_exchange_legal_with_steps(down: int, right: int, factor: int) -> None:
    """The exchange counts the iterations of loops with steps, but not so that it undoes the skew."""
    steps = [Skew("f/j", "i", factor), Reorder("f/i", ("j", "i"))]
    check_extents(lambda n: strided(n, down, right), steps)


def test_columns_that_do_not_meet() -> None:
    """Skewed by 1, the values of j are even in one row and odd in the next: in their order it is wrong."""
    nests = Nests(parse_text(strided(9, 1, 2), "f.mlir"))
    apply(Skew("f/j", "i", 1), nests)
    with pytest.raises(Refusal, match="would be swapped"):
        apply(Reorder("f/i", ("j", "i")), nests)


def test_a_skew_the_wrong_way_is_not_undone_either() -> None:
    """As it stood the exchange was legal; in the order of the skewed j, a row would come before the one above."""
    down = strided(9, 2, 2).replace("%j + 2]", "%j]").replace("%A[%i, %j - 2]", "%A[%i, %j]")
    apply(Reorder("f/i", ("j", "i")), Nests(parse_text(down, "f.mlir")))
    nests = Nests(parse_text(down, "f.mlir"))
    apply(Skew("f/j", "i", -1), nests)
    with pytest.raises(Refusal, match="would be swapped"):
        apply(Reorder("f/i", ("j", "i")), nests)


def test_there_and_back() -> None:
    check_extents(stencil, [Skew("f/j", "i", 2), Skew("f/j", "i", -2)])


def test_lanes_share_the_bounds_of_loops_inside() -> None:
    program = """
    func.func @f(%A: memref<8x3xi32>, %v: i32) {
      loop.for parallel "i" %i = 0 to 8 {
        loop.for parallel "j" %j = 0 to 3 {
          loop.store %v, %A[%i, %j] : memref<8x3xi32>
        }
      }
      func.return
    }
    """
    nests = Nests(parse_text(program, "f.mlir"))
    apply(Vectorize("f/i", 8), nests)
    with pytest.raises(Refusal, match="loop 'i' runs in vector lanes, whose bounds of 'j' would"):
        apply(Skew("f/j", "i"), nests)

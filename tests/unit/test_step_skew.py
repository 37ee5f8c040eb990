"""skew: the same iterations at the same time under other numbers."""

import pytest
from stepwell.dialects.schedule.steps import Reorder, Skew, Vectorize
from stepwell.frontend.text import parse_text
from stepwell.transforms.schedule.nest import Nests
from stepwell.transforms.schedule.planning import apply
from stepwell.transforms.schedule.refusal import Refusal

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

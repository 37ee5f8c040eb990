"""skew: the same iterations at the same time under other numbers."""

import pytest
from stepwell.dialects.schedule.steps import Reorder, Skew

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

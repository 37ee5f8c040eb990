"""fuse: two nested loops as one keep the order of iterations."""

import pytest
from stepwell.dialects.schedule.steps import Fuse, Reorder, Skew, Split

from .step_agreement import check_extents, check_steps


def nest(outer: str, inner: str, around: str = "") -> str:
    """Counts up through a nest, so that each iteration's place in the order shows in the result."""
    return f"""
func.func @f(%A: memref<80x80xi32>, %T: memref<1xi32>, %n: index) attributes {{stepwell.noalias}} {{
  loop.for serial "r" %r = 0 to 2 {{
  loop.for serial "i" %i = {outer} {{
    {around}
    loop.for serial "j" %j = {inner} {{
      %a = loop.load %T[0] : memref<1xi32>
      %c = arith.constant 3 : i32
      %b = arith.addi %a, %c : i32
      loop.store %b, %T[0] : memref<1xi32>
      loop.store %b, %A[%i + 40, %j + 40] : memref<80x80xi32>
    }}
  }}
  }}
  func.return
}}"""


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("0 to {n}", "0 to 7"),
        ("0 to 3", "0 to {n}"),
        ("-{n} to 5 step 3", "-4 to {n} step 5"),
        ("0 to {n}", "%i to %i + 3"),
        ("%n to {n}", "0 to 4"),
        ("max(%n, %r * 2) to min({n}, %n + 30)", "0 to 4"),
        ("max(0, 3) to min({n}, 9) step 2", "max(0, 1) to min({n}, 6)"),
        ("0 to {n}", "5 to 4"),
        ("4 to 2", "0 to {n}"),
        ("0 to {n}", "2 to 3"),
    ],
)
def test_extents(outer: str, inner: str) -> None:
    check_extents(
        lambda n: nest(outer.format(n=n), inner.format(n=n)), [Fuse("f/i", "j", into="ij")]
    )


def test_of_fused_and_split_loops() -> None:
    check_extents(
        lambda n: nest(f"0 to {n}", "0 to 6"),
        [Fuse("f/i", "j"), Split("f/i.j", 5, tail="peel"), Fuse("f/i.j.outer", "i.j.inner")],
    )


def test_outer_loops_too() -> None:
    text = nest("0 to 5", "0 to 6")
    check_steps(text, [Fuse("f/i", "j"), Fuse("f/r", "i.j")])
    check_steps(text, [Fuse("f/r", "i"), Fuse("f/r.i", "j")])


def test_after_skew_and_before_reorder() -> None:
    text = nest("0 to 5", "0 to 6").replace("%b, %A[%i + 40, %j + 40]", "%c, %A[%i + 40, %j + 40]")
    check_steps(text, [Skew("f/j", "i"), Fuse("f/i", "j"), Reorder("f/r", ("r", "i.j"))])


def test_index_arithmetic_between_the_loops_moves_inside() -> None:
    around = "%x = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)"
    text = nest("0 to 5", "0 to 6", around).replace("%A[%i + 40", "%A[%x + 40")
    check_steps(text, [Fuse("f/i", "j")])

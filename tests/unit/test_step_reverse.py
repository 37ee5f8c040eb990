"""Running a loop backwards."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.dialects.schedule.steps import Reverse

from .loop_nests import RandomNest, check, check_extents, reason

TRIANGLE = """
func.func @f(%A: memref<{n}x{n}xi32>) {
  loop.for parallel "i" %i = 0 to {n} {
    loop.for serial "j" %j = 1 to %i + 1 {
      %a = loop.load %A[%i, %j - 1] : memref<{n}x{n}xi32>
      %b = loop.load %A[%i, %j] : memref<{n}x{n}xi32>
      %t = arith.muli %a, %b : i32
      %s = arith.subi %t, %a : i32
      loop.store %s, %A[%i, %j] : memref<{n}x{n}xi32>
    }
  }
  func.return
}
"""

LINE = """
func.func @f(%A: memref<80xi32>) {
  loop.for serial "i" %i = -3 to {n} step 2 {
    %a = loop.load %A[%i + 3] : memref<80xi32>
    %b = loop.load %A[%i + 4] : memref<80xi32>
    %t = arith.muli %a, %b : i32
    %s = arith.addi %t, %b : i32
    loop.store %s, %A[%i + 5] : memref<80xi32>
  }
  func.return
}
"""

COPY = """
func.func @f(%A: memref<80xi32> {stepwell.noalias}, %B: memref<80xi32> {stepwell.noalias}) {
  loop.for parallel "i" %i = -3 to {n} step 2 {
    %a = loop.load %A[%i + 3] : memref<80xi32>
    loop.store %a, %B[%i + 4] : memref<80xi32>
  }
  func.return
}
"""


def test_extents() -> None:
    check_extents(COPY, Reverse("f/i"))
    check_extents(TRIANGLE, Reverse("f/i"))


def test_bounds_that_are_maxima_and_minima() -> None:
    check_extents(COPY.replace("-3 to {n} step 2", "max(-3, -{n}) to min({n}, 20)"), Reverse("f/i"))
    check_extents(COPY.replace("{n} step 2", "min({n}, 20) step 2"), Reverse("f/i"))


def test_a_carried_dependence_is_refused_with_its_iterations() -> None:
    message = reason(LINE.replace("{n}", "9"), Reverse("f/i"))
    assert "iterations (i=-3) and (i=-1) would be swapped" in message


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    random = Random(seed)
    nest = RandomNest(random, depth=3)
    text = nest.text()
    name = random.choice(nest.loops)
    check(text, [Reverse(f"f/{name}")])

"""Unrolling an outer loop and joining the copies of those inside."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stepwell.analysis.verify import verify
from stepwell.dialects.schedule.steps import UnrollAndJam
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply

from .loop_nests import RandomNest, check, check_extents, reason
from .nest_texts import MATMUL, TRIANGLE


@pytest.mark.parametrize("tail", ["guard", "peel"])
@pytest.mark.parametrize("loop", ["i", "j"])
def test_extents(loop: str, tail: str) -> None:
    check_extents(MATMUL, UnrollAndJam(f"f/{loop}", 3, tail), extents=(1, 2, 3, 4, 7, 8, 33))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("tail", ["guard", "peel"])
@pytest.mark.parametrize(
    "bounds",
    [
        "%i to {n}",
        "0 to %i + 1",
        "%i to 2 * %i",
        "-%i + {n} to {n}",
        "{n} - 2 * %i to %i",
        "3 to %i step 2",
        "max(%i, 3) to {n}",
        "0 to min(%i + 1, 5)",
        "max(2 * %i - 4, 2, 8 - %i) to min(%i + 4, {n}, 9 - 2 * %i)",
        "max(5 - %i, 1) to min(2 * %i, 7, 9 - %i)",
        "1 to min(2 * %i, 7) step 3",
        "max(%i, 2 * %i - 3) to {n} + 4",
        "-3 to min(9 - %i, 12 - 2 * %i)",
        "max(2 * %i - 3, %i) to min(13 - 3 * %i, 12 - 2 * %i, 9 - %i)",
    ],
)
def test_inner_bounds_that_vary(bounds: str, tail: str) -> None:
    program = """
    func.func @f(%A: memref<99x199xi32>) {
      loop.for parallel "i" %i = 0 to {n} {
        loop.for serial "j" %j = BOUNDS {
          %a = loop.load %A[%i, %j + 70] : memref<99x199xi32>
          %b = loop.load %A[%i, %j + 71] : memref<99x199xi32>
          %t = arith.muli %a, %b : i32
          %s = arith.addi %t, %a : i32
          loop.store %s, %A[%i, %j + 71] : memref<99x199xi32>
        }
      }
      func.return
    }
    """.replace("BOUNDS", bounds)
    for factor in (2, 3, 4):
        check_extents(program, UnrollAndJam("f/i", factor, tail), extents=(1, 2, 3, 5, 7, 9))


def test_a_dependence_between_iterations_that_stay_in_order_is_no_obstacle() -> None:
    # Not a reduction: each element is multiplied and added to, row after row.
    program = """
    func.func @f(%A: memref<{n}x9xi32> {stepwell.noalias}, %X: memref<9xi32> {stepwell.noalias}) {
      loop.for serial "i" %i = 0 to {n} {
        loop.for parallel "j" %j = 0 to 9 {
          %a = loop.load %A[%i, %j] : memref<{n}x9xi32>
          %x = loop.load %X[%j] : memref<9xi32>
          %t = arith.muli %x, %a : i32
          %s = arith.addi %t, %a : i32
          loop.store %s, %X[%j] : memref<9xi32>
        }
      }
      func.return
    }
    """
    check_extents(program, UnrollAndJam("f/i", 3))


def test_a_loop_inside_of_an_update_is_not_joined_through_it() -> None:
    program = """
    func.func @f(%B: memref<9x9xi32> {stepwell.noalias}, %C: memref<1xi32> {stepwell.noalias}, %v: i32) {
      loop.for reduction "i" %i = 0 to 8 {
        %c = loop.load %C[0] : memref<1xi32>
        loop.for parallel "j" %j = 0 to 8 {
          loop.store %v, %B[%i, %j] : memref<9x9xi32>
        }
        %s = arith.addi %c, %v : i32
        loop.store %s, %C[0] : memref<1xi32>
      }
      func.return
    }
    """
    assert "must come after the store to '%C'" in reason(program, UnrollAndJam("f/i", 2))


def test_bounds_beyond_the_end_are_those_that_are_written() -> None:
    """In the one iteration that there is, the second bound is 1; in the one beyond it is -3."""
    program = """
    func.func @f(%A: memref<1xi32>) {
      loop.for parallel "i" %i = 0 to 1 step 4 {
        loop.for parallel "j" %j = 0 to min(4, -%i + 1) {
          %c = arith.constant 1 : i32
          loop.store %c, %A[%i * 4 + %j * 4] : memref<1xi32>
        }
      }
      func.return
    }
    """
    check_extents(program, UnrollAndJam("f/i", 2, "pad"), extents=(1,))


def test_without_a_loop_inside() -> None:
    assert "has no loop in its body" in reason(TRIANGLE.replace("{n}", "9"), UnrollAndJam("f/j", 2))


@settings(max_examples=24, deadline=None)
@given(st.integers(0, 1 << 30))
def test_random_nests(seed: int) -> None:
    random = Random(seed)
    nest = RandomNest(random, depth=random.choice((2, 3)))
    text = nest.text()
    second = nest.loops[min(1, len(nest.loops) - 1)]
    tail = random.choice(("guard", "peel", "perfect"))
    check(
        text,
        [UnrollAndJam(f"f/{second}", random.choice((2, 3)), tail), UnrollAndJam("f/i0", 2, tail)],
    )


def test_views_beyond_the_end_are_not_made() -> None:
    """`memref.subview` has no effect, and must not begin outside of its buffer either."""
    view = "memref<1xi32, strided<[?], offset: ?>>"
    text = f"""
    func.func @f(%A: memref<5x2xi32>) {{
      loop.for parallel "i" %i = 0 to 5 {{
        loop.for parallel "j" %j = 0 to 1 {{
          %part = memref.subview %A[%i, %j] [1, 1] [1, 1] : memref<5x2xi32> to {view}
          func.call @kernel(%part) : ({view}) -> ()
        }}
      }}
      func.return
    }}
    func.func private @kernel(%A: {view}) {{
      %one = arith.constant 1 : i32
      loop.store %one, %A[0] : {view}
      func.return
    }}
    """
    module = parse_text(text, "f.mlir")
    before = interpret(module, [np.zeros((5, 2), np.int32)], "f")
    apply(UnrollAndJam("f/i", 3, "guard"), Nests(module))
    verify(module)
    assert np.array_equal(interpret(module, [np.zeros((5, 2), np.int32)], "f"), before)

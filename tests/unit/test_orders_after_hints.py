"""What runs before what, after hints have come between it: they touch no memory, and yet stand and run somewhere."""

import numpy as np
from stepwell.dialects.schedule.steps import Prefetch, Reorder, Split
from stepwell.frontend.schedule import Schedule
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret

SKEWED = """
func.func @f(%A: memref<16x16xf32> {stepwell.noalias}, %B: memref<64x16xf32> {stepwell.noalias}) {
  loop.for serial "i" %i = 1 to 16 {
    loop.for serial "j" %j = 0 to 15 {
      %b = loop.load %B[%i, 0] : memref<64x16xf32>
      %a = loop.load %A[%i - 1, %j + 1] : memref<16x16xf32>
      %c = arith.addf %a, %b : f32
      loop.store %c, %A[%i, %j] : memref<16x16xf32>
    }
  }
  func.return
}"""


def test_an_order_that_was_illegal_stays_so_after_a_hint() -> None:
    turned = Reorder("f/i", ["j", "i"])
    schedule = Schedule(SKEWED)
    before = schedule.why_not(turned)
    assert before is not None and "distance (1, -1)" in before
    schedule.apply(Prefetch("f/B", "i", 4))  # a hint of one line, which stands before loop j
    after = schedule.why_not(turned)
    assert after is not None and "distance (1, -1)" in after


def test_loops_over_hints_alone_are_loops_of_a_nest() -> None:
    nest = """
func.func @f(%A: memref<6x6x8xi64> {stepwell.noalias}) {
  loop.for serial "i" %i = 0 to 4 {
    loop.for serial "j" %j = -3 to %i + 2 {
      %v = loop.load %A[5, 0, -%j + 4] : memref<6x6x8xi64>
      loop.store %v, %A[0, 5, 4] : memref<6x6x8xi64>
    }
  }
  func.return
}"""
    hints = [f"A.prefetch{n}" for n in range(3)]
    order = [hints[1], "j.outer", hints[0], "k", hints[2]]
    array = np.random.default_rng(0).integers(-99, 99, (6, 6, 8))
    (expected,) = interpret(parse_text(nest), [array], "f")
    schedule = Schedule(nest)
    schedule.apply(Split("f/j", 5, inner="k"))
    schedule.apply(Prefetch("f/A", "k", 4))
    schedule.apply(Reorder("f/j.outer", order))
    (found,) = interpret(parse_text(str(schedule.module)), [array], "f")
    assert np.array_equal(found, expected)

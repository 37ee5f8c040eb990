"""Where refusals point, and what the pass of each step says it does to floating-point results."""

from importlib import import_module

import pytest
from stepwell.dialects.schedule import STEPS, Step
from stepwell.dialects.schedule.steps import (
    DoubleBuffer,
    Inline,
    Prefetch,
    Reverse,
    SetScope,
    Split,
    Stage,
    Vectorize,
)
from stepwell.frontend.text import parse_text
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import StepPass, apply
from stepwell.transforms.step_support.refusal import Refusal

PROGRAM = """

func.func @f(%A: memref<9xi32>, %n: index) {

  %T = loop.alloc stack : memref<9xi32>
  loop.for serial "i" %i = 1 to 9 {
    %a = loop.load %A[%i - 1] : memref<9xi32>
    loop.store %a, %A[%i] : memref<9xi32>
  }
  loop.for serial "j" %j = 1 to 9 {
      loop.for serial "k" %k = 1 to %n {
        %a = loop.load %A[%j - 1] : memref<9xi32>
        loop.store %a, %A[%j] : memref<9xi32>
      }
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("step", "place"),
    [
        (Reverse("f/i"), "6:3"),
        (Reverse("j"), "10:3"),
        (Split("f/k", 0), "11:7"),
        (Split("f/k", 4, tail="nothing"), "11:7"),
        (Vectorize("f/j"), "10:3"),
        (Stage("f/A", "k", scope="nowhere"), "11:7"),
        (Prefetch("f/A", "k", -1), "11:7"),
        (DoubleBuffer("f/T", "i"), "6:3"),
        (SetScope("f/T", "nowhere"), "5:8"),
        (SetScope("f/A", "stack"), "3:1"),
        (Inline("f/A"), "3:1"),
    ],
)
def test_a_refusal_points_at_the_loop_or_buffer(step: Step, place: str) -> None:
    module = parse_text(PROGRAM, "p.mlir")
    with pytest.raises(Refusal) as refusal:
        apply(step, Nests(module))
    assert refusal.value.where == f"p.mlir:{place}"
    assert str(refusal.value).startswith(f"p.mlir:{place}: ")
    assert "\n" not in str(refusal.value)


REASSOCIATING = {
    "fission",
    "fuse_loops",
    "mirror",
    "reorder",
    "reverse",
    "reverse_compute_at",
    "reverse_inline",
    "rfactor",
    "skip_padding",
    "tile",
    "unroll_and_jam",
    "vectorize",
}
"""
Those for which reductions that may be joined in any order do not count as dependences, and the one that leaves out terms that are 0.
"""


@pytest.mark.parametrize("keyword", sorted(STEPS))
def test_what_a_step_does_to_floating_point(keyword: str) -> None:
    module = import_module(f"stepwell.transforms.loop.{keyword}")
    (pass_,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, StepPass) and value is not StepPass
    )
    assert pass_.numerics == ("reassociates" if keyword in REASSOCIATING else "exact")

"""Statements that have to share loops, since a buffer is made there: plans do not part them."""

from __future__ import annotations

import pytest
from stepwell.analysis.facts import distributed, facts_of_loops
from stepwell.frontend.text import parse_text
from stepwell.targets.target import Target
from stepwell.tuning.rules import decisions, kernels, schedule_with

MEANS = """
func.func private @means(%x: memref<30x784x8xf32>, %y: memref<30x8xf32>) {
  loop.for parallel "j" %j = 0 to 30 {
    %acc = loop.alloc stack : memref<8xf32>
    loop.for parallel "m.init" %m = 0 to 8 {
      %zero = arith.constant 0.0 : f32
      loop.store %zero, %acc[%m] : memref<8xf32>
    }
    loop.for reduction "k" %k = 0 to 784 {
      loop.for parallel "m" %n = 0 to 8 {
        %a = loop.load %x[%j, %k, %n] : memref<30x784x8xf32>
        %before = loop.load %acc[%n] : memref<8xf32>
        %after = arith.addf %before, %a fastmath<reassoc,contract> : f32
        loop.store %after, %acc[%n] : memref<8xf32>
      }
    }
    loop.for parallel "m.finish" %o = 0 to 8 {
      %sum = loop.load %acc[%o] : memref<8xf32>
      %many = arith.constant 784.0 : f32
      %mean = arith.divf %sum, %many : f32
      loop.store %mean, %y[%j, %o] : memref<30x8xf32>
    }
  }
  func.return
}
"""
"""Global averages of channels in blocks of eight, as networks have them."""


@pytest.mark.parametrize("target", ["x86-64-v3", "zen5", "sapphire-rapids"])
def test_sums_in_a_buffer_of_each_iteration_have_plans_that_are_not_refused(target: str):
    module = parse_text(MEANS, "means.mlir")
    (function,) = kernels(module)
    found = [choice for choice, _ in decisions(module, function, Target.parse(target), 20)]
    assert len(found) > 3
    for choice in found:
        module = parse_text(MEANS, "means.mlir")
        (function,) = kernels(module)
        assert schedule_with(module, function, choice, Target.parse(target)), choice


def test_loops_with_a_buffer_in_them_are_not_distributed():
    (function,) = kernels(parse_text(MEANS, "means.mlir"))
    facts = facts_of_loops(function).facts
    assert not facts.is_distributed and distributed(facts) is facts

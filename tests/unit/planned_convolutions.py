"""The convolution of a lowered program, and its kernel by a plan that a test has chosen."""

from dataclasses import replace
from typing import Any

from stepwell.analysis.facts import Contraction, facts_of_loops, find_convolutions
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.runtime.executable import Executable
from stepwell.targets.target import Target
from stepwell.tuning.families import Contractions
from stepwell.tuning.rules import kernels, schedule_with
from xdsl.dialects.builtin import ModuleOp


def convolution_of(low: Lowered, kernel: int = -1) -> Contraction:
    """The only convolution of one of the program's kernels, the last if nothing is said."""
    (found,) = find_convolutions(facts_of_loops(kernels(low.unscheduled())[kernel]).facts)
    return found


def plans_for(low: Lowered, target: Target, n: int = 1) -> list[Any]:
    """The first `n` plans that contractions propose for the program's last kernel."""
    facts = facts_of_loops(kernels(low.unscheduled())[-1]).facts
    return [choice.plan for choice in Contractions().propose(facts, target, n)]


def scheduled_by(low: Lowered, plan: Any, target: Target, kernel: int = -1) -> ModuleOp:
    """
    The loops of a program of which one kernel, the last if nothing is said, is scheduled by a plan of contractions; fails
    where a step is refused.
    """
    module = low.unscheduled()
    function = kernels(module)[kernel]
    (first,) = Contractions().propose(facts_of_loops(function).facts, target, 1)
    assert schedule_with(module, function, replace(first, plan=plan), target) is not None
    return module


def compiled_as_is(module: ModuleOp, target: Target) -> Executable:
    """Loops, compiled for one thread without another schedule."""
    options = Options(target=target, schedule=False)
    return Lowered(module, name="conv", options=options).compile(threads=1)

"""From a step to a plan, and from a plan to rewritten loops; the pass that each step is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...analysis.levels import Level
from ...dialects.schedule import TAILS, Step
from ...frozen import frozen
from ..numerics import NumericalEffect
from ..stepwell_pass import StepwellPass
from .handles import Handle
from .made import Made
from .nest import Nests
from .refusal import Refusal, describe, refuse
from .subject import place_of


class Plan(Protocol):
    """
    What a step will do: everything decided, nothing changed yet.

    One with a true attribute `only_marks` says how loops run and leaves what they do: dependences stay. Where one with a
    true `keeps_accesses` adds to the function what touches no memory, and leaves the rest as it is, accesses stay, and run at other times.
    """

    def apply(self) -> Made[Handle]:
        """Rewrite the loops, and say what has been made. Does not fail."""
        ...


StepT = TypeVar("StepT", bound=Step)
Planner = Callable[[Any, Nests], Plan]

_PLANNERS: dict[type[Step], Planner] = {}


def planner(step_class: type[StepT]) -> Callable[[Callable[[StepT, Nests], Plan]], Planner]:
    """Decorator: the function that plans steps of a class, or raises why it is refused."""

    def register(function: Callable[[StepT, Nests], Plan]) -> Planner:
        _PLANNERS[step_class] = function
        return function

    return register


def planner_of(step_class: type[Step]) -> Planner:
    """The function that plans steps of a class."""
    if step_class not in _PLANNERS:
        import_module(f"..loop.{step_class.keyword}", __package__)
    return _PLANNERS[step_class]


def plan(step: Step, nests: Nests) -> Plan:
    """
    Decide what the step will do.

    Raises StepwellError when its parameters make no sense here, and Refusal (one of them) when it would
    change results. A refusal says where the loop or buffer stands that the step is about.
    """
    decide = planner_of(type(step))
    try:
        _check_tail(step)
        with nests.unchanged():
            return decide(step, nests)
    except Refusal as refusal:
        refusal.where = refusal.where or place_of(step, nests)
        raise


def apply(step: Step, nests: Nests) -> Made[Handle]:
    """Plan the step and carry it out; what it made. Raises as `plan` does, with the IR as it was."""
    planned = plan(step, nests)
    if getattr(planned, "only_marks", False):
        return planned.apply()  # what is known of the function stays true
    with nests.changing():
        made = planned.apply()
    nests.rewrites += 1
    keeps_accesses = getattr(planned, "keeps_accesses", False)
    for nest in nests.known():
        nest.invalidate(keeps_accesses=keeps_accesses)
        nest.identities.end_erased(lambda: describe(step))
    return made


def _check_tail(step: Step) -> None:
    tail = getattr(step, "tail", None)
    if tail is not None and tail not in TAILS:
        raise refuse(step, f"tail is '{tail}', expected one of {', '.join(TAILS)}")


class StepPass(StepwellPass):
    """A pass that applies one step, whose parameters are the pass's options."""

    step_class: ClassVar[type[Step]]
    level_in = Level.LOOP
    level_out = Level.LOOP

    def __post_init__(self) -> None:
        """Of numbers that are none of the step's the step says so itself, with the loop that it is for."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = [f.name for f in fields(self.step_class)]  # pyright: ignore[reportArgumentType]
        step = self.step_class(**{name: getattr(self, name) for name in names})
        apply(step, Nests(op))


def step_pass(step_class: type[Step], *, numerics: NumericalEffect = "exact") -> type[StepPass]:
    """
    The pass `loop-<keyword>` of a step.

    `numerics` is what the step does to floating-point results: it `reassociates` when it may change the
    order in which a reduction joins its values, where the operations' flags allow that.
    """
    hints = get_type_hints(step_class)
    options = step_class.__annotations__
    namespace: dict[str, Any] = {
        "__doc__": step_class.__doc__,
        "__module__": __name__,
        "__annotations__": {name: hints[name] for name in options},
        "name": "loop-" + step_class.keyword.replace("_", "-"),
        "step_class": step_class,
        "numerics": numerics,
    }
    namespace |= {
        name: step_class.__dict__[name] for name in options if name in step_class.__dict__
    }
    return frozen(type(f"Loop{step_class.__name__}Pass", (StepPass,), namespace))

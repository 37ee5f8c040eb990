"""
Schedules for kernels by rule: the plan that its family finds best for the target.

A family sees the kernel's facts and the target, and nothing else. Every step of a plan is proved legal; where one
is refused the next plan is tried, and a kernel for which none is left stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ..analysis.facts import LoopFacts, facts_of_loops
from ..analysis.levels import Level
from ..analysis.operations import operations_in
from ..dialects import loop
from ..dialects.leaf_operations import copy_of_region
from ..dialects.schedule import Step
from ..errors import StepwellError
from ..frozen import frozen
from ..targets.target import Target
from ..transforms.remarks import is_listening, remark
from ..transforms.stepwell_pass import StepwellPass
from .families import FAMILIES, Choice
from .session import Session
from .updates import write_updates_out

SHOWN = 3
"""
Plans that remarks and `Lowered.plan` show of each kernel: the chosen one and the runners-up, which are tried when a step
of it is refused. They are not looked for before one of both.
"""


@frozen
class ScheduleByRulesPass(StepwellPass):
    """
    Schedule the kernels of a module by rule, for a target.

    Before: `for i: for j: for k: C[i, j] += A[i, k] * B[k, j]`. After: blocked, packed, in vectors. Only
    functions that te → loop has made are scheduled (those that are private). Plans for one thread do without what
    several would wait for each other; their loops may still run on several.
    """

    name = "schedule-by-rules"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    target: str | Target = "host"
    zero_has_meaning = frozenset({"threads"})

    threads: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedule_kernels(op, planned_for(Target.of(self.target), self.threads))


def planned_for(target: Target, threads: int) -> Target:
    """What kernels of a program for so many threads are planned for, 0 being as many as there are: one core of it for one."""
    return target.alone if threads == 1 else target


def schedule_kernels(module: ModuleOp, target: Target) -> list[Step]:
    """Schedule the kernels of a module; all the steps that were taken."""
    steps: list[Step] = []
    for function in kernels(module):
        loop.name_apart(function, operations_in(function))
        session = schedule(module, function, target)
        steps += [] if session is None else session.steps
    return steps


def kernels(module: ModuleOp) -> list[func.FuncOp]:
    """
    The functions that rules schedule: those that te → loop has made, which are private, and others of loops
    of which none says yet how it runs.
    """
    functions = [f for f in module.ops if isinstance(f, func.FuncOp) and f.body.blocks]
    return [f for f in functions if f.sym_visibility is not None or _is_unscheduled(f)]


def _is_unscheduled(function: func.FuncOp) -> bool:
    loops = _loops_in(function)
    return bool(loops) and all(op.mode is None for op in loops)


def _is_scheduled(function: func.FuncOp) -> bool:
    """Whether the definition of what it computes says how loops run."""
    return any(op.mode is not None for op in _loops_in(function))


def _loops_in(function: func.FuncOp) -> list[loop.ForOp]:
    return [op for op in operations_in(function) if type(op) is loop.ForOp]


def schedule_with(
    module: ModuleOp,
    function: func.FuncOp,
    choice: Choice,
    target: Target,
    kernel: LoopFacts | None = None,
) -> Session | None:
    """
    Schedule one function by a plan; None, and a copy of the function's body in its place, when a step is refused.

    `kernel` are its facts, where they are known.
    """
    made = _tried(module, function, choice, target, kernel)
    if isinstance(made, Session):
        return made
    remark(function, f"{choice.family.name}: {made.message}", missed=True)
    return None


def _tried(
    module: ModuleOp,
    function: func.FuncOp,
    choice: Choice,
    target: Target,
    kernel: LoopFacts | None = None,
) -> Session | StepwellError:
    """Schedule one function by a plan, as of `schedule_with`: the session, or the refusal, of which nothing is remarked."""
    before = copy_of_region(function.body)
    session = Session(module, function)
    try:
        choice.family.schedule(session, choice, kernel or facts_of_loops(function), target)
        write_updates_out(session)
        if is_listening():  # what a plan decides takes a while to say
            remark(function, f"scheduled as {choice} in {len(session.steps)} steps")
        return session
    except StepwellError as error:
        function.detach_region(function.body)
        function.add_region(before)
        return error


def decisions(
    module: ModuleOp, function: func.FuncOp, target: Target, n: int
) -> list[tuple[Choice, str | None]]:
    """
    The plans that `schedule` tries for a kernel, cheapest first, each with the reason for which a step of it is refused, or with None: the
    first of these is taken, and is followed by others that are not tried, `n` plans in all unless more are refused. The function is scheduled
    by the one that is taken.
    """
    loop.name_apart(function, operations_in(function))
    refused: list[tuple[Choice, str | None]] = []
    for family in () if _is_scheduled(function) else FAMILIES:
        choices = family.propose(facts_of_loops(function).facts, target, max(n, SHOWN))
        for number, choice in enumerate(choices[:SHOWN]):
            made = _tried(module, function, choice, target)
            if isinstance(made, Session):
                others = max(n - len(refused), 1)
                return [*refused, *((each, None) for each in choices[number:][:others])]
            refused.append((choice, made.message))
    return refused


def schedule(module: ModuleOp, function: func.FuncOp, target: Target) -> Session | None:
    """Schedule one function by the first plan of which no step is refused; None when there is none."""
    if _is_scheduled(function):
        remark(function, "its definition says how its loops run")
        return None
    kernel = facts_of_loops(function)
    for family in FAMILIES:
        choices = family.propose(kernel.facts, target, SHOWN if is_listening() else 1)
        session = _by_plans(module, function, choices, target, kernel)
        if session is None and len(choices) == 1:
            others = family.propose(kernel.facts, target, SHOWN)[1:]
            session = _by_plans(module, function, others, target)
        if session is not None:
            return session
        if choices:  # what was refused has left a copy of the body
            kernel = facts_of_loops(function)
    session = _of_updates(module, function)
    if session is None:
        remark(function, "no rule has a schedule for it", missed=True)
    return session


def _of_updates(module: ModuleOp, function: func.FuncOp) -> Session | None:
    """Write out what updates computed places alone; None, and the function as it was, when there is none or a step is refused."""
    before, session = copy_of_region(function.body), Session(module, function)
    try:
        write_updates_out(session)
    except StepwellError as error:
        remark(function, f"updates: {error.message}", missed=True)
        function.detach_region(function.body)
        function.add_region(before)
        return None
    if not session.steps:
        return None
    remark(function, "wrote out a few steps of what updates computed places")
    return session


def _by_plans(
    module: ModuleOp,
    function: func.FuncOp,
    choices: Sequence[Choice],
    target: Target,
    kernel: LoopFacts | None = None,
) -> Session | None:
    """Schedule one function by the first plan of which no step is refused; `kernel` are its facts, where they are known."""
    for number, choice in enumerate(choices):
        known = None if number else kernel
        session = schedule_with(module, function, choice, target, known)
        if session is not None:
            for other in choices[number + 1 :] if is_listening() else ():
                remark(function, f"instead of {other}", missed=True)
            return session
    return None

"""
Schedules for kernels by rule: small functions from what the loops are and what the target is to steps.

A rule sees extents, strides and the target, and nothing else. Every step it takes is proved legal; where one
is refused the next rule is tried, and a kernel for which none is left stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir.affine import AffineDimExpr

from ..analysis.levels import Level
from ..dialects import loop
from ..dialects.schedule import Step
from ..errors import StepwellError
from ..targets.target import Target
from ..transforms.remarks import remark
from ..transforms.stepwell_pass import StepwellPass
from .contraction import recognise
from .contraction_schedule import schedule_contraction
from .facts import PerfectNest, moving_axes, top_nests
from .row_blocks import row_blocks
from .rows import rows
from .session import Session

Rule = Callable[[Session, Target], bool]
"""Schedules the session's function; False when the function is not what the rule is for."""


def contraction(session: Session, target: Target) -> bool:
    """One matrix product, with the nests that initialise and finish its result."""
    nests = list(top_nests(session.nest.function))
    found = [(n, c) for n, nest in enumerate(nests) if (c := recognise(nest, shared=True))]
    if len(found) != 1 or len(nests) > 3:
        return False
    position, update = found[0]
    if 1 in (update.rows.constant_trip_count(), update.columns.constant_trip_count()):
        return False  # a matrix by a vector reads each element once: what counts is its order
    before, after = nests[:position], nests[position + 1 :]
    if len(before) > 1 or len(after) > 1:
        return False
    init = before[0] if before else None
    if init is not None and not _is_like(init, update.store):
        return False
    finish = after[0] if after and _reads_as(after[0], update.store) else None
    schedule_contraction(session, target, update, init, finish)
    return True


def _is_like(nest: PerfectNest, store: loop.StoreOp) -> bool:
    """Whether the nest sets the stored buffer's elements, by loops in the order of its axes."""
    return (
        nest.is_flat
        and len(nest.stores) == 1
        and nest.stores[0].buffer is store.buffer
        and len(nest.loops) == len(moving_axes(store))
    )


def _reads_as(nest: PerfectNest, store: loop.StoreOp) -> bool:
    """Whether the nest reads the stored buffer's elements, by loops in the order of its axes."""
    loads = [load for load in nest.loads if load.buffer is store.buffer]
    return (
        nest.is_flat
        and len(nest.loops) == len(moving_axes(store))
        and bool(loads)
        and all(_goes_with(load, nest) for load in loads)
    )


def _goes_with(load: loop.LoadOp, nest: PerfectNest) -> bool:
    """Whether the subscripts that are no constants are the loops' variables, in their order."""
    results, operands = load.map.data.results, list(load.operands_)
    moving = [results[axis] for axis in moving_axes(load)]
    variables = [operands[e.position] for e in moving if isinstance(e, AffineDimExpr)]
    return len(moving) == len(variables) and variables == [f.induction_variable for f in nest.loops]


RULES: tuple[Rule, ...] = (contraction, row_blocks, rows)
"""In the order in which they are tried."""


@dataclass(frozen=True)
class ScheduleByRulesPass(StepwellPass):
    """
    Schedules the kernels of a module by rule, for a target.

    Before: `for i: for j: for k: C[i, j] += A[i, k] * B[k, j]`. After: blocked, packed, in vectors. Only
    functions that te → loop has made are scheduled (those that are private).
    """

    name = "schedule-by-rules"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    target: str | Target = "host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        schedule_kernels(op, Target.of(self.target))


def schedule_kernels(module: ModuleOp, target: Target) -> list[Step]:
    """Schedule the kernels of a module; all the steps that were taken."""
    steps: list[Step] = []
    for function in kernels(module):
        session = schedule(module, function, target)
        steps += [] if session is None else session.steps
    return steps


def kernels(module: ModuleOp) -> list[func.FuncOp]:
    """The functions that rules schedule: those that te → loop has made, which are private."""
    functions = [f for f in module.ops if isinstance(f, func.FuncOp) and f.body.blocks]
    return [f for f in functions if f.sym_visibility is not None]


def name_apart(function: func.FuncOp) -> None:
    """Give buffers different names: steps call them by these."""
    taken: set[str] = set()
    values = [*function.body.block.args, *(r for op in function.walk() for r in op.results)]
    for value in values:
        if not isinstance(value.type, MemRefType):
            continue
        hint = value.name_hint or "buffer"
        name, number = hint, 1
        while name in taken:
            number += 1
            name = f"{hint}{number}"
        taken.add(name)
        value.name_hint = name


def schedule(module: ModuleOp, function: func.FuncOp, target: Target) -> Session | None:
    """Schedule one function by the first rule that fits; None when none does."""
    name_apart(function)
    for rule in RULES:
        before = function.body.clone()
        session = Session(module, function)
        try:
            if rule(session, target):
                remark(
                    function, f"scheduled by rule '{rule.__name__}' in {len(session.steps)} steps"
                )
                return session
        except StepwellError as error:
            # Whatever it is: a rule must not stop a compilation.
            remark(function, f"rule '{rule.__name__}': {error.message}", missed=True)
        function.detach_region(function.body)
        function.add_region(before)
    remark(function, "no rule has a schedule for it", missed=True)
    return None

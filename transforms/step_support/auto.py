"""What the passes that choose steps by themselves share: bands of loops, trial, and what they note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from ...analysis.locality import Trips
from ...dialects import loop
from ...dialects.schedule import Step
from ..remarks import remark
from .nest import Nest, Nests
from .planning import apply
from .refusal import Refusal, describe
from .rewrite import body_ops
from .trip_count import TripCount

CHOSEN = "stepwell.chosen"
"""Function attribute: the steps that `loop-auto-…` passes have applied, each with the reason."""

UNKNOWN_TRIPS = 128
"""What a loop is taken to run when its bounds do not tell."""


def functions_with_loops(module: ModuleOp) -> Iterator[func.FuncOp]:
    """The functions of structured loops."""
    for op in module.ops:
        if (
            isinstance(op, func.FuncOp)
            and len(op.body.blocks) == 1
            and any(isinstance(inner, loop.ForOp) for inner in op.walk())
        ):
            yield op


def nest_of(function: func.FuncOp, nests: Nests) -> Nest:
    return nests.resolve(target(function, ""))[0]


def target(function: func.FuncOp, name: str) -> str:
    """What schedules call a loop of the function."""
    return f"{function.sym_name.data}/{name}"


def try_step(step: Step, nests: Nests, function: func.FuncOp, op: Operation, reason: str) -> bool:
    """Apply the step, which is about `op`, and note it with its reason, if it is legal; whether it is."""
    try:
        apply(step, nests)
    except Refusal as refusal:
        remark(op, f"not {call_of(step)}: {refusal.reason}", missed=True)
        return False
    text = f"{call_of(step)}: {reason}"
    remark(op, text)
    match function.attributes.get(CHOSEN):
        case ArrayAttr(data=before):
            pass
        case _:
            before = ()
    function.attributes[CHOSEN] = ArrayAttr([*before, StringAttr(text)])
    return True


def call_of(step: Step) -> str:
    """The step as a call, without quotes for the names in it."""
    return describe(step).replace('"', "")


def names_of(band: Sequence[loop.ForOp]) -> str:
    return ", ".join(f"'{for_op.loop_name.data}'" for for_op in band)


def bands(function: func.FuncOp) -> list[list[loop.ForOp]]:
    """The perfectly nested loops of the function, outermost first, each chain as long as it can be."""
    found: list[list[loop.ForOp]] = []
    seen: set[loop.ForOp] = set()
    for op in function.walk():
        if not isinstance(op, loop.ForOp) or op in seen:
            continue
        band = [op]
        while (inner := _only_loop(band[-1])) is not None:
            band.append(inner)
        seen.update(band)
        found.append(band)
    return found


def _only_loop(for_op: loop.ForOp) -> loop.ForOp | None:
    """The loop that is all of another's body, but for arithmetic."""
    inside = [op for op in body_ops(for_op) if not is_side_effect_free(op)]
    return inside[0] if len(inside) == 1 and isinstance(inside[0], loop.ForOp) else None


def trips_inside(nest: Nest, for_op: loop.ForOp) -> Trips:
    """How often the loop and those inside of it run: at most, where it varies."""
    loops = [op for op in for_op.walk() if isinstance(op, loop.ForOp)]
    return {op: _trips(nest, op) for op in loops}


def _trips(nest: Nest, for_op: loop.ForOp) -> int:
    greatest = TripCount(nest, for_op).range()[1]
    return UNKNOWN_TRIPS if greatest is None else greatest

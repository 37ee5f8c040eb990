"""Marks that say how loops run (`threads`, `vector`, `unroll`), and which may stand inside each other."""

from __future__ import annotations

from ...analysis.operations import operations_in
from ...dialects import loop
from ...dialects.loop import RunMode
from ...dialects.schedule import Step
from .nest import loops_around
from .refusal import refuse


def check_unmarked(step: Step, for_op: loop.ForOp) -> None:
    """Raise the refusal of `step` when the loop has a mark already."""
    if for_op.mode is not None:
        raise refuse(
            step,
            f"loop '{for_op.loop_name.data}' is marked '{for_op.mode.data.value}'",
            remedy="mark loops after all other steps",
        )


def check_marks_around(step: Step, for_op: loop.ForOp, refused: tuple[RunMode, ...]) -> None:
    """Raise the refusal of `step` when a loop around has one of the marks."""
    for around in loops_around(for_op):
        if around.mode is not None and around.mode.data in refused:
            raise refuse(
                step,
                f"it stands inside loop '{around.loop_name.data}', which is marked "
                f"'{around.mode.data.value}'",
                remedy="mark one of the two",
            )


def check_marks_inside(step: Step, for_op: loop.ForOp, refused: tuple[RunMode, ...]) -> None:
    """Raise the refusal of `step` when a loop inside has one of the marks."""
    for inner in operations_in(for_op):
        if type(inner) is loop.ForOp and inner.mode and inner.mode.data in refused:
            raise refuse(
                step,
                f"loop '{inner.loop_name.data}' inside of it is marked '{inner.mode.data.value}'",
                remedy="mark one of the two",
            )

"""apply-schedule: a script's steps one after the other, from the module itself or from a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...analysis.levels import Level
from ...analysis.verify import verify
from ...dialects.schedule import ScriptOp, Step, StepOp
from ...dialects.schedule.script_text import parse_script
from ...errors import StepwellError, location_of
from ...frozen import frozen
from ..step_support.nest import Nests
from ..step_support.planning import apply
from ..step_support.refusal import Refusal, describe
from ..stepwell_pass import StepwellPass


def embedded_scripts(module: ModuleOp) -> list[ScriptOp]:
    """The scripts at the top of a module, in order."""
    return [op for op in module.ops if isinstance(op, ScriptOp)]


def read_script(path: str) -> ModuleOp:
    """The scripts in a file. Raises StepwellError when it cannot be read or is not valid."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise StepwellError(
            f"cannot read the script: {error.strerror}; mend the path or its permissions",
            where=path,
        ) from error
    except UnicodeDecodeError as error:
        raise StepwellError(
            "found bytes that are not UTF-8, expected a script; name a text file", where=path
        ) from error
    module = parse_script(text, path)
    verify(module)
    return module


def apply_scripts(scripts: list[ScriptOp], nests: Nests) -> None:
    """
    Apply the steps of the scripts, in order.

    At the first that is refused, raises its Refusal (or the StepwellError for a step that makes no
    sense) with the step's number and place; the steps before it have been applied.
    """
    steps = list(_steps(scripts))
    for number, op in enumerate(steps, start=1):
        try:
            apply(op.step, nests)
        except StepwellError as error:
            raise numbered(error, op.step, number, len(steps), location_of(op)) from error


def _steps(scripts: list[ScriptOp]) -> Iterator[StepOp]:
    for script in scripts:
        for op in script.body.block.ops:
            assert isinstance(op, StepOp), "a script is verified to hold steps only"
            yield op


def numbered(
    error: StepwellError, step: Step, number: int, total: int, where: str | None
) -> StepwellError:
    """The error of one step of a script, placed there. A refusal names its step already."""
    if isinstance(error, Refusal):
        result = Refusal(f"step {number} of {total}: {error.message}", error.reason)
    else:
        place = f" ({error.where})" if error.where else ""
        message = f"{describe(step)}: {error.message}{place}"
        result = StepwellError(f"step {number} of {total}: {message}")
    result.where = where
    return result


@frozen
class ApplySchedulePass(StepwellPass):
    """
    Apply the schedule in the module, and take it out, or the one in a file.

    Before: `loop.for "i" …` and `schedule.script { schedule.split "f/i" factor = 4 }`. After:
    `loop.for "i.outer" … { loop.for "i.inner" … }`. With `file=s.mlir` the script is read from that file,
    and scripts in the module are left alone. When a step is refused the pass fails with one line that
    names the step's number and place.
    """

    name = "apply-schedule"
    level_in = Level.LOOP
    level_out = Level.LOOP
    numerics = "reassociates"

    file: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.file:
            apply_scripts(embedded_scripts(read_script(self.file)), Nests(op))
            return
        scripts = embedded_scripts(op)
        if not scripts:
            return
        apply_scripts(scripts, Nests(op))
        for script in scripts:
            script.detach()
            script.erase()

"""`Schedule`: a program's loops, rescheduled step by step, with a script of what was done."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ..analysis.dependence_text import DependenceList
from ..analysis.levels import Level
from ..analysis.verify import verify
from ..dialects.schedule import Named, ScriptOp, Step
from ..dialects.schedule.call_syntax import parse_call
from ..dialects.schedule.script_text import parse_script, script_text
from ..driver.options import Options
from ..errors import StepwellError
from ..spelling import did_you_mean, few_names
from ..transforms.loop.apply_schedule import numbered
from ..transforms.step_support.handles import (
    BufferHandle,
    Handle,
    LoopHandle,
    buffer_handle,
    loop_handle,
)
from ..transforms.step_support.made import HandleT, Made
from ..transforms.step_support.nest import Nest, Nests, Saved
from ..transforms.step_support.planning import apply, plan
from ..transforms.step_support.refusal import Refusal, describe
from .lowered import Lowered
from .outline import outline
from .schedule_steps import ScheduleSteps
from .text import parse_file, parse_text

if TYPE_CHECKING:
    from ..runtime.executable import Executable
    from ..targets.target import Target


class _Done(NamedTuple):
    """A step that was applied, and the module as it was before."""

    step: Step
    before: Saved


MadeT = TypeVar("MadeT", bound=Made[Any], covariant=True)


class Schedule(ScheduleSteps):
    """
    The loops of a program and the steps applied to them so far.

        s = sw.Schedule(low).split("main_0/i", 8, tail="peel").parallel("main_0/i.outer")
        print(s)              # the script; stepwell-opt -p "apply-schedule{file=…}" applies it
        print(s.outline())    # the loops as they are now

    There is a method for each step; one that is refused changes nothing. Each returns the schedule, for the
    next step, together with handles of what was made (`Applied`):

        outer, inner = s.split("i", 8)
        s.reorder(s.loop("j"), [inner, "j"])

    Parameters
    ----------
    program : Lowered, ModuleOp, str or path
        A program at the loop level, or above (then it is lowered there, and no rule schedules it; give
        `low.module("loop")` to go on from what the rules made). A string is the program's text, a path
        names a file. It is left as it is.
    function : str, optional
        The function that names without a function in them are about. Not needed when there is only one.
    script : str, optional
        A script (its text) to go through with `step`. Those in the module come first.

    Raises
    ------
    StepwellError
        When the program or the script is not valid, or the program stands below the loop level.
    """

    def __init__(
        self,
        program: Lowered | ModuleOp | str | os.PathLike[str],
        function: str | None = None,
        *,
        script: str = "",
    ):
        module = _module_of(program)
        self._options = program.options if isinstance(program, Lowered) else Options()
        if not isinstance(script, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StepwellError(
                f"found a {type(script).__name__} as the script, expected its text; read the file first"
            )
        scripts = [op for op in module.ops if isinstance(op, ScriptOp)]
        for op in scripts:
            op.detach()
        if script:
            given = parse_script(script)
            verify(given)
            scripts += [op for op in given.ops if isinstance(op, ScriptOp)]
        self._script = [step for op in scripts for step in op.steps]
        if not isinstance(program, Lowered):
            module = Lowered(module, options=self._options).unscheduled()
        self._nests = Nests(module)
        self._function = self._checked(function)
        self._done: list[_Done] = []
        self._undone: list[Step] = []

    # What there is.

    @property
    def module(self) -> ModuleOp:
        """The program as it is now: a copy."""
        return self._nests.module.clone()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps applied so far."""
        return tuple(done.step for done in self._done)

    @property
    def remaining(self) -> tuple[Step, ...]:
        """The steps that `step` would apply: those undone, then the rest of the script."""
        return (*reversed(self._undone), *self._script)

    def __str__(self) -> str:
        return script_text(self.steps).rstrip("\n")

    def __repr__(self) -> str:
        return f"<Schedule of {len(self._done)} steps, {len(self.remaining)} to come>"

    # Steps.

    def apply(self, step: Step | str) -> Applied[Made[Handle]]:
        """
        Apply one step, given as an object or as a call: `s.apply('split("f/i", factor=4)')`.

        What was undone before can no longer be redone. Raises StepwellError as the steps' methods do.
        """
        made = self._apply(self._qualified(step))
        self._undone.clear()
        return Applied(self, made)

    def step(self) -> Step | None:
        """
        Apply the next of the remaining steps, and return it; None when there is none left.

        Raises StepwellError with its number when it is refused; it remains the next one then.
        """
        source = self._undone or self._script
        if not source:
            return None
        position = -1 if source is self._undone else 0
        step = self._qualified(source[position])
        try:
            self._apply(step)
        except StepwellError as error:
            number, total = len(self._done) + 1, len(self._done) + len(self.remaining)
            raise numbered(error, step, number, total, None) from error
        return source.pop(position)

    def run(self) -> Schedule:
        """Apply all the remaining steps. Raises StepwellError at the first that is refused."""
        while self.step() is not None:
            pass
        return self

    def undo(self) -> Schedule:
        """Take the last step back. Raises StepwellError when there is none."""
        if not self._done:
            raise StepwellError("there is no step to undo; apply one first")
        step, before = self._done.pop()
        self._undone.append(step)
        self._nests.restore(before, "undo of " + describe(step))
        return self

    def redo(self) -> Schedule:
        """Apply the step that was undone last. Raises StepwellError when there is none."""
        if not self._undone:
            raise StepwellError("there is no step to redo; undo one first")
        self.step()
        return self

    def why_not(self, step: Step | str) -> str | None:
        """
        Why a step would be refused, in one line; None when it is legal. Nothing is changed.

        `step` is given as to `apply`. Raises StepwellError when it makes no sense (no such loop, say).
        """
        try:
            plan(self._qualified(step), self._nests)
        except Refusal as refusal:
            return str(refusal)
        return None

    def can(self, step: Step | str) -> bool:
        """Whether a step is legal; see `why_not`."""
        return self.why_not(step) is None

    # Loops and buffers.

    def loop(self, name: str) -> LoopHandle:
        """The loop called `name`, or `"function/name"`. Raises StepwellError when there is none."""
        nest, own = self._nests.resolve(self._with_function(name))
        return loop_handle(nest, nest.loop(own))

    def buffer(self, name: str) -> BufferHandle:
        """The buffer called `name` (without `%`), or `"function/name"`. Raises as `loop` does."""
        nest, own = self._nests.resolve(self._with_function(name))
        return buffer_handle(nest, nest.buffer(own))

    # Looking at it.

    def outline(self) -> str:
        """The loops, indented, with ranges, trip counts and kinds; the buffers; the statements."""
        return "\n\n".join(outline(nest) for nest in self._chosen())

    def dependences(self) -> DependenceList:
        """All dependences, one a line when printed, with the loops that carry them."""
        return DependenceList(
            dependence for nest in self._chosen() for dependence in nest.dependences.all
        )

    # Going on with it.

    def lowered(self, *, target: str | Target | None = None) -> Lowered:
        """The program as it is now, to lower further: for the target it was given for, or another."""
        options = self._options if target is None else replace(self._options, target=target)
        return Lowered(self.module, level=Level.LOOP, options=options)

    def compile(self, target: str | Target | None = None, threads: int | None = None) -> Executable:
        """The program as it is now, as a callable of its arrays; see `Lowered.compile`."""
        return self.lowered(target=target).compile(threads=threads)

    # How.

    def _apply(self, step: Step) -> Made[Handle]:
        before = self._nests.saved()
        try:
            made = apply(step, self._nests)
        except StepwellError:
            raise
        except Exception as error:
            # A fault in the step may have left anything.
            self._nests.restore(before, describe(step))
            error.add_note(f"in step {describe(step)}")
            raise
        self._done.append(_Done(step, before))
        return made

    def _qualified(self, step: Step | str) -> Step:
        """The step, or the one that a call names, with the function written out in what it is about."""
        if isinstance(step, str):
            step = parse_call(step)
        if not isinstance(step, Step):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StepwellError(
                f"found a {type(step).__name__}, expected a step as an object or as the text of a call; "
                "write it as in 'split(\"f/i\", factor=4)'"
            )
        if step.first_parameter() == "function":
            return step
        return step.with_target(self._with_function(step.target))

    def _with_function(self, name: str) -> str:
        """`"function/name"`, if the name has no function yet and it is clear which one is meant."""
        function = self._function or self._only_function()
        return name if "/" in name or function is None else f"{function}/{name}"

    def _functions(self) -> list[func.FuncOp]:
        module = self._nests.module
        return [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]

    def _only_function(self) -> str | None:
        functions = self._functions()
        return functions[0].sym_name.data if len(functions) == 1 else None

    def _checked(self, function: str | None) -> str | None:
        names = [op.sym_name.data for op in self._functions()]
        if function is not None and not isinstance(function, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise StepwellError(
                f"found a {type(function).__name__} as the function, expected its name; give a string"
            )
        if function is not None and function not in names:
            listed = few_names("it has", names, "its text shows them")
            raise StepwellError(
                f"found no function '{function}', expected one of the program's; "
                f"{did_you_mean(function, names, listed)}"
            )
        return function

    def _chosen(self) -> Sequence[Nest]:
        """The functions that `outline` and `dependences` are about."""
        chosen = self._function
        names = [op.sym_name.data for op in self._functions()]
        return [
            self._nests.resolve(f"{name}/")[0] for name in names if chosen is None or name == chosen
        ]


class Applied(Schedule, Named, Generic[MadeT]):
    """
    A schedule after a step, and what the step made.

    It is the schedule it came from under another name. It unpacks into the handles one goes on with;
    `made` has all that was made, by names. A step that made one thing may be given in its place.
    """

    made: MadeT

    def __init__(self, schedule: Schedule, made: MadeT):
        # What a schedule consists of is changed in place, so that both see it.
        vars(self).update(vars(schedule))
        self.made = made

    def __iter__(self: Applied[Made[HandleT]]) -> Iterator[HandleT]:
        return iter(self.made)

    @property
    def name(self) -> str:
        """The name of the one loop or buffer that was made. Raises StepwellError when it is none or several."""
        return self.made.name

    @property
    def target(self) -> str:
        """Its name with the function's."""
        return self.made.target


def _module_of(program: Lowered | ModuleOp | str | os.PathLike[str]) -> ModuleOp:
    """The program as IR of its own."""
    if isinstance(program, Lowered):
        return program.unscheduled()
    if isinstance(program, ModuleOp):
        module = program.clone()
    elif isinstance(program, str):
        module = parse_text(program)
    elif isinstance(program, os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        module = parse_file(program)
    else:
        raise StepwellError(
            f"found a {type(program).__name__} as the program, expected a Lowered, a module, its text or "
            "a path; for a traced function give what its .lower(…) returns"
        )
    verify(module)
    return module

"""Writing down a failing pass so that it can be run again: `stepwell-opt --reproducer FILE`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..driver.pass_manager import Instrumentation, module_text
from ..driver.pipeline_spec import pipeline_text
from ..errors import StepwellError
from ..spelling import one_line


class Reproducer(Instrumentation):
    """Keeps the IR before each pass, and writes it with the command that fails when the pass fails."""

    def __init__(
        self, path: str, ctx: Context, passes: Sequence[ModulePass], options: Sequence[str]
    ):
        self._path = path
        self._ctx = ctx
        self._passes = tuple(passes)
        self._options = options
        self._started = 0
        self._text = ""

    def before_pipeline(self, module: ModuleOp) -> None:
        self._started = 0

    def before_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        self._started += 1
        self._text = module_text(module, self._ctx)

    def after_failure(self, pass_: ModulePass, error: Exception) -> None:
        # The passes after the failing one may matter to the reader; they do not matter to the failure.
        command = shlex.join(
            ["stepwell-opt", self._path, "-p", pipeline_text((pass_,)), *self._options]
        )
        rest = pipeline_text(self._passes[self._started :]) or "nothing"
        header = f"// {command}\n// fails: {one_line(str(error))}\n// After it came: {rest}\n"
        try:
            Path(self._path).write_text(f"{header}{self._text}\n", encoding="utf-8")
        except OSError as problem:
            raise StepwellError(
                f"{error}; and cannot write the reproducer '{self._path}': {problem.strerror}"
            ) from error

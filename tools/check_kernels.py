"""Running the IR and each of its kernels before and after each pass, in bounded time: `--check-kernels`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.levels import Level, level_of
from ..analysis.verify import verify
from ..dialects import te
from ..driver.pass_manager import apply_pass, module_text
from ..errors import StepwellError
from ..universe import make_context
from .check_each import Array, CheckEach, Checked
from .execute import execute, execute_apart
from .kernel_programs import kernel_programs, points

MOST_INTERPRETED = 5_000
"""Points of computes up to which loops are interpreted: a fraction of a second for each pass."""

MOST_CONFIRMED = 20_000_000
"""Points up to which a difference of compiled code is looked for again by interpreting: a quarter of an hour."""

SLACK = 10.0
"""Times the tolerance for programs of a few operations: 1e-4 of a result's scale, as beside other runtimes."""


class CheckKernels(CheckEach):
    """
    As `CheckEach`, for programs whose loops would take hours to interpret, like models.

    From `te-fuse` on each pass is also run over each distinct kernel as a program by itself, on what the program gives
    that kernel. Loops of more than MOST_INTERPRETED points are compiled instead of interpreted: by the default passes
    below, without schedules, and LLVM's quick tier, in a process of its own. Where a compiled result differs, the
    kernel is interpreted to say whether this pass is wrong or one below; if it is one below, the kernel is interpreted
    from there on. What was checked how is written to `stream` at the end.
    """

    def __init__(
        self,
        seed: int = 0,
        slack: float = SLACK,
        inputs: Mapping[str, Sequence[Array]] | None = None,
        stream: TextIO | None = None,
    ):
        super().__init__(seed, slack, inputs)
        self._stream = stream or sys.stderr
        self._ctx = make_context()
        self._kernels: list[Checked] = []
        self._left_out: list[str] = []
        self._points: dict[Checked, int] = {}
        self._texts: dict[Checked, str] = {}
        """What was run last: a pass that changes nothing needs no run."""
        self._differing: dict[Checked, str] = {}
        """Of what is interpreted because compiled it differs: the message."""
        self._ways: Counter[tuple[bool, str]] = Counter()

    def after_verified_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        for kernel in self._kernels:
            apply_pass(pass_, self._ctx, kernel.module)
            verify(kernel.module)
            self.check(pass_, kernel)
        super().after_verified_pass(pass_, module)
        if not self._points and any(isinstance(op, te.KernelOp) for op in module.walk()):
            for one in self._functions:
                self._take_apart(one)

    def after_pipeline(self, module: ModuleOp) -> None:
        if self._differing:
            raise StepwellError(
                f"{next(iter(self._differing.values()))}; interpreted it does not: mend what compiles it"
            )
        for is_kernel in (False, True):
            self._say(self._kernels if is_kernel else self._functions, is_kernel)

    def check(self, pass_: ModulePass, one: Checked) -> None:
        text = module_text(one.module)
        if text == self._texts.get(one):
            return
        self._texts[one] = text
        if self._is_compiled(one):
            self._ways[one in self._kernels, "compiled"] += 1
            outputs = self.run(one, f"the IR after pass '{pass_.name}'")
            difference = self.difference(pass_, one, outputs)
            if difference is None:
                one.outputs = outputs
                return
            message = (
                f"pass '{pass_.name}' changes a result of '{one.name}' as compiled: {difference}"
            )
            if self._points[one] > MOST_CONFIRMED:
                raise StepwellError(f"{message}; mend the pass, or one below it that compiled it")
            print(f"{message}; it is interpreted to find the wrong pass", file=self._stream)
            self._differing[one] = message
        self._ways[one in self._kernels, "interpreted"] += 1
        super().check(pass_, one)

    def execute(self, one: Checked, inputs: Sequence[Array]) -> list[Array]:
        run = execute_apart if self._is_compiled(one) else execute
        return run(one.module, inputs, one.name)

    def _is_compiled(self, one: Checked) -> bool:
        level = level_of(one.module)
        if level is Level.LLVM:
            return one not in self._differing
        is_long = self._points.get(one, 0) > MOST_INTERPRETED
        return level in (Level.LOOP, Level.CORE) and is_long and one not in self._differing

    def _take_apart(self, one: Checked) -> None:
        """Add the kernels of a function, which stands at te."""
        self._points[one] = points(one.module)
        for program in kernel_programs(one.module, one.name, one.inputs, self._seed):
            kernel = Checked(program.name, program.module, program.inputs)
            try:
                kernel.outputs = self.run(kernel, "the kernel by itself")
            except StepwellError:
                self._left_out.append(kernel.name)  # for random inputs that it is never given
                continue
            self._points[kernel] = points(kernel.module)
            self._kernels.append(kernel)

    def _say(self, checked: Sequence[Checked], is_kernel: bool) -> None:
        if not checked:
            return
        what = f"{len(checked)} kernels by themselves" if is_kernel else "the program"
        left = f", {len(self._left_out)} left out" if is_kernel and self._left_out else ""
        ways = " and ".join(
            f"{count} times {way}"
            for (kernel, way), count in self._ways.items()
            if kernel is is_kernel
        )
        share = max(one.largest for one in checked)
        print(
            f"--check-kernels: {what}{left}: {ways}; largest difference {share:.2g} of the tolerance",
            file=self._stream,
        )

"""Running the IR and each of its kernels before and after each pass, in bounded time: `--check-kernels`."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TextIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..analysis.levels import Level, level_of
from ..analysis.verify import verify
from ..dialects import te
from ..driver.pass_manager import apply_pass, module_text
from ..errors import StepwellError
from ..universe import make_context
from .check_each import Array, CheckEach, Checked, Executor
from .differences import Difference
from .execute import execute, execute_apart
from .kernel_programs import kernel_programs, points

MOST_INTERPRETED = 5_000
"""Points of computes up to which loops are interpreted: a fraction of a second for each pass."""

MOST_CONFIRMED = 20_000_000
"""Points up to which a difference of compiled code is looked for again by interpreting: a quarter of an hour."""

SLACK = 10.0
"""Times the tolerance for programs of a few operations: 1e-4 of a result's scale, as beside other runtimes."""


class _Kernel(Checked):
    """A kernel of the program, in a module by itself."""


class CheckKernels(CheckEach):
    """
    As `CheckEach`, for programs whose loops would take hours to interpret, like models.

    From `te-fuse` on each pass is also run over each distinct kernel as a program by itself, on what the program gives
    that kernel. Loops of more than MOST_INTERPRETED points are not interpreted after each pass. They are compiled after
    the last one: by the default passes below, without schedules, and LLVM's quick tier, in a process of its own. Where
    that differs, what each pass left is compiled in turn, and interpreted from the first that differs on: the wrong pass
    may be that one, or one below that compiled it. Where a pass changes nothing, nothing is run. What was checked how
    is written to `stream` at the end.
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
        self._is_apart = False
        self._kernels: list[_Kernel] = []
        self._left_out: list[str] = []
        self._texts: dict[Checked, str] = {}
        """What was run last: a pass that changes nothing needs no run."""
        self._left_by: defaultdict[Checked, list[tuple[ModulePass, Checked]]] = defaultdict(list)
        """What passes have made of long loops, in order: to be compiled at the end."""
        self._ways: Counter[tuple[bool, str]] = Counter()

    def after_verified_pass(self, pass_: ModulePass, module: ModuleOp) -> None:
        for kernel in self._kernels:
            apply_pass(pass_, self._ctx, kernel.module)
            verify(kernel.module)
            self.check(pass_, kernel)
        super().after_verified_pass(pass_, module)
        if not self._is_apart and any(isinstance(op, te.KernelOp) for op in module.walk()):
            self._is_apart = True
            for one in self._functions:
                self._take_apart(one)

    def after_pipeline(self, module: ModuleOp) -> None:
        for one in (*self._kernels, *self._functions):
            if self._left_by[one]:
                self._compile(self._left_by[one])
        self._say("the program", self._functions)
        left = f", without {', '.join(self._left_out)}" if self._left_out else ""
        self._say(f"{len(self._kernels)} kernels by themselves{left}", self._kernels)

    def run(self, one: Checked, what: str, executor: Executor = execute) -> Sequence[Array]:
        if level_of(one.module) is Level.LLVM:
            executor = execute_apart
        way = "compiled" if executor is execute_apart else "interpreted"
        self._ways[isinstance(one, _Kernel), way] += 1
        return super().run(one, what, executor)

    def check(self, pass_: ModulePass, one: Checked) -> None:
        text = module_text(one.module)
        if text == self._texts.get(one):
            return
        self._texts[one] = text
        if one.points > MOST_INTERPRETED and level_of(one.module) not in (Level.GRAPH, Level.TE):
            self._left_by[one].append((pass_, replace(one, module=one.module.clone())))
        else:
            super().check(pass_, one)

    def _compile(self, left_by: Sequence[tuple[ModulePass, Checked]]) -> None:
        """Compile what the last pass has left, and look for the wrong pass where that differs."""
        if self._compiled_difference(*left_by[-1]) is None:
            return
        pass_, one, difference, left = next(
            (pass_, one, difference, left_by[number:])
            for number, (pass_, one) in enumerate(left_by)
            if (difference := self._compiled_difference(pass_, one))
        )
        message = f"pass '{pass_.name}' changes a result of '{one.name}' as compiled: {difference}"
        if one.points > MOST_CONFIRMED:
            raise StepwellError(f"{message}; mend the pass, or one below it that compiled it")
        print(f"{message}; it is interpreted to find the wrong pass", file=self._stream)
        for pass_, one in left:
            super().check(pass_, one)
        raise StepwellError(f"{message}; interpreted it does not: mend what compiles it")

    def _compiled_difference(self, pass_: ModulePass, one: Checked) -> Difference | None:
        return self.run_after(pass_, one, execute_apart)[1]

    def _take_apart(self, one: Checked) -> None:
        """Add the kernels of a function, which stands at te."""
        one.points = points(one.module)
        for program in kernel_programs(one.module, one.name, one.inputs, self._seed):
            kernel = _Kernel(
                program.name, program.module, program.inputs, points=points(program.module)
            )
            try:
                kernel.outputs = self.run(kernel, "the kernel by itself")
            except StepwellError:
                self._left_out.append(kernel.name)  # for random inputs that it is never given
                continue
            self._kernels.append(kernel)

    def _say(self, what: str, checked: Sequence[Checked]) -> None:
        is_kernel = bool(checked) and isinstance(checked[0], _Kernel)
        ways = " and ".join(
            f"{count} times {way}" for (one, way), count in self._ways.items() if one is is_kernel
        )
        runs = [*checked, *(run for one in checked for _, run in self._left_by[one])]
        share = max((one.largest for one in runs), default=0.0)
        print(
            f"--check-kernels: {what}: {ways}; largest difference {share:.2g} of the tolerance",
            file=self._stream,
        )

#!/usr/bin/env python3
"""
Random programs against NumPy: `make fuzz`.

    tests/fuzz.py --programs 2000 --seed 0 --jobs 2
    tests/fuzz.py --seed 0 --only 137        # one program of that campaign again
    tests/fuzz.py --views --quick            # programs that mostly move elements, compiled without schedules

Every program is evaluated by NumPy, operation by operation, then interpreted at graph, te, loop and core,
compiled and called; the text of each level is printed, parsed and printed again. The first failure is
made small and written to build/fuzz/, with its inputs. Exit status 1 if there was one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from differential.agreement import FULL, LEVELS, QUICK, Disagreement, check_agreement
from differential.minimize import minimize
from differential.random_programs import VIEWS, Program, program_of_seed
from differential.workers import Lost, outcome_apart, outcomes
from stepwell.analysis.levels import Level
from stepwell.dialects.graph.base import OPERATIONS
from stepwell.driver.pass_manager import module_text
from stepwell.frontend.text import make_context

FOLDER = Path(__file__).resolve().parent.parent / "build" / "fuzz"
SHOWN = 20
"""Failures of one campaign that are printed."""


@dataclass(frozen=True)
class Setting:
    """What programs of a campaign are made of, and how they are checked."""

    levels: Collection[Level] = LEVELS
    views: bool = False
    quick: bool = False

    def program(self, seed: int, index: int) -> Program:
        return program_of_seed(seed, index, VIEWS if self.views else OPERATIONS)

    @property
    def words(self) -> str:
        """The options that choose this setting on the command line, levels excepted."""
        return " --views" * self.views + " --quick" * self.quick


DEFAULT = Setting()


def failure_of(program: Program, setting: Setting = DEFAULT) -> str | None:
    """What is wrong with what a program is made to, in this process."""
    try:
        check_agreement(
            program.module,
            program.inputs,
            program.expected(),
            levels=setting.levels,
            options=QUICK if setting.quick else FULL,
            by_element=program.size.by_element,
        )
    except Disagreement as error:
        return str(error)
    return None


@dataclass
class Report:
    """How a campaign went."""

    programs: int = 0
    operations: Counter[str] = field(default_factory=Counter[str])
    failures: dict[int, str] = field(default_factory=dict[int, str])
    seconds: float = 0.0

    def add(self, index: int, failure: str | None, names: Sequence[str]) -> None:
        """Count a program; print what is wrong with it."""
        self.programs += 1
        self.operations.update(names)
        if failure is None:
            return
        self.failures[index] = failure
        if len(self.failures) <= SHOWN:
            print(f"program {index}: {failure}", flush=True)


def campaign(
    seed: int, indices: Sequence[int], *, jobs: int = 1, setting: Setting = DEFAULT
) -> Report:
    """Check these programs of a seed, in `jobs` processes."""
    start = time.monotonic()
    report = Report()

    def check(index: int) -> tuple[str | None, list[str]]:
        program = setting.program(seed, index)
        names = [op.name for op in program.operations()]
        return failure_of(program, setting), names

    for index, outcome in outcomes(check, indices, jobs):
        failure, names = (outcome.how, []) if isinstance(outcome, Lost) else outcome
        report.add(index, failure, names)
    report.seconds = time.monotonic() - start
    return report


# One failure.


def failure_apart(program: Program, setting: Setting) -> str | None:
    """`failure_of` in a process of its own, which may crash or hang."""
    outcome = outcome_apart(lambda: failure_of(program, setting))
    return outcome.how if isinstance(outcome, Lost) else outcome


def minimized(program: Program, failure: str, setting: Setting) -> tuple[Program, str]:
    """A small program with a failure of the same kind (at the same level), and its failure."""
    kind = failure.split(":")[0]
    last = [failure]

    def still_fails(candidate: Program) -> bool:
        found = failure_apart(candidate, setting)
        if found is None or found.split(":")[0] != kind:
            return False
        last[0] = found
        return True

    return minimize(program, still_fails), last[0]


def save(program: Program, folder: Path) -> str:
    """Write the program and its inputs; the command that runs it."""
    folder.mkdir(parents=True, exist_ok=True)
    ctx = make_context()
    ctx.get_dialect("builtin")
    (folder / "program.mlir").write_text(module_text(program.module, ctx) + "\n")
    options: list[str] = []
    for arg, array in zip(program.function.body.block.args, program.inputs, strict=True):
        name = arg.name_hint or f"arg{arg.index}"
        np.save(folder / f"{name}.npy", array)
        options.append(f"--input {name}={os.path.relpath(folder / f'{name}.npy')}")
    path = os.path.relpath(folder / "program.mlir")
    return " ".join(["stepwell run", path, *options, "--check"])


def explain(seed: int, index: int, failure: str, setting: Setting) -> None:
    """Print the failing program made small, and how to see it again."""
    program, failure = minimized(setting.program(seed, index), failure, setting)
    command = save(program, FOLDER / f"{seed}-{index}")
    print(f"\nprogram {index} of seed {seed}, made small:\n{program.module!s}")
    for arg, array in zip(program.function.body.block.args, program.inputs, strict=True):
        text = np.array2string(array, threshold=40, separator=", ").replace("\n", "\n    ")
        print(f"%{arg.name_hint} = {text}")
    print(
        f"{failure}\n\nagain:  {Path(__file__).name}{setting.words} --seed {seed} --only {index}"
        f"\nrun:    {command}"
    )


def coverage(report: Report, columns: int = 4) -> str:
    """How often each operator was in a program, as a table."""
    cells = [
        f"{op.name.removeprefix('graph.'):<14}{report.operations[op.name]:>6}"
        for op in sorted(OPERATIONS, key=lambda op: op.name)
    ]
    rows = -(-len(cells) // columns)
    return "\n".join("   ".join(cells[row::rows]) for row in range(rows))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Random programs against NumPy, at every level.")
    parser.add_argument("--programs", type=int, default=2000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first program's number")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--levels", default=",".join(LEVELS), help="of graph,te,loop,core,llvm")
    parser.add_argument("--only", type=int, metavar="INDEX", help="check one program and show it")
    parser.add_argument("--views", action="store_true", help="programs that mostly move elements")
    parser.add_argument("--quick", action="store_true", help="compile without schedules")
    args = parser.parse_args(arguments)
    if args.programs < 1:
        parser.error(
            f"found --programs {args.programs}, expected 1 or more: none would find no mistake"
        )
    levels = tuple(Level(name) for name in args.levels.split(","))
    setting = Setting(levels, args.views, args.quick)
    indices = range(args.start, args.start + args.programs)
    if args.only is not None:
        indices = range(args.only, args.only + 1)
        print(setting.program(args.seed, args.only).module)
    print(
        f"seed {args.seed}, programs {indices.start} to {indices.stop - 1}, {args.jobs} processes"
    )
    report = campaign(args.seed, indices, jobs=args.jobs, setting=setting)
    total = sum(report.operations.values())
    print(f"\n{coverage(report)}\n")
    print(
        f"seed {args.seed}: {report.programs} programs, {total} operations, "
        f"{len(report.failures)} failures, {report.seconds:.1f} s"
    )
    if not report.failures:
        return 0
    index = min(report.failures)
    explain(args.seed, index, report.failures[index], setting)
    return 1


if __name__ == "__main__":
    sys.exit(main())

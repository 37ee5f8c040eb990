"""
Where the CPU time goes from a Python function to a callable, over the kernels of the suite.

    python benchmarks/compile_time.py ['gemm-*' mlp …] [--rounds N] [--quick]
    python benchmarks/compile_time.py --against ../other/.venv/bin/python

Prints milliseconds by phase, outside LLVM and inside, for each program the least of several rounds. With
`--against` another checkout compiles the same programs by turns with this one, and the table shows this one's
time as a part of the other's. A program is compiled as in a new process that has imported everything: what is
remembered from one compilation to the next does not help.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from stepwell.spelling import did_you_mean

WORKER = Path(__file__).with_name("compile_worker.py")
LLVM = "llvm: "

Phases = dict[str, float]


class Worker:
    """A process that compiles programs in the checkout of an interpreter."""

    def __init__(self, python: str, quick: bool) -> None:
        command = [python, str(WORKER), *(["--quick"] if quick else [])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line: str) -> object:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(
                f"error: {WORKER.name} ended while asked for '{line}'; see what it printed"
            )
        return json.loads(answer)

    def names(self, patterns: Sequence[str]) -> list[str]:
        """The programs that some patterns name; ends with an error where one names none."""
        found: list[str] = []
        for pattern in patterns:
            named = self.ask(f"?{pattern}")
            if not isinstance(named, list) or not named:
                known = did_you_mean(pattern, self.names(["*"]), "'*' takes all there are")
                raise SystemExit(
                    f"error: found no program called '{pattern}', expected one; {known}"
                )
            found += [name for name in named if name not in found]
        return found

    def phases(self, name: str) -> Phases:
        answer = self.ask(name)
        if not isinstance(answer, dict) or "error" in answer:
            raise SystemExit(f"error: '{name}' could not be compiled; see what its process printed")
        return answer


def parts(phases: Phases) -> tuple[float, float]:
    """Seconds outside LLVM and inside."""
    inside = sum(seconds for phase, seconds in phases.items() if phase.startswith(LLVM))
    return sum(phases.values()) - inside, inside


def table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
    return "\n".join(aligned)


def by_phase(measured: Sequence[Phases]) -> str:
    """All programs' time by phase, the largest first."""
    total = sum((Counter(phases) for phases in measured), Counter[str]())
    whole = sum(total.values())
    rows = [["phase", "ms", "%"]]
    rows += [[name, f"{s * 1e3:.1f}", f"{100 * s / whole:.1f}"] for name, s in total.most_common()]
    return table(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument(
        "programs", nargs="*", default=["*"], help="names or patterns (default: all)"
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="of which the best counts (default: 3)"
    )
    parser.add_argument("--against", metavar="PYTHON", help="the interpreter of another checkout")
    parser.add_argument("--quick", action="store_true", help='with opt="quick"')
    args = parser.parse_args()
    if args.rounds < 1:
        parser.error(f"found --rounds {args.rounds}, expected at least 1")
    if args.against and shutil.which(args.against) is None:
        parser.error(f"found --against '{args.against}', expected the Python of another checkout")

    workers = [Worker(sys.executable, args.quick)]
    if args.against:
        workers.append(Worker(args.against, args.quick))
    names = workers[0].names(args.programs)
    best: list[list[Phases]] = []
    rows = [["program", "outside", "LLVM", "total"]]
    if args.against:
        rows[0] += ["outside", "LLVM", "total", "outside, ratio", "total, ratio"]
    ratios: list[tuple[float, float]] = []
    for name in names:
        rounds = [[worker.phases(name) for worker in workers] for _ in range(args.rounds)]
        best.append(
            [min(runs, key=lambda run: sum(run.values())) for runs in zip(*rounds, strict=True)]
        )
        row = [name]
        for phases in best[-1]:
            outside, inside = parts(phases)
            row += [f"{seconds * 1e3:.0f}" for seconds in (outside, inside, outside + inside)]
        if args.against:
            (ours, within), (theirs, their_llvm) = map(parts, best[-1])
            ratios.append((ours / theirs, (ours + within) / (theirs + their_llvm)))
            row += [f"{ratio:.3f}" for ratio in ratios[-1]]
        rows.append(row)
        print(*row, flush=True, file=sys.stderr)
    print(table(rows), "\n")
    print(by_phase([runs[0] for runs in best]))
    medians = [statistics.median(sum(parts(runs[0])[:n]) for runs in best) * 1e3 for n in (1, 2)]
    print(f"\nmedian: {medians[0]:.0f} ms outside LLVM, {medians[1]:.0f} ms in all")
    if ratios:
        outside, total = (statistics.median(column) for column in zip(*ratios, strict=True))
        print(f"median ratio: {outside:.3f} outside LLVM, {total:.3f} in all")


if __name__ == "__main__":
    main()

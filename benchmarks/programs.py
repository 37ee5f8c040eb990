"""
The programs of examples/programs beside NumPy, JAX, Numba and PyTorch, on one thread.

    python benchmarks/programs.py [WORD ...] [--rounds N] [--against numpy,jax,numba,torch]
                                  [--json build/programs.json [--missing]] [--page docs/programs.md]

With words, the programs whose names contain one of them. Each library runs in a process of its own; the processes take
turns, and of each the median of its turns counts. JAX and Stepwell are given the function to compile, Numba explicit
loops, PyTorch runs eagerly, and the libraries that a program has no form for, or that are not installed, are left out.
What is measured counts from the second call on, so compile time does not. Prints milliseconds, and how many times as
long the fastest of the others takes as Stepwell. `--json` adds the times to those that the file has, with `--missing`
only of programs that it has none of, and `--page` writes the page of all that are in it. Pin it to one core (`taskset
-c 1`) where others use the machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

from corpus import PEERS, Program, differences, environment, programs
from programs_page import page

SECONDS_A_TURN = 0.03
LEAST_CALLS = 3
SLOW = 0.3
"""Seconds of a call after which a turn is one call."""

Times = dict[str, float]


# One library, in a process of its own.


def work(library: str) -> None:
    """For each name that is read, prepare its program; for each empty line, answer with the milliseconds of a turn."""
    warnings.simplefilter("ignore")
    known = programs()
    call: Any = None
    for line in sys.stdin:
        if line.strip():
            call, answer = _prepared(library, known[line.strip()])
            print(answer, flush=True)
        else:
            print(_turn(call), flush=True)


def _prepared(library: str, program: Program) -> tuple[Any, str]:
    """What is timed, after a call whose result is compared, and "ready", or why there is nothing to time."""
    inputs = program.inputs()
    try:
        call = program.call(library, inputs)
        found = call and call()
    except Exception as error:  # of any library, for a program that it cannot run as it is
        return None, f"failed: {str(error).strip().splitlines()[0] if str(error) else error!r}"
    if call is None:
        return None, "none"
    for line in differences(program, found, program.expected(inputs)):
        return None, f"failed: {line}"
    return call, "ready"


def _turn(call: Any) -> float:
    times: list[float] = []
    while sum(times) < SECONDS_A_TURN or (len(times) < LEAST_CALLS and max(times) < SLOW):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times) * 1e3


# All of them.


class Worker:
    """The process of a library."""

    def __init__(self, library: str):
        self.library = library
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def ask(self, line: str) -> str:
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        print(line, file=process.stdin, flush=True)
        answer = process.stdout.readline().strip()
        if not answer:
            raise SystemExit(f"error: the process of {self.library} ended at '{line}'; see above")
        return answer

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def measured(name: str, workers: list[Worker], rounds: int) -> Times:
    """Milliseconds of a program by library, the median of so many turns."""
    ready: list[Worker] = []
    for worker in workers:
        answer = worker.ask(name)
        if answer == "ready":
            ready.append(worker)
        elif worker.library == "stepwell":
            print(f"{name}: {answer}", file=sys.stderr)
    times: dict[str, list[float]] = {worker.library: [] for worker in ready}
    for _ in range(rounds):
        for worker in ready:
            times[worker.library].append(float(worker.ask("")))
    return {library: round(median(found), 4) for library, found in times.items()}


def ahead(times: Times) -> float | None:
    """How many times as long the fastest of the others takes."""
    others = [time for library, time in times.items() if library != "stepwell"]
    return min(others) / times["stepwell"] if others and "stepwell" in times else None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of names of programs (all)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each library (5)")
    parser.add_argument("--against", default=",".join(PEERS), help="the other libraries")
    parser.add_argument("--json", type=Path, help="a file that the times are added to")
    parser.add_argument("--missing", action="store_true", help="only programs not in --json yet")
    parser.add_argument("--page", type=Path, help="where to write the page of what --json has")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work)
        return 0
    wanted = ["stepwell", *filter(None, arguments.against.split(","))]
    if unknown := set(wanted) - {"stepwell", *PEERS}:
        parser.error(f"found '{min(unknown)}', expected libraries of {', '.join(PEERS)}")
    if arguments.rounds < 1:
        parser.error(f"found --rounds {arguments.rounds}, expected at least 1; give more")
    if arguments.page and not arguments.json:
        parser.error("found --page without --json, expected both; say where the times are")
    known = programs()
    names = [name for name in known if any(word in name for word in arguments.words or [""])]
    if not names:
        parser.error(f"found no program named like {' or '.join(arguments.words)}; see {__file__}")
    rows: dict[str, Times] = {}
    if arguments.json and arguments.json.exists():
        rows = json.loads(arguments.json.read_text())
    if arguments.missing:
        names = [name for name in names if name not in rows]
    for name, times in _compared(names, wanted, arguments.rounds):
        rows[name] = times
        if arguments.json:
            arguments.json.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")
    if arguments.page:
        arguments.page.write_text(page(known, {name: rows[name] for name in known if name in rows}))
    return 0


def _compared(names: list[str], wanted: list[str], rounds: int) -> Iterator[tuple[str, Times]]:
    """Measure the programs, print a row for each, and give its times."""
    if not names:
        return
    workers = [Worker(library) for library in wanted if find_spec(library) is not None]
    head = "".join(f"{worker.library:>11}" for worker in workers)
    print(f"{'milliseconds':<34}{head}{'ahead':>9}")
    factors: list[float] = []
    for name in names:
        times = measured(name, workers, rounds)
        cells = [times.get(worker.library) for worker in workers]
        text = "".join(f"{'' if time is None else f'{time:.4f}':>11}" for time in cells)
        factor = ahead(times)
        print(f"{name:<34}{text}" + (f"{factor:>8.2f}×" if factor else ""), flush=True)
        factors += [factor] if factor else []
        yield name, times
    for worker in workers:
        worker.end()
    if factors:
        slow = sum(factor < 0.7 for factor in factors)
        print(f"geometric mean {geometric_mean(factors):.2f}×, {slow} of {len(factors)} below 0.7×")


if __name__ == "__main__":
    raise SystemExit(main())

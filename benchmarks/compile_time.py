"""Where compile time goes, by pass: the digits network from Python function to callable.

    python benchmarks/compile_time.py [--repeat N]

The first compilation of a process also pays for imports and for LLVM's start; the table is of the
median of the `--repeat` compilations that follow it.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import stepwell as sw

DIGITS = Path(__file__).parents[1] / "examples" / "digits"
BATCH = 199

Steps = list[tuple[str, float]]


def digits_network() -> tuple[Callable, tuple]:
    """The function to compile, and its arguments."""
    sys.path.insert(0, str(DIGITS))
    from data import load_digits
    from model import classifier, load_weights

    return classifier(load_weights()), (load_digits().x_test[:BATCH],)


def compilation(function: Callable, arguments: tuple) -> tuple[float, Steps]:
    """The seconds from function to callable, and those of each step."""
    start = time.perf_counter()
    lowered = sw.jit(function).lower(*arguments)
    lowered.compile()
    return time.perf_counter() - start, lowered.timings


def median_steps(runs: list[Steps]) -> Steps:
    """Each step's median; a pass that runs twice stays two steps."""
    return [
        (steps[0][0], statistics.median(seconds for _, seconds in steps))
        for steps in zip(*runs, strict=True)
    ]


def print_table(total: float, steps: Steps) -> None:
    rest = total - sum(seconds for _, seconds in steps)
    width = max(len(name) for name, _ in steps)
    for name, seconds in [*steps, ("(between)", rest)]:
        print(f"  {name:<{width}}  {seconds * 1e3:8.2f} ms  {seconds / total:6.1%}")
    print(f"  {'total':<{width}}  {total * 1e3:8.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeat", type=int, default=10, metavar="N")
    repeat = max(1, parser.parse_args().repeat)

    function, arguments = digits_network()
    first, _ = compilation(function, arguments)
    runs = [compilation(function, arguments) for _ in range(repeat)]
    print(f"digits network, batch {BATCH}, {sw.Target.host()}")
    print(f"first compilation in the process: {first * 1e3:.0f} ms")
    print(f"then, median of {repeat}:")
    total = statistics.median(seconds for seconds, _ in runs)
    print_table(total, median_steps([steps for _, steps in runs]))


if __name__ == "__main__":
    main()

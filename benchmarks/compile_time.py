"""
Where the time goes from a Python function to a callable: the network of examples/digits.

    python benchmarks/compile_time.py [--batch N] [--check]

Prints what importing and the first compilation take in a new process, then milliseconds by pass in a warm
one, the best of several runs. `--check` exits with 1 when the warm total is 1.5 s or more.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

DIGITS = Path(__file__).resolve().parent.parent / "examples" / "digits"
sys.path.insert(0, str(DIGITS))

RUNS = 5
LIMIT_SECONDS = 1.5

COLD = """
import sys, time
start = time.perf_counter()
import stepwell as sw
imported = time.perf_counter()
sys.path.insert(0, sys.argv[1])
import numpy as np
from model import classifier, load_weights
function, x = classifier(load_weights()), np.zeros((int(sys.argv[2]), 64), np.float32)
ready = time.perf_counter()
sw.jit(function)(x)
print(imported - start, time.perf_counter() - ready)
"""


def cold_seconds(batch: int) -> tuple[float, float]:
    """Importing Stepwell, and the first call, in a new process."""
    command = [sys.executable, "-c", COLD, str(DIGITS), str(batch)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported, called = map(float, done.stdout.split())
    return imported, called


def steps(function: Callable[..., Any], x: np.ndarray) -> list[tuple[str, float]]:
    """Each step from the function to a callable and its seconds, LLVM's part by phase."""
    import stepwell as sw
    from stepwell.analysis.signature import entry_function, signature_of
    from stepwell.runtime.jit import native_code

    lowered = sw.jit(function).lower(x)
    module = lowered.module("llvm")
    lowered.compile()
    passes = [step for step in lowered.timings if step[0] != "llvm"]
    marks = [time.perf_counter()]
    native = native_code(module, constants="external")
    marks.append(time.perf_counter())
    native.object_code()
    marks.append(time.perf_counter())
    sw.Executable(signature_of(entry_function(module)), native)
    marks.append(time.perf_counter())
    phases = ("emit LLVM IR", "LLVM: optimise and select", "link and load")
    durations = [end - start for start, end in pairwise(marks)]
    return [*passes, *zip(phases, durations, strict=True)]


def best(function: Callable[..., Any], x: np.ndarray) -> list[tuple[str, float]]:
    """The run with the least total of several."""
    steps(function, x)
    return min((steps(function, x) for _ in range(RUNS)), key=lambda run: sum(s for _, s in run))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--batch", type=int, default=199, help="images in a batch (default: 199)")
    parser.add_argument("--check", action="store_true", help="fail when the limit is passed")
    args = parser.parse_args()

    from model import classifier, load_weights
    from stepwell.driver.pass_manager import timing_table

    imported, called = cold_seconds(args.batch)
    print(f"new process: import {imported * 1e3:.1f} ms, first call {called * 1e3:.0f} ms\n")
    result = best(classifier(load_weights()), np.zeros((args.batch, 64), np.float32))
    print(f"warm process, digits network on {args.batch} images:\n{timing_table(result)}")
    return int(args.check and sum(seconds for _, seconds in result) >= LIMIT_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main())

"""
Real models beside ONNX Runtime: whether they agree, the time to run, and to the first result, and the kernels.

    make models                                   # fetches and exports them into build/models
    python benchmarks/models.py [MODEL …] [--threads N] [--rounds N] [--reference]

Both run in one process and take turns; of each the median of its turns counts. Pin it to one core (`taskset -c 1`) for
one thread where others use the machine. The error is the largest one over the scale of its output. `--reference` only
compares results, in the quick tier. Models whose file is not there are left out. What the columns from `cold` on are
stands in `model_start.py`.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from model_start import HEADER, starts
from real_models import MODELS, Model, constants_of

MAX_ERROR = 1e-4


@dataclass(frozen=True)
class Comparison:
    error: float
    ours: float
    """Seconds of a call."""
    theirs: float


def compare(model: Model, threads: int, rounds: int, is_reference: bool) -> Comparison:
    """Run a model here and in ONNX Runtime, in turns."""
    import onnxruntime
    import stepwell as sw

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model.path), options, ["CPUExecutionProvider"])
    feeds = model.feeds()
    expected = session.run(None, feeds)

    lowered = sw.load(
        str(model.path),
        shapes={name: array.shape for name, array in feeds.items() if array.ndim},
        constants=constants_of(model),
        opt="quick" if is_reference else "full",
    )
    run = lowered.compile(threads=threads)
    names = [one.name for one in session.get_inputs()]
    arguments = [feeds[name] for name in names if name not in constants_of(model)]
    found = run(*arguments)
    outputs = found if isinstance(found, tuple) else (found,)
    error = max(relative_error(*pair) for pair in zip(outputs, expected, strict=True))
    if is_reference:
        return Comparison(error, 0, 0)
    ours, theirs = _turns((lambda: run(*arguments), lambda: session.run(None, feeds)), rounds)
    return Comparison(error, ours, theirs)


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference over the largest magnitude that is expected; of integers 0, or infinity."""
    if found.shape != expected.shape:
        return float("inf")
    if expected.size == 0:
        return 0.0
    if expected.dtype.kind != "f":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    scale = float(np.abs(expected).max()) or 1.0
    return float(np.abs(found.astype(np.float64) - expected).max()) / scale


def _turns(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, seconds, strict=True):
            call()
            start = perf_counter()
            call()
            own.append(perf_counter() - start)
    return [median(own) for own in seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="by default all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--reference", action="store_true", help="only compare results, in the quick tier"
    )
    args = parser.parse_args()
    names = [model.name for model in MODELS]
    for name in args.models:
        if name not in names:
            parser.error(f"found {name!r}, expected one of {', '.join(names)}")
    os.environ.setdefault("STEPWELL_CACHE", "off")
    header = f"{'model':18}{'error':>10}{'ms':>9}{'ORT ms':>9}{'ratio':>7}"
    print(header if args.reference else header + HEADER)
    failed = False
    for model in MODELS:
        if (args.models and model.name not in args.models) or not model.path.exists():
            continue
        failed |= not _report(model, args)
    sys.exit(failed)


def _report(model: Model, args: argparse.Namespace) -> bool:
    try:
        found = compare(model, args.threads, args.rounds, args.reference)
    except Exception as error:
        if not type(error).__module__.startswith("stepwell"):
            traceback.print_exc()
        print(f"{model.name:18} {error}", flush=True)
        return False
    line = f"{model.name:18}{found.error:10.1e}"
    if not args.reference:
        ratio = found.theirs / found.ours
        line += f"{found.ours * 1e3:9.2f}{found.theirs * 1e3:9.2f}{ratio:7.2f}"
        line += starts(model.name, args.threads)
    print(line, flush=True)
    return found.error <= MAX_ERROR


if __name__ == "__main__":
    main()

"""
Real models beside ONNX Runtime, on one and on two threads; those with state over several steps.

    make models                                       # fetches and exports them into build/models
    python tests/model_suite.py [MODEL …] [--threads 1,2] [--quick] [--file M.onnx --shape NAME=1x3x8x8 …]

Each model is called with inputs of its own as ONNX Runtime calls it: what decides a shape is no constant. It agrees when
each output differs by at most 1e-4 of its scale, and integers are equal. The models are those of benchmarks/real_models.py,
whose files are there, or one file. The status is 1 when one does not agree or is refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from stepwell.driver.options import Options
from stepwell.errors import StepwellError
from stepwell.frontend.onnx.bounded import cut, marked_extents
from stepwell.frontend.onnx.model_function import ModelFunction
from stepwell.frontend.onnx.reading import read_model
from stepwell.tools.model_peers import TOLERANCE, relative_error

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from real_models import MODELS, Feeds, Model

STEPS = 3
"""How often a model with state is called."""

LEAST_SCALE = 2.0**-22 / TOLERANCE
"""
Of an output: two roundings of 1 are no error. ONNX Runtime's sigmoid is off by 1e-7, of however small a probability.
"""


@dataclass(frozen=True)
class Outcome:
    """What became of a model: the largest error by number of threads, and seconds of lowering and compiling."""

    errors: Mapping[int, float]
    seconds: float

    @property
    def agrees(self) -> bool:
        return all(error <= TOLERANCE for error in self.errors.values())

    def __str__(self) -> str:
        errors = ", ".join(f"{error:.1e} on {number}" for number, error in self.errors.items())
        return f"{'agrees' if self.agrees else 'differs'}: {errors} threads ({self.seconds:.0f} s)"


def run_model(model: Model, threads: Sequence[int] = (1, 2), opt: str = "full") -> Outcome:
    """Call a model here and in ONNX Runtime. Raises StepwellError for one that is refused."""
    session = _session(model.path)
    function = ModelFunction(read_model(model.path), Options(opt=opt, cache=False))
    errors = dict.fromkeys(threads, 0.0)
    seconds = 0.0
    compiled: dict[Any, Any] = {}
    for feeds, expected in _steps(model, session):
        key = tuple(array.shape for array in feeds.values())
        if key not in compiled:
            start = time.perf_counter()
            compiled[key] = _compiled(function, feeds, threads)
            seconds += time.perf_counter() - start
        for number, run in compiled[key].items():
            found = run(feeds)
            worst = [error_of(*pair) for pair in zip(found, expected, strict=True)]
            errors[number] = max(errors[number], *worst)
    return Outcome(errors, seconds)


def error_of(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest error over the scale of what is expected, which is LEAST_SCALE at least."""
    scale = float(np.abs(expected).max(initial=0.0)) if expected.dtype.kind == "f" else 1.0
    return relative_error(found, expected) * (scale or 1.0) / max(scale, LEAST_SCALE)


def _session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    # As the model is written: what ONNX Runtime optimises is rounded otherwise.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])


def _steps(model: Model, session: Any) -> Iterator[tuple[Feeds, list[np.ndarray]]]:
    """The inputs of each step and what ONNX Runtime gives for them. State is taken from there, so errors do not add up."""
    feeds = model.feeds()
    names = [one.name for one in session.get_outputs()]
    for _ in range(STEPS if model.carried else 1):
        expected = session.run(None, feeds)
        yield feeds, expected
        feeds = model.next_feeds(feeds, dict(zip(names, expected, strict=True)))


def _compiled(function: ModelFunction, feeds: Feeds, threads: Sequence[int]) -> dict[int, Any]:
    """By number of threads, the model for inputs of these shapes as a function of them."""
    lowered = function.lower(**feeds)
    cuts = marked_extents(lowered.module("graph"))
    return {number: partial(_call, lowered.compile(threads=number), cuts) for number in threads}


def _call(run: Any, cuts: Sequence[tuple[int, int, int]], feeds: Feeds) -> tuple[np.ndarray, ...]:
    found = run(*(feeds[one.name] for one in run.signature.inputs))
    return cut(found if isinstance(found, tuple) else (found,), cuts)


def _file(args: argparse.Namespace) -> Model:
    """The model that the command line names, with random numbers for its inputs."""
    shapes: dict[str, tuple[int, ...]] = {}
    integers: dict[str, int] = {}
    given = dict(text.split("=") for text in args.shape)
    for one in _session(args.file).get_inputs():
        text = given.get(one.name)
        shape = one.shape if text is None else text.split("x") if text else []
        shapes[one.name] = tuple(map(int, shape))
        if "float" not in one.type:
            integers[one.name] = args.below
    return Model(args.file.stem, args.file, shapes, integers=integers)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("models", nargs="*", metavar="MODEL", help="by default all that are there")
    parser.add_argument("--threads", default="1,2", help="numbers of threads (default: 1,2)")
    parser.add_argument("--quick", action="store_true", help="by the quick tier")
    parser.add_argument("--file", type=Path, metavar="M.onnx", help="run this model instead")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=AxB")
    parser.add_argument("--below", type=int, default=2, help="what integers of --file stay below")
    args = parser.parse_args()
    unknown = set(args.models) - {model.name for model in MODELS}
    if unknown:
        names = ", ".join(model.name for model in MODELS)
        parser.error(f"found {min(unknown)!r}, expected one of {names}")
    chosen = [_file(args)] if args.file else MODELS
    threads = tuple(map(int, args.threads.split(",")))
    bad = run = 0
    for model in chosen:
        if (args.models and model.name not in args.models) or not model.path.exists():
            continue
        run += 1
        try:
            outcome = run_model(model, threads, "quick" if args.quick else "full")
            bad += not outcome.agrees
        except StepwellError as error:
            outcome, bad = error, bad + 1
        print(f"{model.name:18} {outcome}", flush=True)
    print(f"{run} models, {bad} of them differ or are refused")
    return int(bad > 0 or run == 0)


if __name__ == "__main__":
    sys.exit(main())

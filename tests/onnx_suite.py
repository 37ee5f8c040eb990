"""
ONNX's own backend tests through our backend: which pass, which are refused and why, and which are wrong.

    python tests/onnx_suite.py [--only WORD] [--sample N] [--jobs N] [--json FILE] [--page docs/onnx.md]

Cases run in processes of their own, by the quick tier, so that one that crashes is counted and the others go on. The
status is 1 when a case is wrong or crashes.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, TypeProto, numpy_helper

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
"""Operators whose numbers depend on the generator: of such cases shapes and types alone are compared."""

TIMEOUT = 120  # seconds for one case
PASS, REFUSED, OTHER, WRONG, CRASH = "passes", "refused", "other types", "wrong", "crashes"


@dataclass(frozen=True)
class Outcome:
    """What became of a case. The reason is a message, or the type for one of other types."""

    name: str
    state: str
    reason: str
    operators: tuple[str, ...]
    seconds: float = 0.0


def load_cases() -> dict[str, Any]:
    """The cases of the default domain by name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = {case.name: case for kind in KINDS for case in load_model_tests(kind=kind)}
    return {name: case for name, case in found.items() if _is_of_default_domain(model_of(case))}


def model_of(case: Any) -> onnx.ModelProto:
    return case.model or onnx.load(Path(case.model_dir) / "model.onnx")


def _is_of_default_domain(model: onnx.ModelProto) -> bool:
    return all(node.domain in ("", "ai.onnx") for node in model.graph.node)


# Types.


def other_type(model: onnx.ModelProto) -> str | None:
    """A type of the model's values that Stepwell does not have, or None."""
    graph = model.graph
    values = (*graph.input, *graph.output, *graph.value_info)
    names = [_type_name(one.type) for one in values]
    names += [_element_name(one.data_type) for one in graph.initializer]
    for node in graph.node:
        if node.op_type.startswith(("Sequence", "SplitToSequence", "Optional")):
            names.append("optional" if node.op_type.startswith("Optional") else "sequence")
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.type == onnx.AttributeProto.INT:
                names.append(_element_name(attribute.i))
            if attribute.HasField("t"):
                names.append(_element_name(attribute.t.data_type))
    return next((name for name in names if name), None)


def _type_name(type_: TypeProto) -> str | None:
    kind = type_.WhichOneof("value")
    if kind == "tensor_type":
        return _element_name(type_.tensor_type.elem_type)
    return None if kind is None else kind.removesuffix("_type")


def _element_name(element: int) -> str | None:
    from stepwell.frontend.onnx.tensors import dtype_of, type_name

    return None if element == 0 or dtype_of(element) is not None else type_name(element)


# One case.


def run_case(case: Any) -> Outcome:
    """Run all data sets of a case and compare."""
    from onnx.backend.test.runner import Runner
    from stepwell import StepwellError
    from stepwell.frontend.onnx.backend import StepwellBackend

    model = model_of(case)
    operators = tuple(sorted({node.op_type for node in model.graph.node}))
    other = other_type(model)
    start = time.perf_counter()
    state, reason = PASS, ""
    try:
        rep = StepwellBackend.prepare(model, "CPU", opt="quick", threads=1)
        for inputs, expected in _data_sets(case, model):
            outputs = list(rep.run(inputs))
            if is_random(case.name, operators):
                # The values are those of another generator.
                kinds = [[(one.shape, one.dtype) for one in each] for each in (expected, outputs)]
                assert kinds[0] == kinds[1], f"found {kinds[1]}, expected {kinds[0]}"
                continue
            atol = max(case.atol, _rounding(expected))
            Runner.assert_similar_outputs(expected, outputs, case.rtol, atol)
    except StepwellError as error:
        # What our own code did not expect is an error of ours, also where a user sees one line.
        is_ours = error.__cause__ is None or isinstance(error.__cause__, StepwellError)
        state, reason = (REFUSED if is_ours else CRASH), str(error)
    except AssertionError as error:
        state, reason = WRONG, " ".join(str(error).split())[:300]
    except Exception:
        state, reason = CRASH, traceback.format_exc()[-600:]
    if other is not None and state == REFUSED:
        state, reason = OTHER, other
    return Outcome(case.name, state, reason, operators, time.perf_counter() - start)


def is_random(name: str, operators: Sequence[str]) -> bool:
    """Whether the values of a case are those of another generator. Dropout drops in training alone."""
    is_training = name.startswith("test_training_dropout") and "zero_ratio" not in name
    return is_training or bool(RANDOM & set(operators))


def _rounding(expected: Sequence[Any]) -> float:
    """
    The rounding of the largest float32 among the values: what is 0 but for the rounding of such numbers, as in a Fourier
    transform, is no more exact in the case itself.
    """
    floats = [one for one in expected if getattr(one, "dtype", None) == np.float32]
    largest = [float(np.max(np.abs(one), where=np.isfinite(one), initial=0)) for one in floats]
    return float(np.finfo(np.float32).eps) * max(largest, default=0.0)


def _data_sets(case: Any, model: onnx.ModelProto) -> Iterator[tuple[list[Any], list[Any]]]:
    if case.data_sets is not None:
        for inputs, outputs in case.data_sets:
            yield list(map(_array, inputs)), list(map(_array, outputs))
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set_*")):
        yield (
            _arrays(folder, "input", model.graph.input),
            _arrays(folder, "output", model.graph.output),
        )


def _array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _arrays(folder: Path, word: str, values: Sequence[onnx.ValueInfoProto]) -> list[Any]:
    arrays: list[Any] = []
    for number, _ in enumerate(folder.glob(f"{word}_*.pb")):
        data = (folder / f"{word}_{number}.pb").read_bytes()
        kind = values[number].type.WhichOneof("value")
        is_tensor = kind == "tensor_type"
        arrays.append(numpy_helper.to_array(TensorProto.FromString(data)) if is_tensor else kind)
    return arrays


# Processes.


def serve() -> None:
    """Run the cases whose names come in on standard input, a line each; print an outcome for each."""
    cases = load_cases()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(run_case(cases[line.strip()]))), flush=True)


def run_all(names: Sequence[str], cases: dict[str, Any], jobs: int) -> list[Outcome]:
    """The outcomes of cases, run in so many processes."""
    waiting: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in names:
        waiting.put(name)
    outcomes: list[Outcome] = []
    workers = [threading.Thread(target=_work, args=(waiting, cases, outcomes)) for _ in range(jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sorted(outcomes, key=lambda one: one.name)


def _work(waiting: queue.SimpleQueue[str], cases: dict[str, Any], outcomes: list[Outcome]) -> None:
    """Let a process run cases until none is left; one that has died is followed by another."""
    process: subprocess.Popen[str] | None = None
    while True:
        try:
            name = waiting.get_nowait()
        except queue.Empty:
            break
        if process is None:
            command = [sys.executable, __file__, "--serve"]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            process.stdout.readline()
        assert process.stdin is not None and process.stdout is not None
        clock = threading.Timer(TIMEOUT, process.kill)
        clock.start()
        process.stdin.write(f"{name}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        clock.cancel()
        if line:
            found = json.loads(line)
            outcomes.append(Outcome(**{**found, "operators": tuple(found["operators"])}))
        else:
            reason = f"the process ended with status {process.wait()}"
            operators = tuple(sorted({node.op_type for node in model_of(cases[name]).graph.node}))
            outcomes.append(Outcome(name, CRASH, reason, operators))
            process = None
    if process is not None and process.stdin is not None:
        process.stdin.close()
        process.wait()


# Results.


def summary(outcomes: Sequence[Outcome]) -> str:
    """The counts, in one line."""
    counts = Counter(one.state for one in outcomes)
    ours = len(outcomes) - counts[OTHER]
    share = 100 * counts[PASS] / max(ours, 1)
    listed = ", ".join(f"{counts[state]} {state}" for state in (PASS, REFUSED, WRONG, CRASH, OTHER))
    return f"{len(outcomes)} cases: {listed}; {share:.1f} % of {ours} whose types are ours pass"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run cases whose names contain this")
    parser.add_argument("--sample", type=int, help="run so many cases, spread over all")
    parser.add_argument("--jobs", type=int, default=1, help="in so many processes")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--page", type=Path, help="write the table of operators to this file")
    parser.add_argument(
        "--verbose", action="store_true", help="print the cases that are refused too"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve()
        return 0
    cases = load_cases()
    names = [name for name in sorted(cases) if args.only in name]
    if args.sample:
        names = names[:: max(1, len(names) // args.sample)]
    outcomes = run_all(names, cases, args.jobs)
    shown = (WRONG, CRASH, REFUSED) if args.verbose else (WRONG, CRASH)
    for one in outcomes:
        if one.state in shown:
            print(f"{one.state}: {one.name}: {one.reason}")
    if args.json:
        args.json.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    if args.page:
        from onnx_page import page_text

        args.page.write_text(page_text(outcomes, summary(outcomes) + "."))
    print(summary(outcomes))
    return int(any(one.state in (WRONG, CRASH) for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())

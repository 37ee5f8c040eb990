"""
Numbers that no model has, in place of each integer of ONNX's own test cases: each ends in a program or in one line.

    python tests/onnx_extremes.py [--only WORD] [--every N] [--each N]

For each case of a single node, every integer attribute and every input of integers in turn is one of NUMBERS. The model
is imported; what is small is compiled, too. The process bounds its memory, and each model its time. The status is 1 when
anything else than a program or a message came of one.
"""

from __future__ import annotations

import argparse
import math
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto
from onnx_suite import load_cases, model_of
from stepwell.driver.options import Options
from stepwell.errors import StepwellError
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.onnx.importer import import_model
from stepwell.frontend.onnx.reading import checked_model

NUMBERS = (1 << 62, -(1 << 62), 1 << 33, -1, 0)
MEMORY = 6 << 30
"""Bytes of address space, most of which libraries reserve."""
SECONDS = 10
"""of processor time for a model."""
MAX_ELEMENTS = 1 << 16
"""Of all inputs and outputs of a program that is compiled."""

Variant = tuple[str, onnx.ModelProto, dict[str, np.ndarray]]


class TooLong(BaseException):
    """The time of a model is over."""


def variants(model: onnx.ModelProto) -> Iterator[Variant]:
    """Models with another number, and the inputs that are known."""
    for place, attribute in enumerate(model.graph.node[0].attribute):
        if attribute.type not in (AttributeProto.INT, AttributeProto.INTS):
            continue
        for number in NUMBERS:
            changed = onnx.ModelProto()
            changed.CopyFrom(model)
            other = changed.graph.node[0].attribute[place]
            other.i = number
            for position in range(len(other.ints)):
                other.ints[position] = number
            yield f"{attribute.name}={number}", changed, {}
    for one in model.graph.input:
        kind = one.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        if kind.elem_type == onnx.TensorProto.INT64 and math.prod(shape) < 100:
            for number in NUMBERS:
                yield f"{one.name}={number}", model, {one.name: np.full(shape, number)}


def failure_of(model: onnx.ModelProto, known: dict[str, np.ndarray]) -> str | None:
    """What is wrong with what becomes of a model, or None."""
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        module = import_model(checked_model(model, "m"), constants=known)
        low = Lowered(module, options=Options(opt="quick", cache=False))
        if _elements(low) < MAX_ELEMENTS:
            low.compile(threads=1)
    except StepwellError as error:
        message = str(error)
        if "\n" in message or len(message) > 2000:
            return f"a message of {message.count(chr(10)) + 1} lines and {len(message)} letters"
        if "cannot be computed with (MemoryError" in message:
            return message
    except TooLong:
        return "more than the time that there is: " + traceback.format_exc(limit=-3)
    except Exception:
        return traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def _elements(low: Lowered) -> int:
    from stepwell.analysis.signature import entry_function, signature_of

    signature = signature_of(entry_function(low.module("graph"), None))
    return sum(math.prod(spec.shape) for spec in (*signature.inputs, *signature.results))


def _over(number: int, frame: Any) -> None:
    raise TooLong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--every", type=int, default=1, help="one of so many cases")
    parser.add_argument(
        "--each", type=int, default=sys.maxsize, help="so many cases of each operation and number"
    )
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, _over)
    cases = load_cases()
    names = [name for name in sorted(cases) if name.startswith("test_") and args.only in name]
    if args.each < sys.maxsize:
        Random(0).shuffle(names)  # those of an operation stand together
    taken: Counter[tuple[str, str]] = Counter()
    count = failures = 0
    start = time.process_time()
    for name in names[:: args.every]:
        model = model_of(cases[name])
        if len(model.graph.node) != 1:
            continue
        for what, changed, known in variants(model):
            number = (model.graph.node[0].op_type, what)
            taken[number] += 1
            if taken[number] > args.each:
                continue
            count += 1
            print(f"{name} {what}", file=sys.stderr, flush=True)  # the last one is that of a crash
            failure = failure_of(changed, known)
            if failure:
                failures += 1
                print(f"{name} {what}: {failure}", flush=True)
    print(f"{count} models, {failures} failures, {time.process_time() - start:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())

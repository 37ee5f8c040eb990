"""
A process that compiles programs for `compile_time.py` and says where the CPU time went.

Reads the name of a program a line on standard input and answers a line of JSON. Each program is compiled in a
child forked from a process that has only imported what compiling needs: nothing is remembered from one program
to the next, and no import is counted. It runs in the checkout whose interpreter it is given, and so uses only what
commit 0da612d has too.
"""

from __future__ import annotations

import fnmatch
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import stepwell as sw
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function, signature_of
from stepwell.frontend.text import make_context
from stepwell.runtime.jit import native_code
from stepwell.tools.bench_case import SUITE, generate, generate_weight, load_suite

try:
    from stepwell.driver.pass_manager import Instrumentation
    from stepwell.driver.pipelines import lower_to
except ModuleNotFoundError:  # before there was a driver
    from stepwell.lowering.pass_manager import Instrumentation
    from stepwell.lowering.pipelines import lower_to

Phases = dict[str, float]
"""CPU seconds by what they were spent on."""

LLVM = "llvm: "
"""How the names of phases begin that LLVM spends."""


class CpuClock(Instrumentation):
    """Adds the CPU time of each pass to `phases`."""

    def __init__(self, phases: Phases) -> None:
        self._phases = phases
        self._start = 0.0

    def before_pass(self, pass_: Any, module: Any) -> None:
        self._start = time.process_time()

    def after_pass(self, pass_: Any, module: Any) -> None:
        spent = time.process_time() - self._start
        self._phases[pass_.name] = self._phases.get(pass_.name, 0.0) + spent


@contextmanager
def clocked(phases: Phases, name: str) -> Iterator[None]:
    start = time.process_time()
    yield
    phases[name] = phases.get(name, 0.0) + time.process_time() - start


def compile_once(function: Callable[..., Any], arrays: list[Any], quick: bool) -> Phases:
    """The CPU seconds from a Python function to a callable, by phase."""
    phases: Phases = {}
    options = {"opt": "quick"} if quick else {}
    with clocked(phases, "trace"):
        module = sw.jit(function, **options).lower(*arrays).module("graph")
    lower_to(
        module,
        Level.LLVM,
        ctx=make_context(),
        instrumentations=[CpuClock(phases)],
        threads=1,
        **options,
    )
    with clocked(phases, "emit LLVM IR"):
        native = native_code(module, constants="external", **options)
    with clocked(phases, LLVM + "optimise and select"):
        native.object_code()
    with clocked(phases, LLVM + "link and load"):
        sw.Executable(signature_of(entry_function(module)), native)
    return phases


# Programs.


def transformer_block(
    x: Any,
    mask: Any,
    wq: Any,
    wk: Any,
    wv: Any,
    wo: Any,
    w1: Any,
    b1: Any,
    w2: Any,
    b2: Any,
    *norms: Any,
) -> Any:
    """A layer of an encoder with 12 heads: masked attention, then gelu between two products."""
    heads = 12
    length, width = x.shape

    def split(y: Any) -> Any:
        return sw.transpose(sw.reshape(y, (length, heads, width // heads)), (1, 0, 2))

    scale1, shift1, scale2, shift2 = norms
    h = sw.layer_norm(x, scale1, shift1)
    q, k, v = split(h @ wq), split(h @ wk), split(h @ wv)
    scores = q @ sw.swapaxes(k, -1, -2) * np.float32((width // heads) ** -0.5) + mask
    mixed = sw.transpose(sw.softmax(scores, axis=-1) @ v, (1, 0, 2))
    x = x + sw.reshape(mixed, (length, width)) @ wo
    h = sw.layer_norm(x, scale2, shift2)
    return x + sw.gelu(h @ w1 + b1) @ w2 + b2


BLOCK_ARGUMENTS = {"x": "128x768xf32", "mask": "128x128xf32"}
BLOCK_WEIGHTS = {
    **dict.fromkeys(("wq", "wk", "wv", "wo"), "768x768xf32"),
    "w1": "768x3072xf32",
    "b1": "3072xf32",
    "w2": "3072x768xf32",
    "b2": "768xf32",
    **dict.fromkeys(("scale1", "shift1", "scale2", "shift2"), "768xf32"),
}


def programs() -> dict[str, Callable[[bool], Phases]]:
    """What can be compiled, by name: the suite of this checkout and a transformer block."""
    found: dict[str, Callable[[bool], Phases]] = {}

    def add(name: str, function: Any, arguments: Any, weights: Any) -> None:
        def run(quick: bool) -> Phases:
            arrays = [generate(key, text) for key, text in arguments.items()]
            constants = [generate_weight(key, text) for key, text in weights.items()]
            return compile_once(lambda *args: function(*args, *constants), arrays, quick)

        found[name] = run

    for case in load_suite(SUITE):
        add(case.name, case.ours, case.arguments, case.weights)
    add("transformer-block", transformer_block, BLOCK_ARGUMENTS, BLOCK_WEIGHTS)
    return found


def in_child(work: Callable[[], Phases]) -> str:
    """The phases as JSON, measured in a child of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            with os.fdopen(writer, "w") as answer:
                answer.write(json.dumps(work()))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text or json.dumps({"error": 0.0})


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    known = programs()
    compile_once(
        lambda x: x + 1.0, [np.zeros(7, np.float32)], quick
    )  # imports what is imported late
    for line in sys.stdin:
        name = line.strip()
        if name.startswith("?"):
            print(json.dumps(fnmatch.filter(known, name[1:])), flush=True)
        else:
            print(in_child(lambda: known[name](quick)), flush=True)  # noqa: B023


if __name__ == "__main__":
    main()

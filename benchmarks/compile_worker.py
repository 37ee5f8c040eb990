"""
A process that compiles programs for `compile_time.py` and says where the CPU time went.

Reads the name of a program a line on standard input and answers a line of JSON. Each program is compiled in a
child forked from a process that has only imported what compiling needs: nothing is remembered from one program
to the next, no import is counted, and neither is the copying of pages that a fork shares. It runs in the checkout
whose interpreter it is given, and so uses only what commit 0da612d has too.
"""

from __future__ import annotations

import fnmatch
import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

try:
    from stepwell.driver.options import Options
except ModuleNotFoundError:  # before there was one object for them
    Options = None

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
    options: dict[str, Any] = {"opt": "quick"} if quick else {}
    with clocked(phases, "trace"):
        module = sw.jit(function, **options).lower(*arrays).module("graph")
    lower(module, CpuClock(phases), options)
    with clocked(phases, "emit LLVM IR"):
        native = native_code(module, constants="external", **({"quick": True} if quick else {}))
    with clocked(phases, LLVM + "optimise and select"):
        getattr(native, "objects", native.object_code)()  # commit 0da612d has one object
    with clocked(phases, LLVM + "link and load"):
        sw.Executable(signature_of(entry_function(module)), native)
    return phases


def lower(module: Any, clock: CpuClock, options: dict[str, Any]) -> None:
    """To the llvm dialect, for one thread."""
    arguments = {"ctx": make_context(), "instrumentations": [clock]}
    if Options is None:
        lower_to(module, Level.LLVM, threads=1, **arguments, **options)
    else:
        lower_to(module, Level.LLVM, Options(threads=1, **options), **arguments)


# Programs.


NETWORKS = {
    "mlp": {"x": "128x784xf32"},
    "transformer": {"x": "128x768xf32", "mask": "128x128xf32"},
}
"""Functions of examples/networks.py, with the shapes of their arguments."""


def programs() -> dict[str, Callable[[bool], Phases]]:
    """What can be compiled, by name: the suite of this checkout and the networks of its examples."""
    found: dict[str, Callable[[bool], Phases]] = {}

    def add(name: str, function: Any, arguments: Any, weights: Any) -> None:
        def run(quick: bool) -> Phases:
            arrays = [generate(key, text) for key, text in arguments.items()]
            constants = [generate_weight(key, text) for key, text in weights.items()]
            return compile_once(lambda *args: function(*args, *constants), arrays, quick)

        found[name] = run

    for case in load_suite(SUITE):
        add(case.name, case.ours, case.arguments, case.weights)
    sys.path.insert(0, str(EXAMPLES))
    networks: Any = importlib.import_module("networks")
    for name, arguments in NETWORKS.items():
        add(f"networks-{name}", getattr(networks, name), arguments, {})
    return found


def own_pages() -> None:
    """
    Write to the reference counts of all objects: a fork shares its parent's pages until it writes to them, and each of the
    thousands that it then copies would be counted as time to compile.
    """
    gc.get_referents(*gc.get_objects())


def in_child(work: Callable[[], Phases]) -> str:
    """The phases as JSON, measured in a child of this process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            own_pages()
            with os.fdopen(writer, "w") as answer:
                answer.write(json.dumps(work()))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text or json.dumps({"error": 0.0})


def warm_up(quick: bool) -> None:
    """Import what is imported when it is first used: the steps, and what small programs of several kinds need."""
    for file in sorted((Path(sw.__file__).parent / "transforms" / "loop").glob("[a-z]*.py")):
        importlib.import_module(f"stepwell.transforms.loop.{file.stem}")
    x = np.zeros((40, 56), np.float32)
    w = np.zeros((56, 72), np.float32)
    for function, arrays in (
        (lambda x: x + 1.0, [x]),
        (lambda x, w: sw.gelu(x @ w + 1.0), [x, w]),
        (lambda x: sw.layer_norm(sw.sum(x, axis=0), x[0], x[1]), [x]),
        (lambda x, w: sw.softmax(x @ w, axis=-1) @ sw.transpose(w, (1, 0)), [x, w]),
    ):
        compile_once(function, arrays, quick)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    known = programs()
    warm_up(quick)
    for line in sys.stdin:
        name = line.strip()
        if name.startswith("?"):
            print(json.dumps(fnmatch.filter(known, name[1:])), flush=True)
        else:
            print(in_child(lambda: known[name](quick)), flush=True)  # noqa: B023


if __name__ == "__main__":
    main()

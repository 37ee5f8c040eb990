"""Whether functions compute the same before and after schedule steps: interpreted, natively, as marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from stepwell.analysis.levels import Level
from stepwell.analysis.signature import entry_function
from stepwell.analysis.verify import verify
from stepwell.dialects import loop
from stepwell.dialects.schedule import Step
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret, random_inputs
from stepwell.runtime.jit import compile_module
from stepwell.transforms.step_support.nest import Nests
from stepwell.transforms.step_support.planning import apply
from stepwell.transforms.step_support.refusal import Refusal
from xdsl.dialects.builtin import ModuleOp

from .lane_order import run_as_marked
from .sibling_nests import RandomSiblings, inputs, run

EXTENTS = range(1, 34)
NATIVE = (1, 4, 13, 33)

Arrays = Sequence[np.ndarray]


def check_extents(
    text: Callable[[int], str], steps: Sequence[Step], extents: Sequence[int] = EXTENTS
) -> None:
    """
    Apply the steps, none of which may be refused, to the function `f` of `text(extent)` for the extents,
    and run it: interpreted, with its marks, and at a few natively, from a text that is read back.
    """
    for extent in extents:
        check_steps(text(extent), steps, native=extent in NATIVE)


def check_steps(text: str, steps: Sequence[Step], *, native: bool = True) -> ModuleOp:
    """The module after the steps, which compute what the text does: natively too, what is read back from its text."""
    module = parse_text(text, "steps.mlir")
    inputs = random_inputs(entry_function(module, "f"), 0)
    expected = interpret(module, inputs, "f")
    nests = Nests(module)
    for step in steps:
        apply(step, nests)
    verify(module)
    _compare(interpret(module, inputs, "f"), expected, module)
    if any(isinstance(op, loop.ForOp) and op.mode for op in module.walk()):
        for threads in ("backwards", "together"):
            _compare(run_as_marked(module, inputs, threads=threads), expected, module)
    if native:
        after = str(module)
        lowered = parse_text(after, "again.mlir")
        assert str(lowered) == after
        lower_to(lowered, Level.LLVM)
        arrays = [np.array(value) for value in inputs]
        compile_module(lowered, entry="f")(*arrays)
        _compare([a for a in arrays if a.ndim], expected, module)
    return module


def check_random(
    step_of: Callable[[Random, Sequence[loop.ForOp]], Step | None], seeds: Sequence[int]
) -> tuple[int, int]:
    """
    Apply steps to random functions and run these; how many were legal, and how many refused.

    A refusal has to leave the function as it was.
    """
    legal = refused = 0
    for seed in seeds:
        random = Random(seed)
        text = RandomSiblings(random, with_symbol=seed % 3 == 0).text()
        module = parse_text(text, "random.mlir")
        nests = Nests(module)
        sizes = (8, random.randint(-3, 10))
        expected = [run(module, n) for n in sizes]
        for _ in range(4):
            step = step_of(random, [op for op in module.walk() if isinstance(op, loop.ForOp)])
            if step is None:
                continue
            before = str(module)
            try:
                apply(step, nests)
            except Refusal:
                assert str(module) == before, f"{step} was refused and changed the IR"
                refused += 1
                continue
            legal += 1
            verify(module)
            what = f"{step} on\n{before}\ngave\n{module}"
            for n, wanted in zip(sizes, expected, strict=True):
                _compare(run(module, n), wanted, what)
                if "threads" in what or "vector" in what:
                    _compare(run_as_marked(module, inputs(n)), wanted, what)
    return legal, refused


def _compare(found: Arrays, expected: Arrays, what: ModuleOp | str) -> None:
    for a, b in zip(found, expected, strict=True):
        if not np.array_equal(a, b, equal_nan=b.dtype.kind == "f"):
            np.testing.assert_array_equal(a, b, err_msg=str(what))

"""
One program at every level: its text is a fixed point of print → parse → print, and running it gives what
NumPy gives. Whatever is wrong is a `Disagreement` that names the level.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from stepwell.analysis.levels import Level, level_of
from stepwell.analysis.verify import verify
from stepwell.driver.options import Options
from stepwell.driver.pass_manager import module_text
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.text import make_context, parse_text
from stepwell.interpreters.harness import interpret
from stepwell.runtime.executable import Executable
from stepwell.runtime.jit import compile_module
from xdsl.dialects.builtin import ModuleOp

from .monte_carlo import Value, disagreement

Array = np.ndarray[Any, Any]

INTERPRETED = (Level.GRAPH, Level.TE, Level.LOOP, Level.CORE)
FULL, QUICK = Options(), Options(opt="quick")

LEVELS = tuple(Level)
"""At `llvm` a program runs natively."""


class Disagreement(AssertionError):
    """What a level makes of a program is not what the program means."""


def descend(
    module: ModuleOp, levels: Collection[Level] = LEVELS, options: Options = FULL
) -> Iterator[tuple[Level, ModuleOp]]:
    """
    The module at each of these levels, from its own down. Every pass on the way is followed by the verifier.

    A copy is lowered. The module that comes out is good until the next one does.
    """
    ctx = make_context()
    module = module.clone()
    start = LEVELS.index(level_of(module))
    last = max((LEVELS.index(level) for level in levels), default=-1)
    for level in LEVELS[start : last + 1]:
        # A program that only passes arguments on is at core as soon as it has no tensors.
        if LEVELS.index(level_of(module)) < LEVELS.index(level):
            lower_to(module, level, options, ctx=ctx, verify_each=True)
        if level in levels:
            yield level, module


def check_fixed_point(module: ModuleOp) -> None:
    """The printed text, resources included, is parsed to a valid module that prints as that text."""
    ctx = make_context()
    ctx.get_dialect("builtin")  # which has the resources
    text = module_text(module, ctx)
    again = parse_text(text, "<printed>", ctx)
    verify(again)
    printed = module_text(again, ctx)
    if printed != text:
        pairs = zip(text.splitlines(), printed.splitlines(), strict=False)
        first = next(((a, b) for a, b in pairs if a != b), ("", ""))
        raise Disagreement(f"print → parse → print changes\n  {first[0]}\ninto\n  {first[1]}")


def run_level(
    level: Level, module: ModuleOp, inputs: Sequence[Array], options: Options = FULL
) -> list[Array]:
    """The results of the entry function: interpreted, or compiled at level `llvm`."""
    if level is not Level.LLVM:
        return list(interpret(module, inputs))
    return run_native(module, inputs, quick=options.is_quick)


def run_native(module: ModuleOp, inputs: Sequence[Array], *, quick: bool = False) -> list[Array]:
    """
    Compile a module and call it twice: the second call must give the same, though its scratch memory is full of NaN,
    and neither may change an input.

    In/out arguments do change: their last contents are the results.
    """
    executable = compile_module(module, quick=quick)
    given = [np.array(array) for array in inputs]
    results = _call(executable, given)
    if executable.signature.convention == "inout":
        return results
    for number, (array, original) in enumerate(zip(given, inputs, strict=True)):
        if array.tobytes() != np.ascontiguousarray(original).tobytes():
            raise Disagreement(f"native code writes to input {number}")
    _fill_scratch(executable)
    for number, (one, other) in enumerate(zip(results, _call(executable, given), strict=True)):
        if one.tobytes() != other.tobytes():
            raise Disagreement(f"a second call gives another result {number}")
    return results


def _fill_scratch(executable: Executable) -> None:
    """Fill the arenas of earlier calls with bytes that are NaN as floats of any width, and -1 as integers."""
    pool = executable._arenas
    for _, arena in pool._free if pool is not None else ():
        arena.fill(0xFF)


def _call(executable: Executable, given: list[Array]) -> list[Array]:
    returned = executable(*given)
    values = list(returned) if isinstance(returned, tuple) else [returned]
    if executable.signature.convention != "inout":
        return values
    written = [
        array
        for array, spec in zip(given, executable.signature.inputs, strict=True)
        if not spec.scalar
    ]
    return written + [np.asarray(value) for value in values if value is not None]


def check_agreement(
    module: ModuleOp,
    inputs: Sequence[Array],
    expected: Sequence[Value],
    *,
    levels: Collection[Level] = LEVELS,
    fixed_points: Collection[Level] = LEVELS,
    by_element: bool = True,
    options: Options = FULL,
) -> None:
    """
    Lower, run and compare at each level; at those of `fixed_points` look at the text, which takes as long as all else. `by_element` is whether loop and core, whose interpreters go
    element by element, are run too. With `QUICK` kernels are not scheduled and LLVM does not optimise: several
    times as fast, where it is operations that are tested and not what schedules make of them.

    Raises Disagreement.
    """
    for level, lowered in _named(descend(module, levels, options)):
        if level in fixed_points:
            _at(level, check_fixed_point, lowered)
        if level in (Level.LOOP, Level.CORE) and not by_element:
            continue
        found = _at(level, run_level, level, lowered, inputs, options)
        if len(found) != len(expected):
            raise Disagreement(f"{level}: found {len(found)} results, expected {len(expected)}")
        for number, (array, value) in enumerate(zip(found, expected, strict=True)):
            wrong = disagreement(array, value)
            if wrong is not None:
                raise Disagreement(f"{level}: result {number}: {wrong}")


def _named(steps: Iterator[tuple[Level, ModuleOp]]) -> Iterator[tuple[Level, ModuleOp]]:
    """The steps, with a failure to lower turned into a Disagreement that says from which level."""
    above = "input"
    while True:
        try:
            level, module = next(steps)
        except StopIteration:
            return
        except Exception as error:
            raise Disagreement(f"lowering from {above}: {_summary(error)}") from error
        yield level, module
        above = level


def _at(level: Level, do: Callable[..., Any], *args: Any) -> Any:
    try:
        return do(*args)
    except Disagreement as error:
        raise Disagreement(f"{level}: {error}") from error
    except Exception as error:
        raise Disagreement(f"{level}: {do.__name__}: {_summary(error)}") from error


def _summary(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


__all__ = [
    "FULL",
    "INTERPRETED",
    "LEVELS",
    "QUICK",
    "Disagreement",
    "check_agreement",
    "check_fixed_point",
    "descend",
    "run_level",
    "run_native",
]

"""The page docs/programs.md: the programs of examples/programs and the times that benchmarks/programs.py measured."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from platform import machine
from statistics import geometric_mean

from corpus import PEERS, Program

INTRODUCTION = """\
# Programs as tutorials have them

Written by `python benchmarks/programs.py --json FILE --page docs/programs.md`. Do not edit.

`examples/programs/` has {count} small programs as people write them who learn NumPy, JAX or Numba: one function a file,
written with NumPy's names, its inputs, and the loops that one writes for Numba. A test compiles each and compares it with
NumPy, shapes and dtypes too. Run one as

    import numpy as np, stepwell as sw
    from box_blur import inputs, program

    blur = sw.jit(lambda image: program(sw, image))
    blur(*inputs(np.random.default_rng(0)))

## Times

Milliseconds of a call on one core of an {processor}, medians of turns, on one thread, without compile time, and how many
times as long the fastest of the others takes as Stepwell (`python benchmarks/programs.py`). JAX is given the same
function, with `lax` loops, Numba explicit loops with sums that it may reorder, and PyTorch runs eagerly. The sizes were
chosen before anything was timed. Other work ran on the machine's other core, which slows some runs more than others:
a single factor is uncertain by a third. Over all of {measured} the geometric mean is **{mean:.2f}**; {ahead} are as fast as the
fastest other or faster, {behind} are below 0.7, and in {long} the fastest other takes 0.1 ms or more.
"""


def page(known: Mapping[str, Program], rows: Mapping[str, Mapping[str, float]]) -> str:
    """The page of these times, in milliseconds by program and library."""
    rows = {name: row for name, row in rows.items() if "stepwell" in row and len(row) > 1}
    best = {
        name: min(time for library, time in row.items() if library != "stepwell")
        for name, row in rows.items()
    }
    factors = {name: best[name] / rows[name]["stepwell"] for name in rows}
    text = INTRODUCTION.format(
        count=len(known),
        processor=_processor(),
        measured=len(rows),
        mean=geometric_mean(factors.values()),
        ahead=sum(factor >= 1 for factor in factors.values()),
        behind=sum(factor < 0.7 for factor in factors.values()),
        long=sum(time >= 0.1 for time in best.values()),
    )
    for theme, names in groupby(rows, key=lambda name: name.partition("/")[0]):
        text += f"\n### {theme.replace('_', ' ').capitalize()}\n\n"
        text += (
            "| program | what it computes | Stepwell | NumPy | JAX | Numba | PyTorch | ahead |\n"
        )
        text += "|---|---|---:|---:|---:|---:|---:|---:|\n"
        for name in names:
            times = [_number(rows[name].get(library)) for library in ("stepwell", *PEERS)]
            link = f"[`{name.partition('/')[2]}`](../examples/programs/{name}.py)"
            cells = [link, known[name].title, *times, f"{factors[name]:.2f}"]
            text += f"| {' | '.join(cells)} |\n"
    return text


def _number(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f"{milliseconds:.3g}"


def _processor() -> str:
    """The processor's name as the system says it."""
    file = Path("/proc/cpuinfo")
    for line in file.read_text().splitlines() if file.exists() else ():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return f"{machine()} processor"

"""`stepwell probe`: what this machine can do at most, kept for later and drawn."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StepwellError
from ..targets.rates import RATE_NAMES, STRIDED_ROWS

if TYPE_CHECKING:
    from ..runtime.probe import Probed
    from ..targets.rates import Rates
    from ..targets.target import Target

_DESCRIPTION = """
Measures this machine with kernels of our own: fused multiply-adds per second, bandwidths of each cache and of
memory, and the inner loops of a matrix product with their operands near and far. Takes 5 to 15 seconds. The better
of this and of earlier runs is kept in the user's cache directory.
"""

_KINDS = ("read", "copy")
_LATENCY_LEVELS = ("L3", "memory")
_FMAS = {
    "f32": "fma_f32",
    "f32, short": "fma_f32_burst",
    "f32, 256 bits": "fma_f32_narrow",
    "f64": "fma_f64",
    "f64, short": "fma_f64_burst",
    "f64, 256 bits": "fma_f64_narrow",
}
_PRODUCT = {
    "tile kernel, operands in L1": "tile_in_l1",
    "tile kernel, operands in L2": "tile_near",
    "tile kernel, wide one asked for": "tile_near_asked",
    "tile kernel, wide one across lines": "tile_split",
    "tile kernel, rows in L2": "tile_rows_near",
    "tile kernel, wide one beyond L2": "tile_wide_far",
    "tile kernel, narrow one beyond L2": "tile_narrow_far",
    "tile kernel, long rows in L2": "tile_rows_long",
    "tile kernel, rows beyond L2": "tile_rows_far",
    "tile kernel, these with hints": "tile_rows_asked",
    "tile kernel, pieces beyond L2": "tile_pieces_far",
    "packing from L2": "pack_near",
    "packing from beyond L2": "pack_far",
}


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "probe", help="measure this machine", description=_DESCRIPTION
    )
    add = parser.add_argument
    add("-o", "--output", metavar="FILE.png|.svg", help="draw the roofline, which needs matplotlib")
    add("--json", type=Path, metavar="FILE", help="write the core and its rates")
    add("--stored", action="store_true", help="show what was measured before")
    add(
        "--target", metavar="NAME", help="show what is known of another target; nothing is measured"
    )
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status. Raises StepwellError as the probe and the drawing do."""
    from ..runtime.roofline import check_picture, draw_roofline
    from ..targets.target import Target

    picture = Path(args.output) if args.output else None
    if picture:
        check_picture(picture)
    if args.target:
        target, notes = Target.parse(args.target), list[str]()
    else:
        notes = [] if args.stored else _measure()
        target = Target.host()
        _check_measured(target)
        notes.append(f"kept in {target.measured_file}")
    print("\n".join([table(target), "", *notes]).rstrip())
    if args.json:
        _write_json(args.json, target)
    if picture:
        draw_roofline(target, picture, title=f"Roofline of {target.cpu}")
        print(f"drawn in {picture}")
    return 0


def _measure() -> list[str]:
    """Measure, and say how far to believe it."""
    from ..runtime.probe import probe_and_store

    probed = probe_and_store()
    return [*_busy(probed), *_doubted(probed)]


def _doubted(probed: Probed) -> list[str]:
    """Counted, as a slow tile alone makes a dozen of them."""
    if not probed.doubted:
        return []
    return [
        f"{len(probed.doubted)} rates, from {probed.doubted[0]} on, stayed slower than a core of this kind is, as beside a neighbour on the same "
        "core: where what is known or follows from other rates is more, that stands until a better run"
    ]


def _busy(probed: Probed) -> list[str]:
    if not probed.busy:
        return []
    load = probed.load
    return [
        f"the machine was busy: {load.others:.0%} of its cores' time went to other programs and "
        f"{load.stolen:.0%} to other virtual machines",
        f"{len(probed.busy)} of {len(probed.rates)} rates of this run are lower bounds; "
        "run it again when the machine is idle",
    ]


def _check_measured(target: Target) -> None:
    if not target.is_measured:
        raise StepwellError(
            "found no measurements of this machine, expected those of `stepwell probe`; run it without "
            "--stored",
            where=str(target.measured_file),
        )


def _write_json(path: Path, target: Target) -> None:
    """Raises StepwellError when the file cannot be written."""
    facts = {"cpu": target.cpu, "core": asdict(target.core), "rates": asdict(target.rates)}
    try:
        path.write_text(json.dumps(facts, indent=1) + "\n")
    except OSError as error:
        raise StepwellError(
            f"cannot write the measurements: {error.strerror}; name another file", where=str(path)
        ) from error


def table(target: Target) -> str:
    """
    The rates for people: GFLOP/s and GB/s, of one core and of all. A mark says what was not measured on this
    machine while it was idle.
    """
    parts = [
        [_heading(target)],
        _aligned(_multiply_adds(target)),
        _aligned(_bandwidths(target)),
        _aligned(_tiles(target)),
        _aligned(_latencies(target)),
        _aligned(_slowdowns(target)),
        _legend(target.rates),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _heading(target: Target) -> str:
    core = target.core
    caches = ", ".join(
        f"{cache.name} {_size(cache.bytes)} {cache.ways}-way" for cache in core.caches
    )
    registers = f"{core.vector_registers} vector registers of {core.vector_bits} bits"
    return f"{target.cpu}: {_cores(target.cores)}, {registers}, {caches}"


def _numbers_of_cores(target: Target) -> list[int]:
    """Of one and of all: the numbers of cores that rates are shown for."""
    return sorted({1, target.cores})


def _cells(target: Target, name: str) -> list[str]:
    """A rate of one core and of all, in 10^9 a second."""
    rate = target.rates.named(name)
    mark = _MARKS[rate.source]
    return [f"{rate.at(n, target.cores) / 1e9:.1f}{mark}" for n in _numbers_of_cores(target)]


def _multiply_adds(target: Target) -> list[list[str]]:
    heading = ["FMA GFLOP/s", *map(_cores, _numbers_of_cores(target))]
    return [heading, *([words, *_cells(target, name)] for words, name in _FMAS.items())]


def _bandwidths(target: Target) -> list[list[str]]:
    """From and to each level of memory, past the caches and beyond L2."""
    counts = [_cores(n) for n in _numbers_of_cores(target)]
    heading = ["GB/s", *(f"{kind}, {count}" for kind in _KINDS for count in counts)]
    caches = [level for level in ("L1", "L2", "L3") if target.core.has_cache(int(level[1]))]
    streams = [
        [level, *(cell for kind in _KINDS for cell in _cells(target, f"{kind}_{level.lower()}"))]
        for level in [*caches, "memory"]
    ]
    nothing = [""] * len(counts)
    return [
        heading,
        *streams,
        ["past caches", *nothing, *_cells(target, "copy_past")],
        ["beyond L2", *_cells(target, "beyond_l2"), *nothing],
        ["8 rows in turns", *_cells(target, "rows_beyond_l2"), *nothing],
    ]


def _tiles(target: Target) -> list[list[str]]:
    rows, vectors = target.core.probe_tile
    heading = [f"{rows} x {vectors} vectors of f32", "1 core"]
    return [heading, *([words, _cells(target, name)[0]] for words, name in _PRODUCT.items())]


def _latencies(target: Target) -> list[list[str]]:
    rates = target.rates
    marks = [_MARKS[rates.named(f"chase_{level.lower()}").source] for level in _LATENCY_LEVELS]
    found = [1e9 * rates.latency(level) for level in _LATENCY_LEVELS]
    cells = [f"{number:.0f}{mark}" for number, mark in zip(found, marks, strict=True)]
    return [["ns of latency", *_LATENCY_LEVELS], ["1 core", *cells]]


def _slowdowns(target: Target) -> list[list[str]]:
    found = [target.rates.named(f"strided_{rows}") for rows in STRIDED_ROWS]
    cells = [f"{rate.core:.2f}{_MARKS[rate.source]}" for rate in found]
    own = target.rates.own_loads
    return [
        ["rows 4096 bytes apart", *map(str, STRIDED_ROWS), "loads in multiply-adds"],
        ["times as slow", *cells, f"{own.core:.2f}{_MARKS[own.source]}"],
    ]


def _legend(rates: Rates) -> list[str]:
    """What the marks mean that there are."""
    used = {rates.named(name).source for name in RATE_NAMES}
    return [f"{_MARKS[source]} {words}" for source, words in _WORDS.items() if source in used]


_MARKS = {"measured": "", "busy": "?", "known": "*", "given": "=", "estimated": "~"}
_WORDS = {
    "busy": "measured while the machine was busy: a lower bound",
    "known": "known of this kind of core",
    "given": "given",
    "estimated": "estimated",
}


def _cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def _size(bytes_: int) -> str:
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes_ >= size:
            return f"{bytes_ / size:g} {unit}"
    return f"{bytes_} B"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right, two spaces between."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]

"""`stepwell probe`: measures what this machine can do at most, and keeps it for schedules and benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StepwellError

if TYPE_CHECKING:
    from ..targets.rates import Kind
    from ..targets.target import Target

_DESCRIPTION = """
Measures this machine with kernels of our own: fused multiply-adds per second, and bandwidths of each
cache and of memory, for one core and for all. Takes a few seconds; the results are kept in the user's
cache directory.
"""


def register(commands: Any) -> None:
    """Add the subcommand to `stepwell`."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "probe", help="measure this machine", description=_DESCRIPTION
    )
    add = parser.add_argument
    add("-o", "--output", metavar="FILE.png|.svg", help="draw the roofline, which needs matplotlib")
    add("--stored", action="store_true", help="show what was measured before")
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; its exit status. Raises StepwellError as the probe and the drawing do."""
    from ..runtime.roofline import check_picture, draw_roofline
    from ..targets.target import Target

    picture = Path(args.output) if args.output else None
    if picture:
        check_picture(picture)
    if args.stored:
        _check_stored()
    else:
        _measure()
    target = Target.host()
    print(table(target))
    print(f"kept in {target.measured_file}")
    if picture:
        draw_roofline(target, picture, title=f"Roofline of {target.cpu}")
        print(f"drawn in {picture}")
    return 0


def _measure() -> None:
    from ..runtime.probe import probe_and_store

    probe_and_store()


def _check_stored() -> None:
    from ..targets.target import Target

    target = Target.host()
    if not target.is_measured:
        raise StepwellError(
            "found no measurements of this machine, expected those of `stepwell probe`; run it without "
            "--stored",
            where=str(target.measured_file),
        )


def table(target: Target) -> str:
    """The rates for people: GFLOP/s and GB/s, of one core and of all."""
    caches = ", ".join(f"{cache.name} {_size(cache.bytes)}" for cache in target.caches)
    threads = sorted({1, target.cores})
    rows = [
        ["", *(_cores(n) for n in threads)],
        *(
            [f"{dtype} FMA GFLOP/s", *(_giga(target.peak(dtype, n)) for n in threads)]
            for dtype in ("f32", "f64")
        ),
    ]
    heading = ["GB/s", *(f"{kind}, {_cores(n)}" for n in threads for kind in _KINDS)]
    streams = [
        [level, *(_giga(target.bandwidth(level, kind, n)) for n in threads for kind in _KINDS)]
        for level in ("L1", "L2", "L3", "memory")
    ]
    return "\n".join(
        [
            f"{target.cpu}: {_cores(target.cores)}, {target.vector_bits}-bit vectors, {caches}",
            "",
            *_aligned(rows),
            "",
            *_aligned([heading, *streams]),
        ]
    )


_KINDS: tuple[Kind, ...] = ("read", "copy")


def _cores(count: int) -> str:
    return "1 core" if count == 1 else f"{count} cores"


def _giga(value: float) -> str:
    return f"{value / 1e9:.1f}"


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

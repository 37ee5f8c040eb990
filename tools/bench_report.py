"""What `stepwell bench` shows: the table, its summary, the time of each pass, JSON and the roofline."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from math import exp, log, log2, log10
from pathlib import Path
from statistics import median
from typing import Any

from ..driver.pass_manager import timing_table
from ..errors import StepwellError
from ..frozen import frozen
from ..runtime.measure import Timing, Work
from ..runtime.roofline import Point
from ..targets.target import Target
from .bench_environment import Description, machine
from .bench_peers import BEFORE, OURS
from .bench_roof import Roofs
from .bench_worker import Outcome

_HEADINGS = {"onnxruntime": "ort"}
_NONE = "-"
_SHORT_SECONDS = 20e-6
"""In kernels of less time the call itself counts, and what a library saves there is seldom noticed."""
_BEHIND, _AT_THE_ROOF = 0.93, 0.95
"""A kernel is behind below this ratio to the best peer, unless it reaches this part of the roof."""
_WORST = 10
_FEW = 5
_MOST_NAMES = 6
_NAME_WIDTH, _NAME_HEIGHT = 2.5, 0.06
"""Of a name in the picture: powers of two of intensity, and of ten of FLOP/s."""


@frozen
class Row:
    """One measured program, in the numbers that are shown."""

    name: str
    group: str
    median: float
    least: float
    flops_per_second: float | None
    bytes_per_second: float
    intensity: float
    roof: float | None
    """the part of the roof that is reached"""
    bound: str | None
    compile_seconds: float
    compile_cpu_seconds: float
    """of the processor, which other processes do not lengthen"""
    llvm_cpu_seconds: float
    """the part of it in LLVM"""
    ratios: dict[str, float]
    """a peer's median over ours: above 1, we are faster"""
    before: float | None = None
    """the median of another checkout of ours over this one's"""

    @property
    def best_ratio(self) -> float | None:
        """Against the fastest peer."""
        return min(self.ratios.values(), default=None)

    @property
    def best_peer(self) -> str:
        """The fastest peer; nothing when there is none."""
        return min(self.ratios, key=self.ratios.__getitem__, default="")


def row(outcome: Outcome, roofs: Roofs) -> Row:
    """The numbers of a program that was measured. `roof` and `bound` are None on a machine not probed."""
    timings = {name: Timing(tuple(samples)) for name, samples in outcome.samples.items()}
    ours, work = timings[OURS], Work(**outcome.work)
    bound = roofs.roof(outcome)
    return Row(
        outcome.name,
        outcome.group,
        ours.median,
        ours.least,
        None if work.flops is None else work.flops / ours.median,
        work.bytes / ours.median,
        work.intensity,
        None if bound is None else bound.seconds / ours.median,
        None if bound is None else bound.bound,
        outcome.compile_seconds,
        outcome.compile_cpu_seconds,
        outcome.llvm_cpu_seconds,
        {
            name: timing.median / ours.median
            for name, timing in timings.items()
            if name not in (OURS, BEFORE) and ours.median
        },
        timings[BEFORE].median / ours.median if BEFORE in timings and ours.median else None,
    )


class Table:
    """Lines of a table that is printed while it is measured: every column has a width from the start."""

    def __init__(self, names: Iterable[str], peers: Sequence[str], *, with_before: bool = False):
        self._peers = peers
        self._with_before = with_before
        self._width = max([len("kernel"), *map(len, names)])

    def heading(self) -> str:
        ratios = "".join(f"{_HEADINGS.get(peer, peer):>10}" for peer in self._peers)
        best = f"{'best':>8}" if self._peers else ""
        before = f"{BEFORE:>8}" if self._with_before else ""
        return (
            f"{'kernel':<{self._width}}{'median ms':>11}{'min ms':>10}{'GFLOP/s':>9}{'GB/s':>8}{'% roof':>8}"
            f"  {'bound by':<8}{'compile s':>10}{ratios}{best}{before}"
        )

    def line(self, row: Row) -> str:
        gflops = _NONE if row.flops_per_second is None else f"{row.flops_per_second / 1e9:.1f}"
        part = _NONE if row.roof is None else f"{100 * row.roof:.0f}"
        ratios = "".join(f"{_ratio(row.ratios.get(peer)):>10}" for peer in self._peers)
        best = f"{_ratio(row.best_ratio):>8}" if self._peers else ""
        before = f"{_ratio(row.before):>8}" if self._with_before else ""
        return (
            f"{row.name:<{self._width}}{_milliseconds(row.median):>11}{_milliseconds(row.least):>10}"
            f"{gflops:>9}{row.bytes_per_second / 1e9:>8.1f}{part:>8}  {row.bound or _NONE:<8}"
            f"{row.compile_seconds:>10.2f}{ratios}{best}{before}"
        )

    def failure(self, name: str, message: str) -> str:
        return f"{name:<{self._width}}  fails: {message}"


def _ratio(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}x"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def summary(rows: Sequence[Row], peers: Sequence[str]) -> list[str]:
    """
    Geometric means of the ratios by group and peer, the kernels that stand worst, and how long compiling takes.
    """
    lines: list[str] = []
    groups = list(dict.fromkeys(row.group for row in rows if row.group))
    for group in [*groups, ""] if len(groups) > 1 else [""]:
        within = [row for row in rows if not group or row.group == group]
        means = [
            f"{peer} {mean:.2f}x"
            for peer in peers
            if (mean := geometric_mean([r.ratios[peer] for r in within if peer in r.ratios]))
        ]
        best = geometric_mean([r.best_ratio for r in within if r.best_ratio is not None])
        if best:
            means.append(f"the best of them {best:.2f}x")
            lines.append(
                f"{group or 'all'} ({len(within)}): geometric mean against {', '.join(means)}"
            )
    return [*lines, *_against_before(rows), *_worst(rows), _compile_times(rows)]


def _against_before(rows: Sequence[Row]) -> list[str]:
    """How another checkout compares, and the kernels that have become slower by most."""
    compared = [(row.before, row.name) for row in rows if row.before is not None]
    mean = geometric_mean([ratio for ratio, _ in compared])
    if mean is None:
        return []
    slowest = ", ".join(f"{name} {_ratio(ratio)}" for ratio, name in sorted(compared)[:_FEW])
    return [f"against the checkout before: geometric mean {mean:.2f}x; least: {slowest}"]


def _worst(rows: Sequence[Row]) -> list[str]:
    """The kernels that stand worst beside the best peer, of those long enough for it to matter."""
    compared = [row for row in rows if row.best_ratio is not None and row.median > _SHORT_SECONDS]
    if not compared:
        return []
    ordered = sorted(compared, key=lambda row: row.best_ratio or 0.0)
    behind = [row for row in ordered if _is_behind(row)]
    few = ordered[: max(_WORST, len(behind))]
    at_the_roof = sum(row.roof is not None and row.roof >= _AT_THE_ROOF for row in rows)
    width = max(len(row.name) for row in few)
    return [
        f"{at_the_roof} of {len(rows)} kernels reach {_AT_THE_ROOF:.0%} of the roof",
        f"of {len(compared)} kernels above {_SHORT_SECONDS * 1e6:.0f} µs {len(behind)} are below {_BEHIND} of the "
        f"best peer and below {_AT_THE_ROOF:.0%} of the roof; those that stand worst:",
        *(
            f"  {row.name:<{width}}  {_ratio(row.best_ratio)} of {row.best_peer}, {_milliseconds(row.median)} ms"
            + ("" if row.roof is None else f", {row.roof:.0%} of the roof ({row.bound})")
            for row in few
        ),
    ]


def _is_behind(row: Row) -> bool:
    is_slow = row.best_ratio is not None and row.best_ratio < _BEHIND
    return is_slow and (row.roof is None or row.roof < _AT_THE_ROOF)


def _compile_times(rows: Sequence[Row]) -> str:
    processor = [row.compile_cpu_seconds for row in rows]
    outside = [row.compile_cpu_seconds - row.llvm_cpu_seconds for row in rows]
    return (
        f"compile time of the processor: median {median(processor):.3f} s, {median(outside):.3f} s of it outside "
        f"LLVM; most {max(processor):.3f} s, {max(outside):.3f} s outside LLVM; by the clock median "
        f"{median(row.compile_seconds for row in rows):.3f} s"
    )


def disturbed(outcomes: Sequence[Outcome], slowed: Sequence[str]) -> list[str]:
    """
    Lines when other processes, or neighbours of a virtual machine, took so much of the cores that medians say less. `slowed`
    are the names of the programs that neighbours slowed.
    """
    lines: list[str] = []
    if busy := [outcome.name for outcome in outcomes if outcome.interrupted > 0.5]:
        lines.append(
            f"the machine was busy: most samples of {len(busy)} of {len(outcomes)} were interrupted ({_some(busy)})"
        )
    if slowed:
        lines.append(
            f"the cores were slower than at other times of this run for {len(slowed)} of {len(outcomes)} ({_some(slowed)}): "
            "run these again"
        )
    return lines


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + ", …" * (len(names) > _MOST_NAMES)


def geometric_mean(values: Sequence[float]) -> float | None:
    return exp(sum(map(log, values)) / len(values)) if values else None


def pass_table(outcomes: Sequence[Outcome]) -> str:
    """Milliseconds by pass, summed over the programs, in the order of the passes."""
    total: dict[str, float] = {}
    for outcome in outcomes:
        for name, seconds in outcome.passes:
            total[name] = total.get(name, 0.0) + seconds
    return timing_table(list(total.items()))


def points(rows: Sequence[Row]) -> list[Point]:
    """
    Where the programs stand in the roofline picture; those that compute nothing do not.

    A program has no name there when one before it stands so near that the names would lie on each other.
    """
    found: list[Point] = []
    for row in rows:
        if row.flops_per_second:
            point = Point(row.name, row.intensity, row.flops_per_second)
            is_free = not any(other.name and _is_near(point, other) for other in found)
            found.append(point if is_free else replace(point, name=""))
    return found


def _is_near(a: Point, b: Point) -> bool:
    across, up = abs(log2(a.intensity / b.intensity)), abs(log10(a.flops / b.flops))
    return across < _NAME_WIDTH and up < _NAME_HEIGHT


def write_json(
    path: Path,
    rows: Sequence[Row],
    outcomes: Sequence[Outcome],
    *,
    host: Target,
    options: dict[str, Any],
    roofs: Roofs,
    peers: Mapping[str, Description],
) -> None:
    """Everything that was measured, the samples too. Raises StepwellError when it cannot be written."""
    by_name = {row.name: asdict(row) for row in rows}
    data: dict[str, Any] = {
        "machine": {
            **asdict(machine(host)),
            "system": platform.platform(),
            "rates": asdict(host.rates),
        },
        **options,
        "roofs": asdict(roofs.of_all(outcomes).rates) if roofs.is_known else None,
        "peers": {name: asdict(description) for name, description in peers.items()},
        "programs": [{**by_name.get(o.name, {}), **asdict(o)} for o in outcomes],
    }
    try:
        path.write_text(json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise StepwellError(
            f"cannot write the measurements: {error.strerror}; name another file", where=str(path)
        ) from error

"""What `stepwell bench` shows: the table, its summary, the time of each pass, JSON and the roofline."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from math import exp, log, log2, log10
from pathlib import Path
from statistics import median
from typing import Any

from ..driver.pass_manager import timing_table
from ..errors import StepwellError
from ..runtime.measure import Timing, Work, roof
from ..runtime.roofline import Point
from ..targets.target import Target
from .bench_peers import OURS
from .bench_worker import Outcome

_HEADINGS = {"onnxruntime": "ort"}
_NONE = "-"
_NAME_WIDTH, _NAME_HEIGHT = 2.5, 0.06
"""Of a name in the picture: powers of two of intensity, and of ten of FLOP/s."""


@dataclass(frozen=True)
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
    ratios: dict[str, float]
    """a peer's median over ours: above 1, we are faster"""

    @property
    def best_ratio(self) -> float | None:
        """Against the fastest peer."""
        return min(self.ratios.values(), default=None)


def row(outcome: Outcome, target: Target, threads: int) -> Row:
    """The numbers of a program that was measured. `roof` and `bound` are None on a machine not probed."""
    timings = {name: Timing(tuple(samples)) for name, samples in outcome.samples.items()}
    ours, work = timings[OURS], Work(**outcome.work)
    bound = roof(work, target, threads) if target.is_measured else None
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
        sum(seconds for _, seconds in outcome.passes),
        {
            name: timing.median / ours.median
            for name, timing in timings.items()
            if name != OURS and ours.median
        },
    )


class Table:
    """Lines of a table that is printed while it is measured: every column has a width from the start."""

    def __init__(self, names: Iterable[str], peers: Sequence[str]):
        self._peers = peers
        self._width = max([len("kernel"), *map(len, names)])

    def heading(self) -> str:
        ratios = "".join(f"{_HEADINGS.get(peer, peer):>10}" for peer in self._peers)
        best = f"{'best':>8}" if self._peers else ""
        return (
            f"{'kernel':<{self._width}}{'median ms':>11}{'min ms':>10}{'GFLOP/s':>9}{'GB/s':>8}{'% roof':>8}"
            f"  {'bound by':<8}{'compile s':>10}{ratios}{best}"
        )

    def line(self, row: Row) -> str:
        gflops = _NONE if row.flops_per_second is None else f"{row.flops_per_second / 1e9:.1f}"
        part = _NONE if row.roof is None else f"{100 * row.roof:.0f}"
        ratios = "".join(f"{_ratio(row.ratios.get(peer)):>10}" for peer in self._peers)
        best = f"{_ratio(row.best_ratio):>8}" if self._peers else ""
        return (
            f"{row.name:<{self._width}}{_milliseconds(row.median):>11}{_milliseconds(row.least):>10}"
            f"{gflops:>9}{row.bytes_per_second / 1e9:>8.1f}{part:>8}  {row.bound or _NONE:<8}"
            f"{row.compile_seconds:>10.2f}{ratios}{best}"
        )

    def failure(self, name: str, message: str) -> str:
        return f"{name:<{self._width}}  fails: {message}"


def _ratio(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}x"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.4g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def summary(rows: Sequence[Row], peers: Sequence[str], outcomes: Sequence[Outcome]) -> list[str]:
    """Geometric means of the ratios by group and peer, and how long compiling takes."""
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
    compiling = [row.compile_seconds for row in rows]
    processor = median(o.compile_cpu_seconds for o in outcomes if not o.error)
    lines.append(
        f"compile time: median {median(compiling):.3f} s ({processor:.3f} s of the processor), most "
        f"{max(compiling):.3f} s"
    )
    return lines


def disturbed(outcomes: Sequence[Outcome]) -> list[str]:
    """A line when other processes took the cores so often that medians say less."""
    names = [outcome.name for outcome in outcomes if outcome.interrupted > 0.5]
    if not names:
        return []
    return [
        f"the machine was busy: most samples of {len(names)} of {len(outcomes)} were interrupted ({', '.join(names[:6])}"
        f"{', …' if len(names) > 6 else ''})"
    ]


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
    target: Target,
    options: dict[str, Any],
    versions: dict[str, str],
) -> None:
    """Everything that was measured, the samples too. Raises StepwellError when it cannot be written."""
    by_name = {row.name: asdict(row) for row in rows}
    data: dict[str, Any] = {
        "machine": {
            "cpu": target.cpu,
            "cores": target.cores,
            "caches": [asdict(cache) for cache in target.caches],
            "system": platform.platform(),
            "rates": asdict(target.rates),
        },
        **options,
        "versions": versions,
        "programs": [{**by_name.get(o.name, {}), **asdict(o)} for o in outcomes],
    }
    try:
        path.write_text(json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise StepwellError(
            f"cannot write the measurements: {error.strerror}; name another file", where=str(path)
        ) from error

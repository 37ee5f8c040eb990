"""
The roofline of a machine as a picture: what it can compute per second, by the operations per byte moved.

Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
Architectures", CACM 52(4), 2009; one roof for each level of memory as in Ilic, Pratas and Sousa,
"Cache-aware Roofline Model", IEEE CAL 13(1), 2014.
"""

# matplotlib is optional, and has types of its own making.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from math import ceil, log2
from pathlib import Path
from typing import Any

from ..errors import StepwellError
from ..frozen import frozen
from ..targets.rates import LEVELS
from ..targets.target import Target

PICTURES = (".png", ".svg", ".pdf")

_COLOURS = ("#1f77b4", "#2ca02c", "#ff7f0e", "#d62728")
"""Of the levels of memory, from the innermost."""


@frozen
class Point:
    """A kernel in the picture: FLOP per byte, and FLOP/s."""

    name: str
    intensity: float
    flops: float


def check_picture(path: Path) -> None:
    """Raises StepwellError for a name that does not end like a picture's, or when matplotlib is missing."""
    if path.suffix not in PICTURES:
        raise StepwellError(
            f"found a picture ending in '{path.suffix}', expected one of {', '.join(PICTURES)}; rename it",
            where=str(path),
        )
    try:
        import_module("matplotlib")
    except ImportError:
        raise StepwellError(
            "found no matplotlib, expected it for drawing; pip install 'stepwell[bench]', or do without "
            "the picture",
            where=str(path),
        ) from None


def new_figure(columns: int = 1) -> tuple[Any, list[Any]]:
    """A figure and its axes beside each other, drawn without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8 if columns == 1 else 6 * columns, 5.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [figure.add_subplot(1, columns, 1 + column) for column in range(columns)]
    for axes in panels:
        axes.grid(visible=True, which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def save_figure(figure: Any, path: Path) -> None:
    """Raises StepwellError when the file cannot be written."""
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise StepwellError(
            f"cannot write the picture: {error.strerror}; name another file", where=str(path)
        ) from error


def draw_roofline(target: Target, path: Path, *, title: str, points: Sequence[Point] = ()) -> None:
    """
    Draw the roofs of one core (solid) and of all (dashed), and `points` below them.

    Raises StepwellError as `check_picture` and `save_figure` do.
    """
    check_picture(path)
    figure, (axes,) = new_figure()
    last = max([256.0, *(point.intensity for point in points)])
    intensities = [2.0**n for n in range(-6, ceil(log2(last)) + 1)]
    for threads in sorted({1, target.cores}):
        _draw_roofs(axes, target, threads, "-" if threads == 1 else "--", intensities)
    for point in points:
        axes.plot([point.intensity], [point.flops / 1e9], "o", color="black", markersize=4)
        place = {"textcoords": "offset points", "xytext": (5, -3), "fontsize": 8}
        axes.annotate(point.name, (point.intensity, point.flops / 1e9), **place)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(intensities[0], intensities[-1])
    axes.set_xlabel("FLOP per byte")
    axes.set_ylabel("GFLOP/s")
    axes.set_title(title, fontsize=11)
    dashed = f"dashed: {target.cores} cores" if target.cores > 1 else None
    axes.legend(loc="lower right", fontsize=8, frameon=False, title=dashed, title_fontsize=8)
    save_figure(figure, path)


def _draw_roofs(
    axes: Any, target: Target, threads: int, style: str, intensities: Sequence[float]
) -> None:
    """The roofs of each level's read bandwidth below the f32 peak, and the peak of f64."""
    peak = target.peak("f32", threads)
    caches = {cache.name for cache in target.caches}
    levels = [level for level in LEVELS if level in caches or level == "memory"]
    for level, colour in zip(levels, _COLOURS, strict=False):
        speed = target.bandwidth(level, "read", threads)
        corner = peak / speed
        xs = sorted([*intensities, corner])
        heights = [min(peak, x * speed) / 1e9 for x in xs]
        label = f"{level}, {speed / 1e9:.0f} GB/s" if threads == 1 else None
        axes.plot(xs, heights, style, color=colour, linewidth=1.4, label=label)
    who = "1 core" if threads == 1 else f"{threads} cores"
    for dtype in ("f32", "f64"):
        height = target.peak(dtype, threads) / 1e9
        if dtype == "f64":
            axes.axhline(height, color="#888888", linewidth=0.8, linestyle=style)
        # Two cores' f64 peak is one core's of f32: one stands below its line, one above.
        place = {"xytext": (-4, -3), "va": "top"} if dtype == "f64" else {"xytext": (-4, 3)}
        axes.annotate(
            f"{dtype} FMA, {who}: {height:.0f}",
            (intensities[-1], height),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            **place,
        )

"""The memory plan of a program as a picture: each buffer is a rectangle, as wide as it lives and as high as it is large."""

# matplotlib is optional, and has types of its own making.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..analysis.memory_plan import Lot, MemoryPlan
from ..errors import StepwellError
from .roofline import check_picture, new_figure, save_figure

_COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#ff9da6", "#9d755d")

_LABELLED = 0.03
"""Buffers that are at least this part of the arena have their name written in them."""


def draw_memory_plans(plans: Sequence[MemoryPlan], path: Path) -> None:
    """
    Draw the arena of each function: steps from left to right, addresses upwards, scratch of kernels hatched.

    Raises StepwellError when there is nothing to draw, and as `check_picture` and `save_figure` do.
    """
    check_picture(path)
    if not plans:
        raise StepwellError(
            "found no scratch memory to draw, expected a program with buffers between its kernels",
            where=str(path),
        )
    figure, panels = new_figure(len(plans))
    for axes, plan in zip(panels, plans, strict=True):
        _draw(axes, plan)
    save_figure(figure, path)


def _draw(axes: Any, plan: MemoryPlan) -> None:
    unit, name = _unit(plan.total)
    for number, lot in enumerate(plan.lots):
        _draw_lot(axes, lot, _COLOURS[number % len(_COLOURS)], unit, plan.total)
    line = {"color": "black", "linewidth": 0.8}
    axes.axhline(plan.total / unit, label=f"arena: {plan.total / unit:.2f} {name}", **line)
    bound = f"alive at once: {plan.lower_bound / unit:.2f} {name}"
    axes.axhline(plan.lower_bound / unit, linestyle="--", label=bound, **line)
    axes.set_xlim(0, len(plan.steps))
    axes.set_ylim(0, plan.total / unit * 1.12)
    middles = [step + 0.5 for step in range(len(plan.steps))]
    names = [step.removeprefix(f"{plan.function}.") for step in plan.steps]
    axes.set_xticks(middles, names, rotation=30, ha="right", fontsize=6)
    axes.set_ylabel(f"address in {name}")
    axes.set_title(f"{plan.function}: arena", fontsize=11)
    axes.legend(loc="upper right", fontsize=7, frameon=False, ncols=2)


def _draw_lot(axes: Any, lot: Lot, colour: str, unit: int, total: int) -> None:
    width = lot.last - lot.first + 1
    style: dict[str, Any] = {"facecolor": colour, "alpha": 0.85}
    if lot.depth:
        style = {"facecolor": "none", "hatch": "///", "alpha": 0.5}
    # As bars, which need no class of patches to be imported.
    axes.bar(
        lot.first,
        lot.size / unit,
        width,
        lot.offset / unit,
        align="edge",
        edgecolor="white" if not lot.depth else "black",
        linewidth=0.6,
        **style,
    )
    if not lot.depth and lot.size >= _LABELLED * total:
        middle = (lot.first + width / 2, (lot.offset + lot.size / 2) / unit)
        axes.annotate(lot.name, middle, ha="center", va="center", fontsize=6)


def _unit(total: int) -> tuple[int, str]:
    return next(
        (1 << shift, name)
        for shift, name in ((20, "MiB"), (10, "KiB"), (0, "bytes"))
        if total >= 1 << shift or not shift
    )

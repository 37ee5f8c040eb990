"""
Plans for reductions over windows, which are pooling and depthwise convolutions: domains and predicted time.

What a plan decides, and the model of its time, stand in `windows_plan.py` and `windows_cost.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ...frozen import replaced
from ...targets.target import Target
from ..facts import WindowReduction
from ..partitioning import is_shared
from . import windows_threads
from .cost import Cost, cost_of
from .windows_cost import Model
from .windows_plan import WindowsPlan

MOST_VECTORS = 4
"""Vectors along the axis in lanes at most, as for products."""

WRITTEN_OUT = 128
"""
Terms of a tile that are written out at most. Each is an instruction or two; more rows share hardly more of the image.
"""


def propose(found: WindowReduction, target: Target, n: int = 1) -> list[WindowsPlan]:
    """The `n` plans of least predicted time, cheapest first."""
    return list(_proposed(found, target)[:n])


def propose_with_costs(
    found: WindowReduction, target: Target, n: int = 1
) -> list[tuple[WindowsPlan, Cost]]:
    """
    The same plans with their predicted times; of a program whose threads share its buffers with what these wait for each other, and
    those with which all are done first.
    """
    if target.cores == 1 or not is_shared(found.facts):
        return [(plan, cost(plan, found, target)) for plan in propose(found, target, n)]
    plans: list[tuple[WindowsPlan, Cost]] = []
    for plan in _proposed(found, target):
        alone = cost(plan, found, target)
        if len(plans) >= n and alone.seconds >= plans[n - 1][1].seconds:
            break  # and all that follow take longer, too
        waiting = windows_threads.waiting_for_threads(plan, found, alone.seconds, target)
        plans.append((plan, cost_of((*alone.terms, ("waiting for threads", waiting)))))
        plans.sort(key=lambda pair: pair[1].seconds)
    return plans[:n]


def cost(plan: WindowsPlan, found: WindowReduction, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    return Model(found, target).cost(plan)


@lru_cache(maxsize=256)
def _proposed(found: WindowReduction, target: Target) -> tuple[WindowsPlan, ...]:
    model = Model(found, target)

    plans = [
        each
        for plan in _plans(model)
        for each in (plan, *_masked(model, plan), *_skipping(model, plan))
    ]

    def rank(plan: WindowsPlan) -> tuple[float, float, str]:
        # Of plans that all wait for memory as long, the one that computes least: waiting hides arithmetic in part only.
        terms = model.cost(plan)
        return float(f"{terms.seconds:.4g}"), dict(terms.terms)["arithmetic"], str(plan)

    return tuple(sorted(dict.fromkeys(plans), key=rank))


def _masked(model: Model, plan: WindowsPlan) -> Iterator[WindowsPlan]:
    """
    The plan without a copy of the image, where vectors have masks, and only the tile's axes go beyond its border: of others each load
    would ask whether it is inside. Lanes that take every other element have masks that are numbers only where all columns are
    written out. Terms above and below the image are left out where each row has its own; not for groups, of which plans of
    contractions leave out these and others.
    """
    if model.is_strided and any(axis in plan.outer for axis in model.r.taps(plan.lanes[0])):
        return
    r, cut = model.r, (plan.lanes[0], *(() if plan.rows is None else plan.rows[:1]))
    is_cut = all(axis in cut for axis in r.parallel if r.leaves(axis))
    has_masks = model.core.has_masks(r.facts.element_bytes(r.image))
    if plan.halo and has_masks and is_cut and r.leaves(plan.lanes[0]):
        # One row is a tile of its own, of which more than the first and the last may leave terms out.
        sizes = {} if plan.rows is None or plan.rows[1] == 1 else dict([plan.rows])
        skips = model.padding.skipped(sizes, plan.lanes[0]) if sizes else ()
        left = () if r.is_contraction or model.mixes_tiles(plan) else skips
        inside = tuple((axis, row) for axis, row in left if axis in plan.inner)
        yield replaced(plan, halo=False, strips=False, masked=True, skips=inside)


def _skipping(model: Model, plan: WindowsPlan) -> Iterator[WindowsPlan]:
    """
    The plan without a copy of the image, where nothing of that is read from outside of it when terms are left out: a tile's rows are then
    inside of the loops over the window.
    """
    if not plan.halo or plan.strips or plan.columns:
        return
    skips = model.padding.skipped(dict([] if plan.rows is None else [plan.rows]), plan.lanes[0])
    around = replaced(plan, outer=(*plan.outer, *plan.inner), inner=(), halo=False, skips=skips)
    if skips and not model.padding.leaves(skips) and model.fits(around):
        yield around


def _plans(model: Model) -> Iterator[WindowsPlan]:
    """Tiles whose accumulators leave registers for a column of the filter and for what they read of the image."""
    r, lanes = model.r, model.r.lanes
    extent, width = r.extent(lanes), model.width
    while width > 1 and width // 2 >= extent:
        width //= 2
    row_axes = [axis for axis in r.parallel if axis != lanes and r.taps(axis)]
    row = row_axes[-1] if row_axes else None
    for vectors in range(1, MOST_VECTORS + 1):
        if vectors > 1 and (vectors - 1) * width >= extent:
            return
        shared = False
        for rows in range(1, 1 if row is None else r.extent(row)) or (1,):
            plan = _plan(model, vectors * width, None if row is None else (row, rows))
            if not model.fits(plan) and vectors == 1 and not shared:
                # Terms apart leave registers to more rows, each of which loads what it reads.
                plan = replaced(plan, inner=(), outer=(*plan.outer, *plan.inner))
            elif model.fits(plan):
                # A tile that is less tall than the window shares little.
                shared = shared or rows >= r.extent(*plan.inner)
            ordered = [each for each in model.orders(plan) if model.fits(each)]
            if not ordered:
                break
            for each in ordered:
                yield each
                if each.halo and row is not None and not model.copies.is_near(each):
                    yield replaced(each, strips=True)
        if row is not None and r.extent(row) * vectors < model.core.vector_registers:
            whole = _plan(model, vectors * width, (row, r.extent(row)))
            yield from (each for each in model.orders(whole) if model.fits(each))


def _plan(model: Model, wide: int, rows: tuple[int, int] | None) -> WindowsPlan:
    """The tile with as many terms written out as make up a loop of limited size, a row's first."""
    r = model.r
    columns = r.taps(r.lanes)
    inner = () if rows is None else r.taps(rows[0])
    outer = tuple(axis for axis in r.window if axis not in (*columns, *inner))
    accumulators = -(-wide // model.width) * (1 if rows is None else rows[1])
    if accumulators * r.extent(*inner) > WRITTEN_OUT:
        inner, outer = (), (*outer, *inner)
    if accumulators * r.extent(*inner, *columns) > WRITTEN_OUT:
        columns, outer = (), (*outer, *columns)
    return WindowsPlan((r.lanes, wide), rows, outer, columns, inner, r.image.is_guarded)

"""
Plans for convolutions, and for products that have several axes of rows: their domains, and the best of them.

What a plan is, and the model of its time, stand in `convolution_plan.py` and `convolution_cost.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nsmallest
from itertools import accumulate, islice
from math import inf, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...frozen import replaced
from ...targets.target import Target
from ..facts import Contraction, Home
from .convolution_bound import Bound, Counted, Numbers
from .convolution_cost import MOST_VECTORS, Model
from .convolution_cycles import WRITTEN_OUT
from .convolution_hints import with_hints
from .convolution_plan import ConvolutionPlan, SizedAxes
from .convolution_threads import waiting_for_threads
from .cost import Cost, cost_of
from .terms_written_out import LINES_AT_ONCE

LEAST_TERMS = 64
"""Of a block of channels, as of products: with fewer, tiles spend much of their time on reading and writing sums."""

MOST_WRITTEN_OUT = 128
"""Multiply-adds of a row of the window that are written out for its masks at most."""

Planned: TypeAlias = tuple[ConvolutionPlan, Cost]

Order: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Of the dimensions of the image's padded copy, none where there is no copy, and of the summed axes."""

ROUNDED = 1 + 1e-9
"""What a bound may be more than what it bounds, as its terms are added up in another order."""


def propose(contraction: Contraction, target: Target, n: int = 1) -> list[ConvolutionPlan]:
    """The `n` plans of least predicted time, cheapest first; none where no axis of the result fits vector lanes."""
    return [plan for plan, _ in propose_with_costs(contraction, target, n)]


def propose_with_costs(
    contraction: Contraction, target: Target, n: int = 1, enough: float = inf
) -> list[Planned]:
    """The same with their predicted times, of those that take no longer than `enough`."""
    return list(_proposed(contraction, target, n, enough))


def propose_for_threads(
    contraction: Contraction, target: Target, n: int, asked: int, enough: float = inf
) -> list[Planned]:
    """
    The same, and of `asked` plans those with which threads are done first: with what these wait for each other. For a single one nothing
    is looked at that takes one core longer than another takes with that.
    """
    found = _proposed(contraction, target, max(n, asked), enough, n == 1)
    plans = [(plan, _with_waiting(plan, contraction, cost, target)) for plan, cost in found]
    return sorted(plans, key=lambda pair: pair[1].rank)[:n]


def _with_waiting(plan: ConvolutionPlan, c: Contraction, alone: Cost, target: Target) -> Cost:
    waiting = waiting_for_threads(plan, c, alone.seconds, target)
    return cost_of((*alone.terms, ("waiting for threads", waiting)))


def cost(plan: ConvolutionPlan, contraction: Contraction, target: Target) -> Cost:
    """The predicted time of one call on one thread."""
    return Model(contraction, target).cost(plan)


@lru_cache(maxsize=1024)
def _proposed(
    c: Contraction, target: Target, n: int, enough: float = inf, on_threads: bool = False
) -> tuple[Planned, ...]:
    """
    What tiles count bounds the time of their plans, before these are made: once the next one's bound is more than the `n`
    best take, these are known. Of the others, a closer bound leaves out most before all terms are predicted.

    Only those are asked for that take no longer than `enough`; and `on_threads`, than the best of them with what threads wait for. Whichever
    of the `n` is the best with that, it takes no longer: were that best one not among the `n`, they all would take less than it.
    """
    model, halo = Model(c, target), _halo_order(c)
    orders = [(halo, _summed_order(c, halo))]
    if halo and model.padding.inside:
        orders.append(((), _summed_order(c, ())))  # the image as it is, without what is outside
    tiles = [
        some
        for axis in c.parallel
        if model.extents[axis] > 1
        for some in _tiles_with_lanes(c, model, axis, orders)
    ]
    found: list[tuple[float, ConvolutionPlan, Cost]] = []
    most = enough * ROUNDED
    for tile in _by_least(tiles):
        if tile.least > most:
            break
        for bare in _plans(c, model, tile, orders, most):
            if model.least(bare, most, hints=False) > most:
                continue
            plan = with_hints(model, bare)
            if model.least(plan, most) > most:
                continue
            alone = model.cost(plan)
            if alone.seconds > most:
                continue
            found.append((alone.seconds, plan, alone))
            if on_threads:
                most = min(most, _with_waiting(plan, c, alone, target).seconds * ROUNDED)
            if len(found) >= n:
                slowest = nsmallest(n, (seconds for seconds, *_ in found))[-1]
                most = min(most, slowest * ROUNDED)
    found.sort(key=lambda one: (one[0], model.spread(one[1]), str(one[1])))
    return tuple((plan, alone) for _, plan, alone in found)[:n]


class _Tile(NamedTuple):
    """A register tile that fits, and what its plans take at least."""

    least: float
    lanes: tuple[int, int]
    others: tuple[int, ...]
    """axes that it may extend along beside the one in lanes"""
    sizes: tuple[int, ...]
    """along these"""
    packs: bool
    left_first: bool
    """whether the right operand's vectors are no fewer than what is loaded of the left one"""
    of_orders: tuple[tuple[float, float], ...]
    """what they take at least in each order where places of the window share nothing, and if they do"""

    @property
    def sized_axes(self) -> SizedAxes:
        around = [sized for sized in zip(self.others, self.sizes, strict=True) if sized[1] > 1]
        return (*around, self.lanes)


class _Tiles(NamedTuple):
    """Tiles with as many vectors of an axis in lanes: what the fields of `_Tile` are of each, in numbers and truths."""

    least: Numbers
    lanes: tuple[int, int]
    others: tuple[int, ...]
    sizes: Numbers
    packs: bool
    left_first: np.ndarray[Any, np.dtype[np.bool_]]
    of_orders: tuple[tuple[Numbers, Numbers], ...]

    def tile(self, number: int) -> _Tile:
        sizes = tuple(self.sizes[number].astype(int).tolist())
        left_first = bool(self.left_first[number])
        least = float(self.least[number])
        of_orders = tuple(
            [(float(apart[number]), float(any_[number])) for apart, any_ in self.of_orders]
        )
        return _Tile(least, self.lanes, self.others, sizes, self.packs, left_first, of_orders)


def _by_least(tiles: Sequence[_Tiles]) -> Iterator[_Tile]:
    """Those that take least first. Only few are asked for, of many hundreds."""
    if not tiles:
        return
    ends = list(accumulate(len(some.least) for some in tiles))
    order = np.argsort(np.concatenate([some.least for some in tiles]), kind="stable")
    for number in order.tolist():
        at = bisect_right(ends, number)
        yield tiles[at].tile(number - ends[at])  # counted from the end


def _tiles_with_lanes(
    c: Contraction, model: Model, axis: int, orders: Sequence[Order]
) -> Iterator[_Tiles]:
    """
    Tiles whose accumulators fit the registers beside what is loaded of the operand in lanes and one element of the other, or all of
    the other and the vectors that are loaded of the first one at once.
    """
    extent, width = model.extents[axis], model.lanes
    while width > 1 and width // 2 >= extent:
        width //= 2
    others = _other_axes(c, model, axis)
    extents = tuple(model.extents[other] for other in others)
    dimension = c.right.dimension_of(axis)
    shares = any(c.right.dimension_of(a) == dimension for a in (*c.batch, *c.n) if a != axis)
    packs = c.stride(c.right, axis) != 1 if axis in c.n else _can_pack_rows(c, model, axis)
    registers = model.core.vector_registers
    for vectors in range(1, MOST_VECTORS + 1):
        if vectors > 1 and (vectors - 1) * width >= extent:
            return
        if packs and axis in c.n and shares and extent % (vectors * width):
            continue  # panels would begin inside of a group
        lanes = (axis, vectors * width)
        bounds = [Bound(model, lanes, others, packs, order) for order in orders]
        most = registers // vectors
        if model.is_window_alone:
            most //= 2  # the other half is for elements that several terms share
        sizes = _size_table(tuple(min(size, most) for size in extents), most)
        found = bounds[0].counted(sizes)
        in_lanes, other = (
            (found.right, found.left) if model.right[axis] else (found.left, found.right)
        )
        used = found.rows * vectors + np.minimum(in_lanes + 1, other + vectors)
        fits = used <= registers
        sizes, found = sizes[fits], Counted(*(numbers[fits] for numbers in found))
        left_first = found.left <= found.right
        of_orders = tuple(bound.apart_and_together(sizes, found) for bound in bounds)
        least = np.min([least for _, least in of_orders], axis=0)
        yield _Tiles(least, lanes, others, sizes, packs, left_first, of_orders)


def _can_pack_rows(c: Contraction, model: Model, lanes: int) -> bool:
    """
    Whether weights whose elements are broadcast may be packed, so that those of a term are neighbours: constants, once, which are not so
    already and of which no panel begins inside of a group.
    """
    rows = next((axis for axis in c.n if axis != lanes and model.extents[axis] > 1), None)
    if rows is None or model.is_window_alone or c.stride(c.right, rows) == 1:
        return False
    dimension = c.right.dimension_of(rows)
    others = (axis for axis in (*c.batch, *c.n) if axis != rows)
    is_shared = any(c.right.dimension_of(axis) == dimension for axis in others)
    return not is_shared and c.facts.buffers[c.right.buffer].home is Home.CONSTANT


def _is_crowded(c: Contraction, sizes: SizedAxes) -> bool:
    """
    Whether a tile has more outputs than lines that L1 is asked for at once: where they are not packed, each output's weights are in lines
    of their own, which all end at one term. (Over 256 channels of 56 x 56, packing took 0.96 of the time on Intel's Granite Rapids with
    tiles of 13 outputs, 0.99 with 8, and with AVX2 1.02 with 6.)
    """
    return prod(size for axis, size in sizes[:-1] if axis in c.n) > LINES_AT_ONCE


def _plans(
    c: Contraction, model: Model, tile: _Tile, orders: Sequence[Order], most: float
) -> Iterator[ConvolutionPlan]:
    """
    The plans that have a tile, without hints: with a copy of the image in its border, and without where no term outside is left, or masks say which
    lanes are inside. Those whose bounds are more than the `most` that is asked for are not among them.
    """
    sizes = tile.sized_axes if tile.left_first else _with_columns_inside(tile.sized_axes, c)
    is_alone = model.is_window_alone
    skips = () if is_alone else model.padding.skipped(dict(sizes), tile.lanes[0])
    for (halo, summed), (apart, least) in zip(orders, tile.of_orders, strict=True):
        if least > most:
            continue
        is_read = not halo and len(orders) > 1
        packs = tile.packs and (tile.lanes[0] in c.n or _is_crowded(c, sizes))
        plan = ConvolutionPlan(
            sizes, summed, halo, packs, is_alone, model.result_is_far, skips=skips
        )
        beyond = model.padding.beyond(skips) if is_read and not is_alone else frozenset[int]()
        if is_read and (is_alone or beyond):
            plan = replaced(plan, masked=True)
            if is_alone or not model.has_masks(plan, beyond):
                continue
        ordered = [*_with_rows_written_out(model, plan)]
        if apart <= most:
            ordered = [plan, *_with_window_inside(model, plan), *ordered]
        for one in ordered:
            if apart <= most or one.shares_row:
                yield from _in_blocks(c, model, one)


def _in_blocks(c: Contraction, model: Model, plan: ConvolutionPlan) -> Iterator[ConvolutionPlan]:
    """The same with blocks of channels, and in the orders of its tiles."""
    several = [*_orders(c, model, plan), *_in_depths(model, plan)]
    for block in _blocks(model, plan):
        for each in several:
            yield replaced(each, block=block) if block != each.block else each


def _blocks(model: Model, plan: ConvolutionPlan) -> Iterator[int]:
    """
    The channels for which the window goes by at a time: all of them, 0; where L1 does not keep what a tile reads of these, the
    largest equal blocks of which it does.
    """
    yield 0
    channels = model.terms_of_run(plan)
    if not model.has_blocks(plan.summed) or channels == model.terms:
        return
    sizes = (channels // count for count in range(2, channels) if channels % count == 0)
    if not model.keeps_run(plan, channels):
        yield from islice((n for n in sizes if model.keeps_run(plan, n)), 1)


def _orders(c: Contraction, model: Model, plan: ConvolutionPlan) -> Iterator[ConvolutionPlan]:
    """
    The same with axes of rows that blocks of weights are inside of: none; where the image leaves L2, all if the weights do not, and
    that of the images of a batch if each of them stays, or the outermost one of pixels that no two tiles share, and as many of these
    at a time as stay.
    """
    yield plan
    if not model.image_returns(plan):
        return
    if model.weights_stay:
        yield replaced(plan, outside=c.m)
    outermost = [axis for axis in c.m if model.extents[axis] > 1][:1]
    images = tuple(axis for axis in outermost if model.traffic.is_apart(axis))
    if not images or model.image_returns(one := replaced(plan, outside=images)):
        return
    yield one
    if plan.halo or plan.size(images[0]) > 1:
        return
    extent = model.extents[images[0]]
    sizes = dict.fromkeys(-(-extent // parts) for parts in range(2, extent))
    several = (replaced(one, at_a_time=size) for size in sizes if size > 1)
    yield from (each for each in several if not model.image_returns(each))


def _in_depths(model: Model, plan: ConvolutionPlan) -> Iterator[ConvolutionPlan]:
    """
    The same with sums by blocks of channels, where the image leaves L2 from one block of weights to the next: the largest equal blocks of which
    L2 keeps the image, and those of which L1 keeps a block of weights while tiles read that. (With AVX2 on Intel's Granite Rapids 2048 x 512 outputs of
    7 x 7 took 0.94 of the time so even where the image stays in L2, with AVX-512 1.02 to 1.05.)
    """
    if not (model.may_have_depths and plan.packs and model.image_returns(plan)):
        return
    channels = model.terms_of_run(plan)
    sizes = (channels // n for n in range(2, channels // LEAST_TERMS + 1) if channels % n == 0)
    deep = (replaced(plan, depth=size) for size in sizes)
    kept = [each for each in deep if not model.image_returns(each)]
    near = [each for each in kept if model.keeps_run(plan, each.depth)]
    yield from dict.fromkeys((*kept[:1], *near[:1]))


def _with_columns_inside(tile: SizedAxes, c: Contraction) -> SizedAxes:
    """
    A tile with the axes of N inside of those of M: the right operand's vectors stay in registers, and the left one's
    elements go by one at a time.
    """
    *around, lanes = tile
    rows = [sized for sized in around if sized[0] in c.m]
    columns = [sized for sized in around if sized[0] not in c.m]
    return (*rows, *columns, lanes)


@lru_cache(maxsize=256)
def _sizes(extents: tuple[int, ...], most: int) -> tuple[tuple[int, ...], ...]:
    """How many elements along each axis, so many in all at most."""
    if not extents:
        return ((),)
    return tuple(
        (size, *rest)
        for size in range(1, min(extents[0], most) + 1)
        for rest in _sizes(extents[1:], most // size)
    )


@lru_cache(maxsize=256)
def _size_table(extents: tuple[int, ...], most: int) -> Numbers:
    """The same as a table, of a row for each."""
    sizes = _sizes(extents, most)
    return np.array(sizes, np.float64).reshape(len(sizes), len(extents))


def _other_axes(c: Contraction, model: Model, lanes: int) -> tuple[int, ...]:
    """The axes that a tile may extend along beside that in lanes: two of M, one of N."""
    m = [axis for axis in c.m if axis != lanes and model.extents[axis] > 1][-2:]
    n = [axis for axis in c.n if axis != lanes and model.extents[axis] > 1][-1:]
    return (*n, *m)


def _halo_order(c: Contraction) -> tuple[int, ...]:
    """
    The order of the dimensions of an image's padded copy; empty where it has no border.

    Channels, dimensions that only summed axes move, come right outside of the last one that an axis of the result
    moves: all that a tile reads is near together then.
    """
    if not c.left.is_guarded:
        return ()
    moved = [
        n
        for n, s in enumerate(c.left.subscripts)
        if s is not None and any(s.coefficients[axis] for axis in c.m)
    ]
    dimensions = list(range(len(c.left.subscripts)))
    if not moved:
        return tuple(dimensions)
    last = moved[-1]
    channels = [
        n
        for n, s in enumerate(c.left.subscripts)
        if n < last and n not in moved and s is not None and any(s.coefficients)
    ]
    before = [n for n in dimensions[:last] if n not in channels]
    return (*before, *channels, *dimensions[last:])


def _with_window_inside(model: Model, plan: ConvolutionPlan) -> Iterator[ConvolutionPlan]:
    """
    The same with the last axis of the window inside of the channels, where there are several of both and the image's elements are
    broadcast where it is, each channel's from lines of their own: loops over a row of the window are short, and their ends foreseen.

    In a copy of the image the channels of a row are next to each other, and one loop over them reads on and on. (On Intel's Granite Rapids this
    took 0.97 of the time with 64 channels of 56 x 56 where they are, with AVX2 0.95; in copies 1.02 to 1.05, of 512 x 7 x 7 to 128 x 28 x 28.)
    """
    c, summed = model.c, plan.summed
    if plan.halo or len(summed) < 2 or plan.lanes not in c.n or not model.has_blocks(summed):
        return
    *others, row, channels = summed
    is_near = model.step((), c.left, channels) * c.left_bytes < model.line
    if is_near or row not in c.window or min(model.extents[row], model.extents[channels]) == 1:
        return
    inside = replaced(plan, summed=(*others, channels, row), window_inside=True)
    if model.written_out_part(inside) < 1:
        yield inside


def _with_rows_written_out(model: Model, plan: ConvolutionPlan) -> Iterator[ConvolutionPlan]:
    """
    The same with a row of the window written out inside of the channels, where neighbouring elements of a tile read the same ones of the
    image at several places of the row, and registers keep these beside the tile from one place to the next; and where masks say which
    lanes are inside of the image, those of a few places.
    """
    c, summed = model.c, plan.summed
    if len(summed) < 2 or not model.has_blocks(summed):
        return
    *others, row, channels = summed
    if row not in c.window or not 1 < model.extents[row] <= WRITTEN_OUT:
        return
    inside = replaced(plan, summed=(*others, channels, row), window_inside=True)
    is_short = model.extents[row] * model.accumulators(plan) <= MOST_WRITTEN_OUT
    has_registers = model.registers_of_row(inside) <= model.core.vector_registers
    if plan.masked and is_short and has_registers:
        yield replaced(inside, writes_row=True)
    if plan.lanes not in c.n:
        return
    inside = replaced(inside, shares_row=True)
    kept = model.kept_of_row(inside)
    if kept and model.accumulators(plan) + kept <= model.core.vector_registers:
        yield inside


def _summed_order(c: Contraction, halo: tuple[int, ...]) -> tuple[int, ...]:
    """
    The summed axes: blocks of channels, the window, and inside of it the innermost axis of channels. Sums that may
    not be reordered stay as they are.

    Where neighbouring elements of the image are in lanes or broadcast one after the other, two places of a window
    share most of them: were the window innermost, LLVM would keep what they share in registers that the tile needs.
    """
    if not c.statement.reassociates:
        return c.k
    order = halo or tuple(range(len(c.left.subscripts)))

    def place(axis: int) -> int:
        dimension = c.left.dimension_of(axis)
        return -1 if dimension is None else order.index(dimension)

    channels = sorted((axis for axis in c.k if axis not in c.window), key=place)
    window = sorted(c.window, key=place)
    return (*channels[:-1], *window, *channels[-1:])

"""What the hints in the tiles of convolutions ask for."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import Contraction
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.analysis.plans.convolution_hints import asks_for_result, with_hints
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.analysis.plans.cost import TIMES_ASKED, terms_ahead
from stepwell.dialects import loop
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

from .planned_convolutions import compiled_as_is, convolution_of, scheduled_by


@pytest.mark.parametrize(
    ("channels", "window", "parts", "wide", "passed"),
    [
        (
            27,
            1,
            9,
            6,
            "+ 13) floordiv 27",
        ),  # the last part asks for the next pixels' first channels
        (27, 1, 9, 24, "+ 13) floordiv 27"),  # of the next row, where a tile has all of one
        (96, 1, 8, 6, "+ 13) floordiv 96"),  # a part of 8 terms as a whole, 9 + 8 / 2 ahead
        (96, 1, 0, 6, ""),
        (24, 3, 0, 6, ""),  # the next element of the window has what is near already
    ],
)
def test_hints_go_on_beyond_the_last_channel(
    channels: int, window: int, parts: int, wide: int, passed: str
):
    rng, target = np.random.default_rng(5), Target.of("host")
    x = rng.standard_normal((1, channels, 12, 48), np.float32)
    weights = rng.standard_normal((40, channels, window, window), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights, stride=2)).lower(x)
    found = convolution_of(low)
    pixels, outputs = found.m[-1], found.n[-1]
    *_, last = (axis for axis in found.k if axis not in found.window)
    plan = ConvolutionPlan(
        ((pixels, wide), (outputs, target.core.lanes(4))),
        (*found.window, last),
        (),
        packs=True,
        prefetch_terms=9,
        between_hints=parts,
        prefetch_result=parts > 0,
    )
    module = scheduled_by(low, plan, target)
    kernel = kernels(module)[-1]
    image = kernel.args[0]
    hints = [op for op in kernel.walk() if isinstance(op, loop.PrefetchOp) and op.buffer is image]
    assert hints
    for hint in hints:
        text = ", ".join(str(each) for each in hint.map.data.results)
        assert passed in text and ("floordiv" in text) == bool(passed), text
    result = compiled_as_is(module, target)(x)
    np.testing.assert_allclose(result, low.compile(threads=1)(x), rtol=1e-5, atol=1e-4)


def test_short_sums_are_in_parts_of_which_each_asks_for_the_next_one():
    """
    As many terms as are under way, or what parts have more or less: of 32 half, of 31 none, of 64 a quarter rather than an eighth. So of long
    ones, too, of which as many are a tenth; else so many as there are.
    """
    core = Target.of("sapphire-rapids").core
    under_way = int(core.terms_under_way(24, 10))
    assert under_way == 15
    short = ((32, 16), (30, 15), (31, 0), (16, 8), (12, 0), (48, 16), (64, 16), (96, 16), (150, 15))
    for terms, ahead in (*short, (97, 15), (160, 15)):
        assert terms_ahead(core, 24, 10, 4, terms, in_parts=True) == ahead, terms
    assert terms_ahead(core, 24, 10, 4, 31) == under_way
    x, weights = np.zeros((1, 32, 56, 56), np.float32), np.zeros((16, 32, 1, 1), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights, stride=2)).lower(x)
    found = convolution_of(low)
    target = Target.of("sapphire-rapids")
    plans = convolution.propose(found, target, 100)
    asking = [plan for plan in plans if plan.prefetch_terms]
    assert asking and all(plan.between_hints == plan.prefetch_terms for plan in asking)
    assert all(32 % plan.prefetch_terms == 0 for plan in asking)


def convolved(channels: int, outputs: int, side: int) -> Contraction:
    x, w = np.zeros((1, channels, side, side), np.float32), np.zeros((outputs, channels, 1, 1))
    low = sw.jit(lambda x: sw.conv(x, w.astype(np.float32))).lower(x)
    return convolution_of(low)


@pytest.mark.parametrize(
    ("channels", "outputs", "side", "parts", "ahead"),
    [
        (96, 24, 28, 16, 16),  # nothing but these hints
        (512, 64, 14, 0, 14),  # a long sum
        (256, 64, 56, 16, 16),  # parts for the result and the next pixels
        (256, 128, 56, 32, 14),  # which are too long for this
    ],
)
def test_terms_are_asked_for_by_whole_parts(
    channels: int, outputs: int, side: int, parts: int, ahead: int
):
    """Where the last of several parts asked for terms within one, the others of that part would be beyond the end, or before the beginning."""
    target = Target.of("sapphire-rapids")
    found = convolved(channels, outputs, side)
    model, (first, *_) = Model(found, target), convolution.propose(found, target, 1)
    plan = replace(first, tile=((found.n[-1], 8), (found.m[-1], 48)), prefetch_result=False)
    made = with_hints(model, replace(plan, outside=found.m if side == 56 else ()))
    assert (made.between_hints, made.prefetch_terms) == (parts, ahead)


@pytest.mark.parametrize(
    ("channels", "is_beside", "asks"),
    [(2048, False, True), (2048, True, False), (64, False, False)],
)
def test_results_are_asked_for_where_tiles_compute_as_long_as_l1_waits_for_the_hints(
    channels: int, is_beside: bool, asks: bool
):
    """With few terms for each line loads would wait behind the hints; and lines beside those of the tile before are followed by prefetchers."""
    found, target = convolved(channels, 128, 56), Target.parse("sapphire-rapids:l2=1M")
    model, (first,) = Model(found, target), convolution.propose(found, target, 1)
    tile, outside = ((found.n[-1], 8), (found.m[-1], 48)), () if is_beside else found.m
    plan = replace(first, tile=tile, outside=outside)
    assert model.result_is_far and asks_for_result(model, plan) == asks


@pytest.mark.parametrize(
    ("channels", "outputs", "side", "parts"),
    [
        (960, 160, 7, 32),  # ten tiles share a block of 960 lines
        (512, 64, 7, 32),  # of 512
        (930, 160, 7, 31),
        (48, 1024, 7, 12),  # parts for terms to come have those as well
        (997, 160, 7, 0),  # and one that has none
    ],
)
def test_many_tiles_ask_for_the_next_block_of_weights_by_parts(
    channels: int, outputs: int, side: int, parts: int
):
    """In each term they would ask for each line ten times."""
    target = Target.parse("x86-64-v3:l2=128K")
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1, channels, side, side), np.float32)
    weights = rng.standard_normal((outputs, channels, 1, 1), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights), target=target).lower(x)
    found = convolution_of(low)
    model, (first, *_) = Model(found, target), convolution.propose(found, target, 1)
    tile = (found.m[-1], 5), (found.n[-1], 16)
    plan = replace(first, tile=tile, packs=True, outside=(), depth=0)
    plan = with_hints(model, plan)
    assert plan.prefetch_block == (parts > 0) and plan.between_hints == parts
    if not parts:
        return
    (kernel,) = kernels(scheduled_by(low, plan, target))
    hints = [op for op in kernel.walk() if isinstance(op, loop.PrefetchOp)]
    asked = sum(_trips_inside_of_blocks(op) for op in hints if op.locality.value.data == 2)
    lines = channels * 16 * 4 // 64
    assert lines <= asked <= TIMES_ASKED * lines
    assert asked / lines == pytest.approx(
        model.hints_for_block(plan) * channels * 10 / lines, rel=0.1
    )


def _trips_inside_of_blocks(hint: loop.PrefetchOp) -> int:
    """How often a hint is given in each iteration of the outermost loop around it, over blocks of weights."""
    trips: list[int] = []
    around = hint.parent_op()
    while isinstance(around, loop.ForOp):
        trips.append(around.constant_trip_count() or 0)
        around = around.parent_op()
    return prod([count for count in trips if count != 1][:-1])

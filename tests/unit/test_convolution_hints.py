"""What the hints in the tiles of convolutions ask for."""

from __future__ import annotations

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.analysis.plans.cost import terms_ahead
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
    """About as many terms as are under way: of 32 half, of 31 none; of long ones so many as there are."""
    core = Target.of("sapphire-rapids").core
    under_way = int(core.terms_under_way(24, 10))
    for terms, ahead in ((32, 16), (30, 15), (31, 0), (16, 8), (12, 0), (48, 16), (96, under_way)):
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

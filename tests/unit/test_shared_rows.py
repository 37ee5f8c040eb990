"""Tiles of convolutions whose places in a row of the window share the elements of the image that they read."""

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.analysis.plans.convolution_padding import Padding
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.targets.target import Target

from .planned_convolutions import compiled_as_is, convolution_of, scheduled_by


def lowered(channels: int, size: int, outputs: int, window: int = 3, target: str = "host", **more):
    rng = np.random.default_rng(7)
    weights = rng.standard_normal((outputs, channels, window, window), np.float32)
    x = rng.standard_normal((1, channels, size, size), np.float32)
    options = {"padding": window // 2, **more}
    return x, sw.jit(lambda x: sw.conv(x, weights, **options), target=target).lower(x)


def shared(found, rows: int, lanes: int, hints: int = 0) -> ConvolutionPlan:
    (kh, kw), outputs = found.window, found.n[-1]
    (channels,) = (axis for axis in found.k if axis not in found.window)
    tile = ((found.m[-1], rows), (outputs, lanes))
    return ConvolutionPlan(
        tile,
        (kh, channels, kw),
        (),
        packs=True,
        prefetch_result=hints > 0,
        prefetch_weights=hints > 0,
        prefetch_block=hints > 0,
        skips=Padding(found).skipped(dict(tile), outputs),
        prefetch_terms=hints,
        window_inside=True,
        shares_row=True,
    )


@pytest.mark.parametrize("hints", [0, 7])
@pytest.mark.parametrize(
    ("window", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (5, 1, 1), (3, 1, 2), (7, 2, 1)]
)
def test_places_that_share_elements_add_up_to_the_same_sums(
    window: int, stride: int, dilation: int, hints: int
):
    """Of tiles in the middle of a row, at its ends, which leave terms out, and of the last ones, which are smaller."""
    target = Target.of("host")
    border = dilation * (window // 2)
    more = {"stride": stride, "dilation": dilation, "padding": border}
    x, low = lowered(6, 19 * stride, 40, window, **more)
    plan = shared(convolution_of(low), 4, target.core.lanes(4), hints)
    assert len(plan.skips) == 2
    found = compiled_as_is(scheduled_by(low, plan, target), target)(x)
    np.testing.assert_allclose(found, low.compile(threads=1)(x), rtol=1e-5, atol=1e-4)


def test_tiles_leave_registers_for_a_row_of_weights():
    """Of 32: 12 x 2 sums, 3 x 2 vectors of weights, an element and the next one. With a stride elements stay, and weights of a place."""
    _, low = lowered(64, 56, 64, target="sapphire-rapids")
    found, target = convolution_of(low), Target.of("sapphire-rapids")
    model = Model(found, target)
    assert model.kept_of_row(shared(found, 12, 32)) == 8
    assert model.kept_of_row(shared(found, 28, 16)) == 5  # and 28 sums
    plans = [plan for plan in convolution.propose(found, target, 600) if plan.shares_row]
    tiles = {tuple(size for _, size in plan.tile) for plan in plans}
    assert (12, 32) in tiles and (13, 32) not in tiles and (28, 16) not in tiles
    _, strided = lowered(64, 56, 64, target="sapphire-rapids", stride=2)
    found = convolution_of(strided)
    assert Model(found, target).kept_of_row(shared(found, 10, 32)) == 2 + 10
    _, apart = lowered(64, 56, 64, target="sapphire-rapids", stride=3)
    found = convolution_of(apart)
    assert (
        Model(found, target).kept_of_row(shared(found, 10, 32)) == 0
    )  # no two places use the same


def test_shared_elements_are_loaded_once():
    """Of 12 pixels and three places 14 and not 36; L1 has the less to do, and the multiply-adds wait less for it."""
    _, low = lowered(64, 56, 64, target="sapphire-rapids")
    found, target = convolution_of(low), Target.of("sapphire-rapids")
    model, plan = Model(found, target), shared(convolution_of(low), 12, 32)
    assert model.shared(plan) == 14 / 36
    each = replace(plan, shares_row=False)
    assert model.shared(each) == 1
    times = [dict(model.cost(one).terms)["arithmetic"] for one in (plan, each)]
    assert times[0] < 0.97 * times[1]
    (best,) = convolution.propose(found, target, 1)
    assert best.shares_row


SLOWED = (
    "sapphire-rapids:fma_f32=222e9,tile_in_l1=202e9,tile_near=190e9,read_l1=338e9,read_l2=173e9"
)
"""A core on which tiles in L1 lose a tenth by what they do beside multiply-adds."""


def test_loads_are_parts_of_multiply_adds_where_one_alone_uses_them():
    """Of 20 pixels and three places the elements at both ends; with a stride of two every other one as well; all where places share nothing."""
    _, low = lowered(64, 56, 64, target=SLOWED)
    found, target = convolution_of(low), Target.parse(SLOWED)
    model, plan = Model(found, target), shared(found, 20, 16)
    assert model.used_once(plan, plan.sizes) == 2 / 60
    assert model.used_once(replace(plan, shares_row=False), plan.sizes) == 1
    _, strided = lowered(64, 56, 64, target=SLOWED, stride=2)
    found = convolution_of(strided)
    plan = shared(found, 10, 16)
    assert Model(found, target).used_once(plan, plan.sizes) == (10 + 2) / 30


def test_values_for_several_sums_are_loads_of_their_own():
    """An element is for both vectors of its pixel, or for the rows of several images' or channels' blocks; with AVX2 none is folded."""
    _, low = lowered(64, 56, 64, target=SLOWED)
    found = convolution_of(low)
    model, older = (Model(found, Target.parse(name)) for name in (SLOWED, "x86-64-v3"))
    element = model.loads_of_one(found.left, (found.n[-1], 16), packs=True)
    assert element.elements == 1
    assert model.may_be_folded(element, 20, 20)
    assert not model.may_be_folded(element, 12, 24)
    assert not older.may_be_folded(element, 20, 20)


def test_wide_tiles_are_chosen_where_shared_elements_are_loads_of_their_own():
    """
    Tiles of 20 x 16 load 25 times for 60 multiply-adds, those of 12 x 32 20 times for 72: these took 0.93 of the time of those on Intel's Granite
    Rapids. Were what is shared no instruction, the first would be chosen.
    """
    _, low = lowered(64, 56, 64, target=SLOWED)
    (best,) = convolution.propose(convolution_of(low), Target.parse(SLOWED), 1)
    assert best.shares_row and [size for _, size in best.tile] == [12, 32]

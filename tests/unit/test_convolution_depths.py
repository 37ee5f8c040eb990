"""Convolutions whose sums go by blocks of channels, in tiles or around all of them: where they do, what that takes, and that sums are right."""

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_bound import Bound
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

from .planned_convolutions import compiled_as_is, convolution_of, scheduled_by

ROUNDED = 1e-5
"""Of the largest result: f32 sums of some hundred terms, in another order than NumPy's sums in f64."""


def layer(channels: int, outputs: int, side: int, target: str, images: int = 1) -> sw.Lowered:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((images, channels, side, side), np.float32)
    weights = rng.standard_normal((outputs, channels, 1, 1), np.float32)
    return sw.jit(lambda x: sw.conv(x, weights), target=target).lower(x)


def first_plan(low: sw.Lowered, target: Target) -> convolution.ConvolutionPlan:
    (plan,) = convolution.propose(convolution_of(low), target, 1)
    return plan


@pytest.mark.parametrize(
    ("target", "depth"),
    [
        ("x86-64-v3:l2=512K", 128),  # L1 keeps 128 terms of 5 pixels and 16 outputs
        ("x86-64-v3:l2=512K,l1=64K", 256),
        ("x86-64-v3:l2=2M", 0),  # L2 keeps the image
    ],
)
def test_sums_go_by_blocks_of_channels_where_the_image_leaves_l2(target: str, depth: int):
    """49 pixels of 2048 channels are 392 KiB, and each of 512 outputs uses all of them."""
    asked = Target.parse(target)
    assert first_plan(layer(2048, 512, 7, target), asked).depth == depth


@pytest.mark.parametrize(
    ("channels", "outputs", "side"),
    [
        (256, 128, 56),  # all weights go by for each tile
        (1024, 512, 14),  # sums would leave L2 from one block to the next
    ],
)
def test_sums_are_not_kept_where_others_are_better(channels: int, outputs: int, side: int):
    target = Target.parse("x86-64-v3:l2=512K")
    found = convolution_of(layer(channels, outputs, side, "x86-64-v3:l2=512K"))
    assert not Model(found, target).may_have_depths
    assert not any(plan.depth for plan in convolution.propose(found, target, 100))


def test_blocks_of_channels_bring_the_image_once_and_sums_again():
    target = Target.parse("x86-64-v3:l2=512K")
    found = convolution_of(layer(2048, 512, 7, "x86-64-v3:l2=512K"))
    model, (deep,) = Model(found, target), convolution.propose(found, target, 1)
    whole = replace(deep, depth=0)
    traffic = model.traffic
    assert model.image_returns(whole) and not model.image_returns(deep)
    assert traffic.coming(whole).image > 1.5 * traffic.image
    assert traffic.coming(deep).image < 1.01 * traffic.image
    # A block of 128 x 16 weights comes to L1 for one of ten tiles.
    read, again = model.read_from_l2(deep), model.read_from_l2(whole)
    assert again - read == pytest.approx(0.9 * 2048 * 16 * 4)
    terms = dict(model.cost(deep).terms)
    assert terms["keeping sums"] > 0 and dict(model.cost(whole).terms)["keeping sums"] == 0
    # Sums of several blocks are read and written: the shorter they are, the longer that takes.
    shorter = dict(model.cost(replace(deep, depth=64)).terms)
    assert shorter["arithmetic"] > terms["arithmetic"]


@pytest.mark.parametrize("channels", [192, 1000])
def test_no_plan_takes_less_than_it_is_bounded_by(channels: int):
    target = Target.parse("x86-64-v3:l2=32K")
    found = convolution_of(layer(channels, 40, 7, "x86-64-v3:l2=32K"))
    model, plans = Model(found, target), convolution.propose(found, target, 1000)
    assert any(plan.depth for plan in plans)
    assert all(model.least(plan) <= model.cost(plan).seconds * 1.000001 for plan in plans)
    # What bounds of tiles leave out is none of the cheapest.
    assert convolution.propose(found, target, 3) == plans[:3]


def test_bounds_of_tiles_know_that_weights_may_stay_in_l1():
    """Where L2 is slow, tiles of 2048 channels that bring 128 KiB of weights each take 5.7 ms at least, and others 2.5."""
    name = "x86-64-v3:l2=512K,read_l2=20e9"
    target, found = Target.parse(name), convolution_of(layer(2048, 512, 7, name))
    model, (plan,) = Model(found, target), convolution.propose(found, target, 1)
    (row, size), lanes = plan.tile
    bound = Bound(model, lanes, (row,), plan.packs, (plan.halo, plan.summed))
    sizes = np.array([[size]], np.float64)
    (least,) = bound.seconds(sizes, bound.counted(sizes))
    assert plan.depth and least <= model.cost(plan).seconds


@pytest.mark.parametrize("images", [1, 2])
@pytest.mark.parametrize("outputs", [24, 40, 20])
@pytest.mark.parametrize("ending", ["", "finished", "last"])
def test_sums_by_blocks_of_channels_are_right(images: int, outputs: int, ending: str):
    """Tiles at the edges are smaller, and results leave turned, finished, or with channels last."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((images, 384, 5, 7), np.float32)
    weights = rng.standard_normal((outputs, 384, 1, 1), np.float32)
    bias = rng.standard_normal((1, outputs, 1, 1), np.float32)
    more = rng.standard_normal((images, outputs, 5, 7), np.float32)

    def computed(x, more):
        y = sw.conv(x, weights)
        if ending == "finished":
            y = sw.maximum(y + bias, 0.0) + more
        return y.transpose(0, 2, 3, 1) if ending == "last" else y

    target = Target.parse("x86-64-v3:l2=32K")
    low = sw.jit(computed, target="x86-64-v3:l2=32K").lower(x, more)
    number = 0 if ending == "last" else -1
    (plan, *_) = (
        plan for plan in convolution.propose(convolution_of(low, number), target, 400) if plan.depth
    )
    module = scheduled_by(low, plan, target, number)
    text = str(kernels(module)[number])
    assert '"c.sums"' in text
    y = np.einsum("nchw,fc->nfhw", x, weights[:, :, 0, 0], dtype=np.float64)
    if ending == "finished":
        y = np.maximum(y + bias, 0) + more
    y = y.transpose(0, 2, 3, 1) if ending == "last" else y
    found = compiled_as_is(module, target)(x, more)
    assert np.abs(found - y).max() <= ROUNDED * np.abs(y).max()


@pytest.mark.parametrize("core", ["zen4", "zen5"])
def test_channels_go_by_in_blocks_of_which_l1_keeps_what_a_tile_reads(core: str):
    """All of them would come from L2 again for each element of the window. Sums that keep their order have no blocks."""
    x, weights = np.zeros((1, 192, 80, 80), np.float32), np.zeros((24, 192, 3, 3), np.float32)
    for fp, size, is_cut in (
        ("contract", "", True),
        ("contract", ":l1=512K", False),
        ("strict", "", False),
    ):
        low = sw.jit(lambda x: sw.conv(x, weights, padding=1), fp=fp).lower(x)
        found = convolution_of(low)
        plans = convolution.propose(found, Target.of(f"{core}{size}"), 300)
        plan = next(plan for plan in plans if not plan.window_inside)
        assert (0 < plan.block < 192) == is_cut, (fp, size)

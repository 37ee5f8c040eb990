"""Direct convolutions that read an image where it is: masks say which lanes are inside of it."""

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops, find_convolutions, only_contraction
from stepwell.analysis.plans import convolution
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

from .planned_convolutions import compiled_as_is, scheduled_by


def convolved(x, w, target="host", opt="full", **window):
    groups = x.shape[1] // w.shape[1]

    def layer(x):
        return sw.relu(sw.conv(x, w, groups=groups, **window) + np.float32(0.25))

    return sw.jit(layer, target=target, opt=opt).lower(x)


def arrays(channels: int, of_group: int, height: int, width: int):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((1, channels, height, width), np.float32)
    return x, rng.standard_normal((channels, of_group, 3, 3), np.float32)


def masked(low, target: Target):
    """The plans with masks, and the contraction that they are of."""
    facts = facts_of_loops(kernels(low.unscheduled())[0]).facts
    c = only_contraction(facts, find_convolutions(facts))
    assert c is not None
    return [plan for plan in convolution.propose(c, target, 10**6) if plan.masked], c


@pytest.mark.parametrize("stride", [1, 2])
def test_narrow_groups_have_masks_for_a_copy(stride: int):
    x, w = arrays(64, 8, 28 * stride, 28 * stride)
    low = convolved(x, w, "sapphire-rapids", stride=stride, padding=1)
    assert "masks lanes outside of it" in low.plan()
    text = low.as_text("loop")
    assert "%image" not in text and "loop.if" in text


def test_masks_are_for_the_axis_in_lanes_alone():
    """Rows leave out what is above and below the image; where they may not, weights being any numbers, a copy has the border."""
    target = Target.of("zen4")
    x, w = arrays(32, 8, 28, 28)
    plans, c = masked(convolved(x, w, "zen4", padding=1), target)
    assert plans
    for plan in plans:
        assert plan.lanes in c.m and not plan.halo
        assert {c.left.dimension_of(axis) for axis, _ in plan.skips} == {2}
    low = sw.jit(lambda x, w: sw.conv(x, w, groups=4, padding=1), target="zen4").lower(x, w)
    assert not masked(low, target)[0]


def test_masks_take_ports_of_multiply_adds():
    """Of the first and the last tile along the axis in lanes: of many, most have none."""
    target = Target.of("sapphire-rapids")
    x, w = arrays(32, 8, 30, 112)
    plans, c = masked(convolved(x, w, "sapphire-rapids", padding=1), target)
    for plan in plans[:8]:
        without = dict(convolution.cost(replace(plan, masked=False), c, target).terms)
        assert dict(convolution.cost(plan, c, target).terms)["arithmetic"] > without["arithmetic"]
    model = convolution.Model(c, target)
    parts = {plan.size(plan.lanes): model.masked_part(plan) for plan in plans}
    assert parts[16] == pytest.approx(2 / 7) and parts[64] == 1


@pytest.mark.sampled(1, by=("width", "target"))
@pytest.mark.parametrize("width", [5, 15, 17, 28, 33, 50, 70])
@pytest.mark.parametrize("target", ["x86-64-v3", "host"])
@pytest.mark.parametrize(
    ("stride", "dilation", "padding"),
    [(1, 1, 1), (2, 1, 1), (2, 1, ((1, 1), (0, 2))), (1, 2, ((2, 2), (2, 3)))],
)
@pytest.mark.parametrize("channels", [8, 24])
def test_the_result_is_that_of_an_image_with_zeros(
    width, target, stride, dilation, padding, channels
):
    """Of one group, the sums of which are finished where they are, and of several."""
    x, w = arrays(channels, 8, 11, width)
    window = {"stride": stride, "dilation": dilation}
    low = convolved(x, w, target, padding=padding, **window)
    plans, _ = masked(low, Target.of(target).alone)
    both = ((1, 1), (1, 1)) if padding == 1 else padding
    zeros = np.pad(x, ((0, 0), (0, 0), *both))
    expected = convolved(zeros, w, target, "quick", **window).compile(threads=1)(zeros)
    assert plans or width == 5
    tiles = {plan.size(plan.lanes): plan for plan in reversed(plans)}
    for plan in tiles.values():
        module = scheduled_by(low, plan, Target.of(target), kernel=0)
        found = compiled_as_is(module, Target.of(target))(x)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

"""Which plans for convolutions are proposed."""

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops, find_convolutions
from stepwell.analysis.plans import convolution
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels


@pytest.mark.parametrize(
    ("image", "weights", "stride"),
    [
        ((1, 16, 14, 14), (32, 16, 3, 3), 1),
        ((2, 3, 23, 21), (8, 3, 7, 7), 2),
        ((1, 64, 7, 7), (100, 64, 1, 1), 1),
    ],
)
@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4"])
def test_no_plan_is_better_than_those_proposed(
    image: tuple[int, ...], weights: tuple[int, ...], stride: int, name: str
):
    """Most plans are left out by a bound of their time: the others must be the same as without it."""
    arrays = np.zeros(image, np.float32), np.zeros(weights, np.float32)
    low = sw.jit(lambda x, w: sw.conv(x, w, stride=stride)).lower(*arrays)
    (kernel,) = kernels(low.unscheduled())
    (found,) = find_convolutions(facts_of_loops(kernel).facts)
    target = Target.of(name)
    every = convolution.propose(found, target, 10**6)
    best = sorted(convolution.cost(plan, found, target).seconds for plan in every)
    for n in (1, 3):
        proposed = convolution.propose(found, target, n)
        assert proposed == every[:n]
        assert [convolution.cost(plan, found, target).seconds for plan in proposed] == best[:n]


def test_a_first_layer_with_steps_has_channels_in_lanes():
    """Every other pixel in lanes takes a shuffle for each vector, in the place of a multiply-add."""
    weights = np.zeros((64, 3, 7, 7), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights, stride=2, padding=3)).lower(
        np.zeros((1, 3, 224, 224), np.float32)
    )
    (found,) = find_convolutions(facts_of_loops(kernels(low.unscheduled())[-1]).facts)
    (plan,) = convolution.propose(found, Target.of("zen4"), 1)
    assert plan.lanes in found.n and plan.packs

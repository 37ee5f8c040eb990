"""The predicted time of reductions over windows."""

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import WindowReduction, facts_of_loops, find_window_reduction
from stepwell.analysis.plans import windows
from stepwell.analysis.plans.windows_cost import Model
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels


def layer(channels: int, of_group: int, size: int, window: int, stride: int) -> WindowReduction:
    w = np.zeros((channels, of_group, window, window), np.float32)
    x = np.zeros((1, channels, size, size), np.float32)
    groups, border = channels // of_group, window // 2
    low = sw.jit(
        lambda x: sw.conv(x, w, groups=groups, padding=border, stride=stride), target="zen4"
    ).lower(x)
    found = find_window_reduction(facts_of_loops(kernels(low.unscheduled())[0]).facts)
    assert found is not None
    return found


def arithmetic(found: WindowReduction, begun: float) -> float:
    """On a core that begins so many instructions in a cycle."""
    target = Target.of("sapphire-rapids")
    (plan,) = windows.propose(found, target, 1)
    model = Model(found, target)
    model.issued = begun
    return dict(model.cost(plan).terms)["arithmetic"]


def test_a_core_that_begins_fewer_instructions_takes_longer_for_shuffled_pixels():
    """Where lanes take every other pixel, most instructions are no multiply-adds."""
    layers = layer(256, 8, 56, 3, 2), layer(256, 8, 28, 3, 1)
    strided, plain = (arithmetic(found, 4) / arithmetic(found, 6) for found in layers)
    assert strided > plain > 1


@pytest.mark.parametrize(("of_group", "size", "times"), [(8, 56, 8), (8, 14, 1), (1, 56, 1)])
def test_outputs_of_a_group_read_its_image_again_where_l1_does_not_keep_it(
    of_group: int, size: int, times: int
):
    found = layer(64, of_group, size, 3, 1)
    model = Model(found, Target.of("sapphire-rapids"))
    (plan,) = windows.propose(found, Target.of("sapphire-rapids"), 1)
    assert model.streams.times_read(plan) == times
    assert times == 1 or dict(model.cost(plan).terms)["from L2"] > 0


def test_a_loop_over_columns_has_masks_for_all_loads():
    """Of tiles as wide as two vectors, both of which are at an edge; of one vector those between the edges have none."""
    found = layer(96, 1, 56, 7, 1)
    target = Target.of("sapphire-rapids")
    plans = [plan for plan in windows.propose(found, target, 1000) if plan.masked]
    plan = next(plan for plan in plans if plan.lanes[1] == 32 and plan.outer)
    written = replace(plan, outer=(), columns=plan.outer)
    cycles = [Model(found, target).cost(each).terms[0][1] for each in (plan, written)]
    assert cycles[0] > cycles[1]


def test_a_part_of_far_images_is_waited_for_by_all_plans():
    found, target = layer(128, 4, 56, 3, 1), Target.of("sapphire-rapids:l2=1M")
    plans = [plan for plan in windows.propose(found, target, 1000) if plan.inner]
    waits = [dict(windows.cost(plan, found, target).terms)["streaming"] for plan in plans]
    assert min(waits) > 0
    near = Target.of("sapphire-rapids:l2=16M")
    assert dict(windows.cost(plans[0], found, near).terms)["streaming"] == 0

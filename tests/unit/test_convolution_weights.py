"""Weights of convolutions whose elements tiles broadcast are packed, and operands that stay in L2 are not waited for."""

from dataclasses import replace
from math import prod

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import Contraction
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.frontend.lowered import Lowered
from stepwell.targets.target import Target

from .planned_convolutions import compiled_as_is, convolution_of, scheduled_by

TARGET = Target.of("sapphire-rapids")


def convolved(image: tuple[int, ...], weights: tuple[int, ...]) -> Lowered:
    """A convolution by constant weights, with a border that keeps the image's size."""
    rng = np.random.default_rng(14)
    constant = rng.standard_normal(weights, np.float32)
    border = weights[-1] // 2
    convolve = sw.jit(lambda x: sw.conv(x, constant, padding=border))
    return convolve.lower(np.zeros(image, np.float32))


def outputs_of(plan: ConvolutionPlan, c: Contraction) -> int:
    """How many outputs a tile broadcasts; 0 where they are in lanes."""
    return 0 if plan.lanes in c.n else prod(size for axis, size in plan.tile if axis in c.n)


def test_tiles_of_more_outputs_than_lines_come_at_once_have_them_packed():
    """Each has lines of its own otherwise, which end at one term. Parameters would be packed in each call."""
    image, weights = (1, 256, 56, 56), (64, 256, 1, 1)
    found = convolution_of(convolved(image, weights))
    plans = [p for p in convolution.propose(found, TARGET, 200) if outputs_of(p, found)]
    assert {p.packs for p in plans if outputs_of(p, found) > 8} == {True}
    assert {p.packs for p in plans if outputs_of(p, found) <= 8} == {False}
    arrays = np.zeros(image, np.float32), np.zeros(weights, np.float32)
    given = convolution_of(sw.jit(lambda x, w: sw.conv(x, w)).lower(*arrays))
    plans = [p for p in convolution.propose(given, TARGET, 200) if outputs_of(p, given)]
    assert {p.packs for p in plans} == {False}


@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("outputs", [10, 26, 31])
def test_packed_outputs_of_tiles_compute_the_convolution(outputs: int, window: int):
    """The last panel has fewer outputs than the others, or as many."""
    low = convolved((1, 40, 9, 35), (outputs, 40, window, window))
    x = np.random.default_rng(3).standard_normal((1, 40, 9, 35), np.float32)
    target, found = Target.of("host"), convolution_of(low)
    across, of = found.m[-1], found.n[-1]
    plan = next(p for p in convolution.propose(found, target, 10**4) if p.lanes == across)
    sizes = ((of, min(outputs, 13)), (across, target.core.lanes(4)))
    plan = replace(plan, tile=sizes, packs=True, skips=())
    module = scheduled_by(low, plan, target)
    assert f"x{min(outputs, 13)}xf32>" in str(module)
    result = compiled_as_is(module, target)(x)
    np.testing.assert_allclose(result, low.compile(threads=1)(x), rtol=1e-4, atol=1e-4)


def test_what_stays_in_l2_between_calls_does_not_come_from_beyond_it():
    found = convolution_of(convolved((1, 192, 14, 14), (64, 192, 1, 1)))
    (plan,) = convolution.propose(found, TARGET)

    def waiting(c: Contraction, target: Target) -> float:
        terms = dict(Model(c, target).cost(plan).terms)
        return terms.get("streaming", 0.0) + terms.get("writing", 0.0)

    assert waiting(found, TARGET) == pytest.approx(0, abs=1e-12)
    # Other constants of the program have gone by since: the weights are no longer there.
    program = replace(found, facts=replace(found.facts, constants=64 << 20))
    assert waiting(program, TARGET) > 1e-7
    # Of operands that take somewhat more than L2 keeps, it loses some.
    some, all_ = (
        waiting(found, Target.of(f"sapphire-rapids:l2={size}")) for size in ("256K", "64K")
    )
    assert 1e-7 < some < all_


def test_what_other_kernels_have_used_leaves_nothing_of_an_image_in_l2():
    """With constants that leave L2, all of what is more than it keeps has left; a part of that where the convolution is alone."""
    found = convolution_of(convolved((1, 64, 56, 56), (64, 64, 1, 1)))
    program = replace(found, facts=replace(found.facts, constants=64 << 20))
    (plan,) = convolution.propose(found, TARGET)
    target = Target.of("sapphire-rapids:l2=1536K")
    alone, beside = (dict(Model(c, target).cost(plan).terms) for c in (found, program))
    assert 0 < alone["writing"] < 0.9 * beside["writing"]
    assert alone["streaming"] < beside["streaming"]


def test_own_weights_do_not_go_by_twice():
    """Constants are counted to the next power of two, 2 MiB for 1.6 MB: those of other kernels may be none. Of 64 MiB they are."""
    found = convolution_of(convolved((1, 320, 7, 7), (1280, 320, 1, 1)))
    target = Target.of("x86-64-v3:l2=2M")
    alone, counted, program = (
        dict(Model(c, target).cost(convolution.propose(found, target)[0]).terms)
        for c in (
            replace(found, facts=replace(found.facts, constants=bytes_))
            for bytes_ in (0, 2 << 20, 64 << 20)
        )
    )
    assert counted == alone
    assert 0 < alone["streaming"] < program["streaming"]

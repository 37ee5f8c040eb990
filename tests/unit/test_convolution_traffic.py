"""What of a convolution's operands comes from beyond L2."""

from dataclasses import replace

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_cost import Model
from stepwell.analysis.plans.convolution_plan import ConvolutionPlan
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.targets.target import Target

from .planned_convolutions import compiled_as_is, convolution_of, scheduled_by


def layer(images: int, channels: int, side: int, outputs: int, step: int) -> Lowered:
    """A layer of 1 x 1 over every `step`-th pixel, whose channels are in blocks of 16: pixels are cache lines."""
    rows = -(-side // step)
    x = f"tensor<{images}x{channels // 16}x{side}x{side}x16xf32>"
    w = f"tensor<{outputs // 16}x{channels // 16}x16x16xf32>"
    y = f"tensor<{images}x{outputs // 16}x{rows}x{rows}x16xf32>"
    parallel = f"%n = {images}, %f = {outputs // 16}, %i = {rows}, %j = {rows}, %l = 16"
    text = f"""
        func.func @layer(%x: {x}, %w: {w}) -> {y} {{
          %y = te.compute [{parallel}] add [%c = {channels // 16}, %d = 16] (
              %a = %x[%n, %c, %i * {step}, %j * {step}, %d], %b = %w[%f, %c, %d, %l]) : ({x}, {w}) -> {y} {{
            %p = arith.mulf %a, %b : f32
            te.yield %p : f32
          }}
          func.return %y : {y}
        }}"""
    return Lowered(parse_text(text), name="layer", options=Options(threads=1))


@pytest.mark.parametrize(("step", "side", "comes_again"), [(1, 28, False), (2, 56, True)])
def test_lines_of_every_second_pixel_have_half_of_the_sets(step: int, side: int, comes_again: bool):
    """The same number of lines stays in an L2 of twice as many bytes where all its sets have some of them."""
    found = convolution_of(
        layer(1, 320, side, 512, step)
    )  # 1 MB of lines, of which all weights go by for few
    target = Target.of("zen4:l2=2M")
    model = Model(found, target)
    plan = next(p for p in convolution.propose(found, target, 1000) if not p.outside)
    times = model.traffic.coming(plan).image / model.traffic.image
    assert model.traffic.image == 28 * 28 * 320 * 4
    assert (times > 2) == comes_again
    assert model.image_returns(plan) == comes_again


def test_one_image_after_the_other_stays_where_every_second_pixel_of_it_has_room():
    """Of three images that would stay in L2 together if their lines used all of its sets."""
    target = Target.of("zen4:l2=2M")
    (plan,) = convolution.propose(convolution_of(layer(3, 512, 28, 1024, 2)), target, 1)
    assert plan.outside == (0,)
    (plan,) = convolution.propose(convolution_of(layer(3, 512, 14, 1024, 1)), target, 1)
    assert plan.outside == ()


@pytest.mark.parametrize("images", [1, 3])
def test_every_second_pixel_is_computed(images: int):
    low = layer(images, 32, 9, 48, 2)
    generator = np.random.default_rng(0)
    x = generator.standard_normal((images, 2, 9, 9, 16), np.float32)
    w = generator.standard_normal((3, 2, 16, 16), np.float32)
    expected = np.einsum("ncijd,fcdl->nfijl", x[:, :, ::2, ::2], w)
    np.testing.assert_allclose(interpret(low.module("te"), [x, w])[0], expected, 1e-4, 1e-4)
    np.testing.assert_allclose(low.compile(threads=1)(x, w), expected, 1e-4, 1e-4)


def test_several_images_at_a_time_stay_where_all_do_not():
    """Blocks of weights come less often for two or three images at a time than for one: of five, which take all of L2 together."""
    target = Target.of("zen4:l2=2M")
    found = convolution_of(layer(5, 512, 14, 1024, 1))
    plans = [p for p in convolution.propose(found, target, 10**6) if p.outside == (0,)]
    several = [p for p in plans if p.at_a_time]
    assert {p.at_a_time for p in several} == {2, 3}
    model = Model(found, target)
    for plan in several[:20]:
        assert not model.image_returns(plan)
        assert model.traffic.parts(plan) == -(-5 // plan.at_a_time)
        alone = model.traffic.coming(replace(plan, at_a_time=0)).weights
        assert model.traffic.coming(plan).weights < 0.8 * alone


@pytest.mark.parametrize("at_a_time", [2, 3])
def test_rows_at_a_time_are_computed(at_a_time: int):
    """Of seven rows, the last block of which has fewer."""
    low, target = layer(1, 32, 13, 48, 2), Target.of("host")
    found = convolution_of(low)
    plans = convolution.propose(found, target.alone, 10**6)
    plan = next(p for p in plans if p.size(found.m[1]) == 1 and not p.outside and not p.halo)
    plan = replace(plan, outside=found.m[:2], at_a_time=at_a_time)
    module = scheduled_by(low, plan, target)
    assert "block" in f"{module}"
    generator = np.random.default_rng(0)
    x = generator.standard_normal((1, 2, 13, 13, 16), np.float32)
    w = generator.standard_normal((3, 2, 16, 16), np.float32)
    expected = np.einsum("ncijd,fcdl->nfijl", x[:, :, ::2, ::2], w)
    run = compiled_as_is(module, target)
    np.testing.assert_allclose(run(x, w), expected, 1e-4, 1e-4)


def test_weights_as_they_are_come_in_the_first_run_that_uses_their_lines():
    """A line has all of a channel's window: nothing of it comes in the eight other runs over a block of channels."""
    w = np.zeros((512, 512, 3, 3), np.float32)
    low = sw.jit(lambda x: sw.conv(x, w, padding=1)).lower(np.zeros((1, 512, 7, 7), np.float32))
    found, target = convolution_of(low), Target.of("x86-64-v3")
    model = Model(found, target)
    plans = convolution.propose(found, target, 10**6)
    packed = next(p for p in plans if p.packs and not p.window_inside)
    as_they_are = next(p for p in plans if not p.packs and p.block and not p.window_inside)
    assert model.runs_of_line(packed) == 1
    assert model.runs_of_line(as_they_are) == pytest.approx(9, rel=0.05)
    assert plans[0].packs


def test_lines_that_come_back_alone_are_waited_for():
    """Four images of 0.4 MB nearly fill an L2 of 2 MB: it loses a few of their lines between blocks of weights, and one image stays."""
    found = convolution_of(layer(4, 2048, 7, 512, 1))
    target = Target.of("sapphire-rapids")
    (plan,) = convolution.propose(found, target, 1)
    assert plan.outside == (0,)
    together = next(p for p in convolution.propose(found, target, 300) if not p.outside)
    waits = [
        dict(convolution.cost(one, found, target).terms).get("demand misses", 0.0)
        for one in (plan, together)
    ]
    assert waits[0] < 0.1 * waits[1]


@pytest.mark.parametrize(("outputs", "is_late"), [(48, False), (96, True)])
def test_rows_on_more_pages_than_are_translated_at_once_come_late(outputs: int, is_late: bool):
    """Of a result that leaves L2, where all outputs are written for each tile of pixels: not what tiles ask for, or one row after the other."""
    x, w = np.zeros((1, 16, 112, 112), np.float32), np.zeros((outputs, 16, 1, 1), np.float32)
    found = convolution_of(sw.jit(lambda x: sw.conv(x, w)).lower(x))
    target = Target.of("x86-64-v3")
    model, (first, *_) = Model(found, target), convolution.propose(found, target, 1)
    outside = replace(first, outside=found.m, prefetch_result=False)
    assert model.traffic.has_rows_outside(outside)

    def writing(plan: ConvolutionPlan) -> float:
        return dict(model.cost(plan).terms)["writing"]

    beside, asking = replace(outside, outside=()), replace(outside, prefetch_result=True)
    assert writing(beside) == writing(asking)
    assert (writing(outside) > writing(asking)) == is_late

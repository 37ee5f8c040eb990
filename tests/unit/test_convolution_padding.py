"""Terms of a convolution whose pixel is outside of the image: which plans leave them out, and when they may."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import stepwell as sw
from stepwell.analysis.facts import facts_of_loops, find_convolutions
from stepwell.analysis.plans import convolution
from stepwell.analysis.plans.convolution_padding import Padding, count_inside
from stepwell.driver.options import Options
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

from .planned_convolutions import compiled_as_is, convolution_of, plans_for, scheduled_by

Pads = tuple[tuple[int, int], tuple[int, int]]


def convolved(x, weights, fp="contract", target="host", opt="full", **window):
    return sw.jit(lambda x: sw.conv(x, weights, **window), fp=fp, target=target, opt=opt).lower(x)


def image(channels: int, height: int, width: int):
    return np.random.default_rng(4).standard_normal((1, channels, height, width), np.float32)


def weights(outputs: int, channels: int, *window: int):
    return np.random.default_rng(5).standard_normal((outputs, channels, *window), np.float32)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 17, 31, 33, 100])
@pytest.mark.parametrize(
    ("window", "stride", "dilation", "pads"),
    [
        ((3, 3), 1, 1, ((1, 1), (1, 1))),
        ((5, 3), 2, 1, ((2, 2), (0, 1))),
        ((3, 3), 1, 2, ((2, 2), (2, 2))),
        ((3, 5), 3, 2, ((3, 1), (4, 6))),
    ],
)
def test_the_part_of_terms_inside_of_the_image(size, window, stride, dilation, pads: Pads):
    if any(
        size + sum(both) <= dilation * (taps - 1) for both, taps in zip(pads, window, strict=True)
    ):
        return
    low = convolved(
        image(3, size, size),
        weights(8, 3, *window),
        stride=stride,
        padding=pads,
        dilation=dilation,
    )
    every = find_convolutions(facts_of_loops(kernels(low.unscheduled())[-1]).facts)
    if not every:
        return  # too small an image to be one
    (found,) = every
    padding = Padding(found)
    for taps, (before, after), axis in zip(window, pads, found.k[-2:], strict=True):
        count = (size + before + after - dilation * (taps - 1) - 1) // stride + 1
        every = [n * stride + t * dilation - before for n, t in product(range(count), range(taps))]
        part = sum(0 <= place < size for place in every) / len(every)
        assert padding.inside.get(axis, 1.0) == pytest.approx(part)


@pytest.mark.parametrize("step", [-3, -1, 0, 1, 4])
def test_places_that_are_inside_are_counted(step: int):
    for count, start, size in product(range(6), range(-9, 10), range(6)):
        places = [start + n * step for n in range(count)]
        assert count_inside(count, start, step, size) == sum(0 <= p < size for p in places)


def test_a_row_of_pixels_leaves_out_what_is_outside():
    """Rows by a shorter loop over the window; columns by a tile that is all of a row, with no copy or one without a border."""
    low = convolved(image(512, 7, 7), weights(64, 512, 3, 3), padding=1, target="zen4")
    (plan,) = convolution.propose(convolution_of(low), Target.of("zen4"), 1)
    assert [axis for axis, _ in plan.skips] == list(convolution_of(low).window)
    text = low.as_text("loop")
    assert "x9xf32" not in text and "loop.if" not in text
    assert re.search(r"= max\(0, -.* \+ 1\) to min\(3, -.* \+ 8\)", text)


def test_only_tiles_at_the_edges_are_short():
    """Of tiles within a row those between the first and the last one have all of their terms, in a loop of their own."""
    low = convolved(image(64, 56, 56), weights(64, 64, 3, 3), padding=1, target="zen4")
    text = low.as_text("loop")
    assert '"c" ' in text and '"c.front" ' in text and '"c.back" ' in text
    assert "loop.if" not in text and "loop.alloc arena : memref<1x58" not in text


@pytest.mark.sampled(1, by=("size", "target"))
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 17, 31, 33])
@pytest.mark.parametrize("target", ["x86-64-v3", "host"])
@pytest.mark.parametrize(
    ("stride", "dilation", "padding"),
    [(1, 1, 1), (2, 1, ((1, 1), (0, 2))), (1, 2, ((2, 2), (2, 3)))],
)
def test_the_result_is_that_of_an_image_with_zeros(size, target, stride, dilation, padding):
    x, w = image(16, size, size + 2), weights(33, 16, 3, 3)
    low = convolved(x, w, target=target, stride=stride, dilation=dilation, padding=padding)
    both = ((1, 1), (1, 1)) if padding == 1 else padding
    padded = np.pad(x, ((0, 0), (0, 0), *both))
    plain = convolved(padded, w, opt="quick", stride=stride, dilation=dilation)
    np.testing.assert_allclose(
        low.compile(threads=1)(x), plain.compile(threads=1)(padded), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("outputs", [7, 100])
def test_tiles_ask_for_weights_and_leave_terms_out(outputs: int):
    """Hints stand in loops over the window that are shorter at the border."""
    x, w, target = image(32, 7, 9), weights(outputs, 32, 3, 3), Target.of("host")
    low = convolved(x, w, padding=1)
    (first,) = plans_for(low, target)
    plan = replace(first, packs=True, prefetch_block=outputs > 7, prefetch_weights=True)
    assert plan.skips
    module = scheduled_by(low, plan, target)
    assert "loop.prefetch" in f"{module}"
    found = compiled_as_is(module, target)(x)
    np.testing.assert_allclose(found, low.compile(threads=1)(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_zero_times_infinity_is_no_number(bad):
    """A weight that is infinite makes what is outside of the image count."""
    x, w = image(4, 7, 7), weights(16, 4, 3, 3)
    w[3, 2, 0, 1] = bad
    low = convolved(x, w, padding=1)
    assert not convolution_of(low).may_skip_padding
    result = low.compile(threads=1)(x)
    assert np.isnan(result[0, 3, 0]).all() and not np.isnan(result[0, 2]).any()


def test_weights_that_are_arguments_may_be_anything():
    x, w = image(4, 7, 7), weights(16, 4, 3, 3)
    low = sw.jit(lambda x, w: sw.conv(x, w, padding=1)).lower(x, w)
    assert not convolution_of(low).may_skip_padding


def test_strict_sums_have_all_terms():
    low = convolved(image(4, 7, 7), weights(16, 4, 3, 3), fp="strict", padding=1)
    assert "stepwell.finite" in low.as_text("loop") and "max(0" not in low.as_text("loop")


@pytest.mark.sampled(1, by=("size", "target"))
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 17, 31, 33])
@pytest.mark.parametrize("target", ["x86-64-v3", "host"])
@pytest.mark.parametrize(
    ("stride", "before", "combiner"), [(1, 1, "max"), (2, 1, "max"), (2, 2, "min")]
)
def test_extremes_of_windows_leave_out_what_is_outside(size, target, stride, before, combiner):
    """Channels in blocks; a window may be outside of the image as a whole, and elements may be infinite."""
    extreme, outside = (np.maximum, -np.inf) if combiner == "max" else (np.minimum, np.inf)
    count = (size + 2 * before - 5) // stride + 1 if size + 2 * before >= 5 else 1
    bits = "0xFF800000" if combiner == "max" else "0x7F800000"
    image_type, result_type = f"tensor<2x{size}x{size}x16xf32>", f"tensor<2x{count}x{count}x16xf32>"
    low = Lowered(
        parse_text(f"""
func.func @f(%x: {image_type}) -> {result_type} {{
  %y = te.compute [%c = 2, %oh = {count}, %ow = {count}, %d = 16] {combiner} [%kh = 5, %kw = 5] (%a = %x[%c, %oh * {stride} + %kh - {before}, %ow * {stride} + %kw - {before}, %d] else {bits} : f32) : ({image_type}) -> {result_type} {{
    te.yield %a : f32
  }}
  func.return %y : {result_type}
}}"""),
        options=Options(target=Target.of(target)),
    )
    x = np.random.default_rng(6).standard_normal((2, size, size, 16), np.float32)
    x[0, 0, 0, :4] = outside
    padded = np.full((2, size + 2 * before + 5, size + 2 * before + 5, 16), outside, np.float32)
    padded[:, before : before + size, before : before + size] = x
    expected = np.full((2, count, count, 16), outside, np.float32)
    for kh, kw in product(range(5), range(5)):
        last = stride * (count - 1) + 1
        expected = extreme(expected, padded[:, kh : kh + last : stride, kw : kw + last : stride])
    np.testing.assert_array_equal(low.compile(threads=1)(x), expected)


@pytest.mark.parametrize(("stride", "ends"), [(1, (True, True)), (2, (True, False))])
def test_only_tiles_with_rows_outside_of_the_image_write_out_the_window(stride: int, ends):
    """With a stride of two the last row's window ends with the image."""
    x, weights = np.zeros((1, 16, 56, 56), np.float32), np.zeros((32, 16, 3, 3), np.float32)
    low = sw.jit(lambda x: sw.conv(x, weights, stride=stride, padding=1)).lower(x)
    found = convolution_of(low)
    assert Padding(found).short_ends((found.window[-1], found.m[-1])) == ends

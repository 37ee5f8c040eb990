"""Pooling and depthwise convolutions that are large enough for register tiles, against NumPy at odd sizes."""

from __future__ import annotations

import re

import numpy as np
import pytest
import stepwell as sw
from numpy.lib.stride_tricks import sliding_window_view
from stepwell.analysis.facts import facts_of_loops, find_window_reduction
from stepwell.analysis.plans import windows as windows_plans
from stepwell.interpreters.harness import interpret
from stepwell.targets.target import Target
from stepwell.tuning.rules import kernels

RNG = np.random.default_rng(3)


def windows(x: np.ndarray, size: int, stride: int, pad: int, dilation: int, outside: float):
    """What is under each place of a square window: its last two axes are the window's."""
    border = [(0, 0)] * (x.ndim - 2) + [(pad, pad)] * 2
    x = np.pad(x, border, constant_values=outside)
    reach = dilation * (size - 1) + 1
    found = sliding_window_view(x, (reach, reach), (-2, -1))
    return found[..., ::stride, ::stride, ::dilation, ::dilation]


# Height, width, window, stride, pad, dilation.
@pytest.mark.parametrize(
    ("height", "width", "size", "stride", "pad", "dilation"),
    [(19, 43, 3, 2, 1, 1), (16, 7, 5, 2, 2, 1), (23, 29, 3, 1, 2, 2), (14, 21, 4, 3, 1, 1)],
)
def test_a_depthwise_convolution(height, width, size, stride, pad, dilation):
    x = RNG.standard_normal((2, 9, height, width), np.float32)
    w = RNG.standard_normal((9, 1, size, size), np.float32)
    b = RNG.standard_normal(9, np.float32)
    found = sw.jit(
        lambda x, w, b: sw.relu(sw.conv(x, w, b, stride, pad, dilation=dilation, groups=9))
    )(x, w, b)
    under = windows(x, size, stride, pad, dilation, 0.0)
    expected = np.maximum(np.einsum("ncijkl,ckl->ncij", under, w[:, 0]) + b[:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("height", "width", "size", "stride", "pad", "dilation"),
    [
        (17, 37, 3, 1, 1, 1),
        (19, 43, 3, 2, 1, 1),
        (18, 31, 2, 2, 0, 1),
        (23, 29, 13, 1, 6, 1),
        (71, 131, 3, 2, 1, 1),
    ],
)
def test_pooling(height, width, size, stride, pad, dilation):
    x = RNG.standard_normal((1, 19, height, width), np.float32)
    found = sw.jit(lambda x: sw.max_pool(x, (size, size), stride, pad, dilation))(x)
    under = windows(x, size, stride, pad, dilation, -np.inf)
    np.testing.assert_array_equal(found, under.max((-2, -1)))


def test_squares_that_wait_for_memory_are_gone_through_with_the_least_arithmetic():
    """All plans wait as long: the shuffles of one column serve the next."""

    def shrunk(x):
        return x.reshape(160, 4, 160, 4).mean(axis=(1, 3))

    x = RNG.random((640, 640), np.float32)
    np.testing.assert_allclose(sw.jit(shrunk)(x), shrunk(x), rtol=1e-5)
    large = sw.jit(lambda x: x.reshape(512, 4, 512, 4).mean(axis=(1, 3)), target="sapphire-rapids")
    assert "axes 2, 3 of the window" in large.lower(np.zeros((2048, 2048), np.float32)).plan()


@pytest.mark.parametrize(
    ("latency", "lanes"),
    [(",chase_l3=0.4e9", 64), (",chase_l3=0.65e9", 64), (",chase_l3=4e9", 16), ("", 16)],
)
def test_tiles_have_whole_rows_where_a_line_that_comes_alone_was_measured_to_take_longer(
    latency, lanes
):
    """
    Tall tiles read a line of each row by turns, which the core does not look ahead to: as many are under way as L1 waits for, here 24. A
    guess of the latency says nothing.
    """
    target = f"zen5:beyond_l2=18e9,rows_beyond_l2=18e9{latency}"
    low = sw.jit(lambda x, w: sw.conv(x, w, padding=1, groups=96), target=target)
    plan = low.lower(np.zeros((1, 96, 56, 56), np.float32), np.zeros((96, 1, 3, 3), np.float32))
    assert re.search(rf"chosen +windows: tile \d+x{lanes} of", plan.plan())


def test_loads_by_masks_take_ports_of_multiply_adds_where_additions_have_none():
    """Each is a blend as well. Rows of 14 pixels are masked everywhere, those of 64 at both ends."""
    times: list[list[float]] = []
    for extent in (14, 64):
        weights, image = np.zeros((9, 1, 3, 3), np.float32), np.zeros((1, 9, extent, extent))
        low = sw.jit(lambda x, w: sw.conv(x, w, padding=1, groups=9)).lower(
            image.astype(np.float32), weights
        )
        found = find_window_reduction(facts_of_loops(kernels(low.unscheduled())[-1]).facts)
        assert found is not None
        name = "sapphire-rapids:load_ports=2"
        cores = [Target.parse(f"{name}{ports}") for ports in ("", ",add_ports=2")]
        every = windows_plans.propose(found, cores[0], 10**6)
        plan = next(
            one
            for one in every
            if one.masked and one.rows and (one.rows[1], one.lanes[1]) == (7, 16)
        )
        costs = [dict(windows_plans.cost(plan, found, core).terms) for core in cores]
        times.append([cost["arithmetic"] for cost in costs])
    assert times[0][0] > 1.1 * times[0][1]
    assert 1 < times[1][0] / times[1][1] < times[0][0] / times[0][1]


def test_a_vector_across_two_lines_takes_what_the_probe_measured():
    low = sw.jit(lambda x, w: sw.conv(x, w, padding=1, groups=9)).lower(
        np.zeros((1, 9, 64, 64), np.float32), np.zeros((9, 1, 3, 3), np.float32)
    )
    found = find_window_reduction(facts_of_loops(kernels(low.unscheduled())[-1]).facts)
    assert found is not None
    rates = "fma_f32=244e9,tile_in_l1=236e9,tile_near=234e9"
    cores = [Target.parse(f"sapphire-rapids:{rates},tile_split={n}e9") for n in (234, 210)]
    (plan,) = windows_plans.propose(found, cores[0])
    even, split = (windows_plans.cost(plan, found, core).seconds for core in cores)
    assert split > 1.05 * even


RAGGED = (1, 2, 3, 5, 7, 17, 31, 33, 100)


@pytest.mark.sampled(2, by=("width", "target"))
@pytest.mark.parametrize("width", RAGGED)
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
def test_masks_leave_out_what_is_outside_of_the_image(width, stride, dilation, target):
    height = RAGGED[-1 - RAGGED.index(width)]
    x = RNG.standard_normal((1, 3, height, width), np.float32)
    w = RNG.standard_normal((3, 1, 3, 3), np.float32)
    run = sw.jit(
        lambda x, w: sw.conv(x, w, stride=stride, padding=dilation, dilation=dilation, groups=3),
        target=target,
    )
    under = windows(x, 3, stride, dilation, dilation, 0.0)
    expected = np.einsum("ncijkl,ckl->ncij", under, w[:, 0])
    np.testing.assert_allclose(run(x, w), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.sampled(1, by=("width", "target"))
@pytest.mark.parametrize("width", RAGGED)
@pytest.mark.parametrize("size", [5, 7])
@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
def test_masks_of_a_loop_over_columns(width, size, target):
    """Lanes before the image are left out at its first columns, and those after it at the last ones."""
    x = RNG.standard_normal((1, 3, 31, width), np.float32)
    w = RNG.standard_normal((3, 1, size, size), np.float32)
    run = sw.jit(lambda x, w: sw.conv(x, w, padding=size // 2, groups=3), target=target)
    under = windows(x, size, 1, size // 2, 1, 0.0)
    expected = np.einsum("ncijkl,ckl->ncij", under, w[:, 0])
    np.testing.assert_allclose(run(x, w), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("extent", [14, 28])
def test_sums_and_a_column_of_the_filter_stay_in_registers(extent, target):
    w = RNG.standard_normal((8, 1, 5, 5), np.float32)
    low = sw.jit(lambda x: sw.conv(x, w, padding=2, groups=8), target=target).lower(
        np.zeros((1, 8, extent, extent), np.float32)
    )
    assert "masks lanes outside of the image" in low.plan()
    # Of tiles at a corner, which have masks and leave out terms, a sum may be in memory.
    stored = re.findall(r"vmov\w+\s+%[yz]mm\d+, -?\d*\(%rsp\)", low.as_text("asm"))
    assert len(stored) <= 2 * (extent > 14)


@pytest.mark.parametrize("width", [17, 33])
@pytest.mark.parametrize("stride", [1, 2])
def test_masked_loops_mean_the_same_in_the_interpreter(width, stride):
    x = RNG.standard_normal((1, 2, 17, width), np.float32)
    w = RNG.standard_normal((2, 1, 3, 3), np.float32)
    low = sw.jit(
        lambda x, w: sw.conv(x, w, stride=stride, padding=1, groups=2), target="x86-64-v4"
    ).lower(x, w)
    assert "masks lanes outside of the image" in low.plan()
    (found,) = interpret(low.module("loop"), [x, w])
    np.testing.assert_allclose(found, low.compile("host")(x, w), rtol=1e-5, atol=1e-5)


@pytest.mark.sampled(2, by=("extent", "target"))
@pytest.mark.parametrize("extent", [7, 13, 28, 61])
@pytest.mark.parametrize(
    ("size", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (5, 1, 1), (3, 1, 2)]
)
@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4"])
def test_rows_of_masked_tiles_leave_out_terms_of_their_own(extent, size, stride, dilation, target):
    """Of constants, which are finite: where one tile has all rows, or a loop runs over those between the first and the last."""
    x = RNG.standard_normal((1, 3, extent, extent), np.float32)
    w = RNG.standard_normal((3, 1, size, size), np.float32)
    pad = dilation * (size // 2)
    low = sw.jit(
        lambda x: sw.conv(x, w, stride=stride, padding=pad, dilation=dilation, groups=3),
        target=target,
    ).lower(x)
    if (extent, stride) in ((7, 1), (13, 2)):
        assert "leaves out terms outside of it along axes 3, masks lanes" in low.plan()
        assert not re.search(r"%kh\S* - \d+ >= 0", low.as_text("loop"))
    under = windows(x, size, stride, pad, dilation, 0.0)
    expected = np.einsum("ncijkl,ckl->ncij", under, w[:, 0])
    np.testing.assert_allclose(low.compile("host")(x), expected, rtol=1e-5, atol=1e-4)
    (interpreted,) = interpret(low.module("loop"), [x])
    np.testing.assert_allclose(interpreted, expected, rtol=1e-5, atol=1e-4)


def test_rows_by_themselves_have_all_terms():
    """More of them than the first and the last are at an edge of a larger filter: no loop is the same for those between."""
    w = RNG.standard_normal((8, 1, 5, 5), np.float32)
    x = np.zeros((1, 8, 14, 14), np.float32)
    low = sw.jit(lambda x: sw.conv(x, w, padding=2, groups=8), target="x86-64-v3").lower(x)
    plans = low.plan(1000).splitlines()
    rows = [plan for plan in plans if re.search("tile 1x8 .* masks lanes", plan)]
    assert rows and not any("leaves out" in plan for plan in rows)


BLOCKED = """
func.func @main(%x: tensor<2x{h}x{w}x16xf32>, %w: tensor<2x{k}x{k}x16xf32> {finite}) -> tensor<2x{oh}x{ow}x16xf32> {{
  %y = te.compute [%c = 2, %oh = {oh}, %ow = {ow}, %d = 16] add [%kh = {k}, %kw = {k}] (%a = %x[%c, %oh * {s} + %kh - {p}, %ow * {s} + %kw - {p}, %d] else 0.0 : f32, %b = %w[%c, %kh, %kw, %d]) : (tensor<2x{h}x{w}x16xf32>, tensor<2x{k}x{k}x16xf32>) -> tensor<2x{oh}x{ow}x16xf32> {{
    %p = arith.mulf %a, %b : f32
    te.yield %p : f32
  }}
  func.return %y : tensor<2x{oh}x{ow}x16xf32>
}}
"""
"""A depthwise convolution whose channels are in blocks."""


@pytest.mark.sampled(1, by=("width", "target"))
@pytest.mark.parametrize("width", RAGGED)
@pytest.mark.parametrize(("size", "stride", "pad"), [(3, 1, 1), (3, 2, 1), (5, 1, 2), (5, 2, 3)])
@pytest.mark.parametrize("target", ["host", "x86-64-v3"])
def test_terms_outside_of_the_image_are_left_out(tmp_path, width, size, stride, pad, target):
    height = min(width, 9)
    oh, ow = ((n + 2 * pad - size) // stride + 1 for n in (height, width))
    names = {"h": height, "w": width, "oh": oh, "ow": ow, "k": size, "s": stride, "p": pad}
    file = tmp_path / "blocked.mlir"
    file.write_text(BLOCKED.format(finite="{stepwell.finite}", **names))
    x = RNG.standard_normal((2, height, width, 16), np.float32)
    w = RNG.standard_normal((2, size, size, 16), np.float32)
    low = sw.load(file, target=target)
    # By the rates of some hosts a copy with its border is as fast for a few rows.
    assert width < 3 or target == "host" or "leaves out terms outside" in low.plan()
    under = windows(np.moveaxis(x, -1, 1), size, stride, pad, 1, 0.0)
    expected = np.einsum("cdijkl,ckld->cijd", under, w)
    np.testing.assert_allclose(low.compile()(x, w), expected, rtol=1e-5, atol=1e-5)
    (interpreted,) = interpret(low.module("loop"), (x, w))
    np.testing.assert_allclose(interpreted, expected, rtol=1e-5, atol=1e-5)


def test_rows_that_share_pixels_between_terms_leave_registers_to_them(tmp_path):
    """Terms that are written out share the pixels they load: twenty-eight sums and as many pixels are too many."""
    file = tmp_path / "blocked.mlir"
    names = {"h": 28, "w": 28, "oh": 28, "ow": 28, "k": 5, "s": 1, "p": 2}
    file.write_text(BLOCKED.format(finite="{stepwell.finite}", **names))
    assert "tile 14x16 of the result, leaves out" in sw.load(file, target="zen4").plan()
    file.write_text(BLOCKED.format(finite="", **names))
    assert "leaves out" not in sw.load(file, target="zen4").plan()

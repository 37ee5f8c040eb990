"""Winograd convolution: its matrices, what the rewritten graph computes at each level, and how far rounding takes it."""

from fractions import Fraction

import numpy as np
import pytest
import stepwell as sw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stepwell.dialects.graph import ConvOp, WinogradInputOp, WinogradOutputOp
from stepwell.dialects.minimal_filtering import ROUNDINGS, TAPS, TILES, minimal_filtering
from stepwell.driver.options import Options
from stepwell.driver.pipelines import lower_to
from stepwell.errors import StepwellError
from stepwell.frontend.lowered import Lowered
from stepwell.interpreters.harness import interpret
from stepwell.targets.target import Target
from stepwell.transforms.graph import block_channels
from stepwell.transforms.graph.blocked_images import images_of
from stepwell.transforms.graph.winograd import GraphWinogradPass, Tiling, choose, rewrite
from stepwell.universe import make_context
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

RNG = np.random.default_rng(14)

IMAGES = [
    # Rows and columns, and what the image is padded by before and after each.
    ((1, 1), (1, 1), (1, 1)),
    ((2, 3), (1, 1), (1, 1)),
    ((5, 7), (0, 0), (0, 0)),
    ((3, 17), (2, 0), (0, 2)),
    ((31, 3), (0, 1), (2, 0)),
    ((7, 33), (1, 2), (1, 0)),
]


def program(x, weights, low, high):
    """A convolution with a bias and relu, whose weights are constants."""

    def function(x):
        y = sw.conv(x, weights, padding=tuple(zip(low, high, strict=True)))
        return sw.nn.relu(y + np.ones((len(weights), 1, 1), weights.dtype))

    return sw.jit(function).lower(x).module("graph")


def rewritten(module, tile):
    """The program with its convolution by F(tile, 3), whatever that takes."""
    module = module.clone()
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    rewrite(Tiling(conv, tile))
    module.verify()
    assert not any(isinstance(op, ConvOp) for op in module.walk())
    return module


@pytest.mark.parametrize("tile", TILES)
def test_matrices_filter_exactly(tile):
    """Each output is the sum of the products of three taps and the inputs that follow it, and of no others."""
    f = minimal_filtering(tile)
    for i, row in enumerate(f.of_output):
        for k in range(TAPS):
            for j in range(f.size):
                products = zip(row, f.of_taps, f.of_input, strict=True)
                found = sum((a * g[k] * b[j] for a, g, b in products), Fraction(0))
                assert found == (j == i + k)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("sizes", "low", "high"), IMAGES)
def test_every_level_computes_the_convolution(tile, sizes, low, high):
    images, channels, outputs = 2, 3, 2
    dtype = np.float64 if sizes == (5, 7) else np.float32
    weights = RNG.standard_normal((outputs, channels, 3, 3)).astype(dtype)
    x = RNG.standard_normal((images, channels, *sizes)).astype(dtype)
    direct = program(x, weights, low, high)
    (expected,) = interpret(direct, [x])
    module = rewritten(direct, tile)
    tolerance = {"rtol": 1e-4 if dtype == np.float32 else 1e-12, "atol": 1e-4}
    for level in ("graph", "te", "loop"):
        lowered = module.clone()
        lower_to(lowered, level, Options(opt="quick"))
        if level != "loop" or max(sizes) < 8:
            np.testing.assert_allclose(interpret(lowered, [x])[0], expected, **tolerance)
    native = Lowered(module, options=Options(opt="quick")).compile()
    np.testing.assert_allclose(native(x), expected, **tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(("size", "channels", "outputs"), [(17, 5, 33), (31, 33, 17), (33, 17, 7)])
def test_scheduled_code_computes_the_convolution(tile, size, channels, outputs):
    weights = RNG.standard_normal((outputs, channels, 3, 3)).astype(np.float32)
    x = RNG.standard_normal((2, channels, size, size)).astype(np.float32)
    direct = program(x, weights, (1, 1), (1, 1))
    (expected,) = interpret(direct, [x])
    native = Lowered(rewritten(direct, tile)).compile()
    np.testing.assert_allclose(native(x), expected, rtol=1e-4, atol=1e-3)


def bottleneck(channels, inner, size, low, high):
    """Products for each pixel around a convolution of 3 by 3 elements, with biases, activations and a residual."""
    shapes = [(inner, channels, 1, 1), (inner, inner, 3, 3), (channels, inner, 1, 1)]
    w = [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]
    bias = RNG.standard_normal((inner, 1, 1)).astype(np.float32)

    def function(x):
        a = sw.nn.relu(sw.conv(x, w[0]) + bias)
        b = sw.nn.relu(sw.conv(a, w[1], padding=tuple(zip(low, high, strict=True))) + bias)
        return sw.nn.relu(sw.conv(b, w[2]) + np.float32(1))

    x = RNG.standard_normal((2, channels, *size)).astype(np.float32)
    return sw.jit(function).lower(x).module("graph"), x


def by_tiles_and_blocks(module, tile, channels):
    """With the convolution by F(tile, 3), and the channels of the images before and behind its tiles in blocks."""
    module = module.clone()
    conv = next(
        op for op in module.walk() if isinstance(op, ConvOp) and op.weights.type.get_shape()[2] == 3
    )
    rewrite(Tiling(conv, tile))
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    found = images_of(function.body.block, (channels,))
    assert [(len(one.to_tiles), len(one.from_tiles)) for one in found] == [(1, 0), (0, 1)]
    assert not any(one.obstacle for one in found)
    block_channels.rewrite(function.body.block, found)
    module.verify()
    assert not any(isinstance(op, ConvOp) for op in module.walk())
    return module


@pytest.mark.parametrize("tile", TILES)
@pytest.mark.parametrize(
    ("size", "low", "high"), [((3, 5), (1, 1), (1, 1)), ((8, 7), (0, 2), (0, 1))]
)
def test_tiles_are_of_blocks_of_channels(tile, size, low, high):
    module, x = bottleneck(5, 6, size, low, high)
    (expected,) = interpret(module, [x])
    tolerance = {"rtol": 1e-4, "atol": 1e-3}
    for level in ("graph", "te", "loop"):
        lowered = by_tiles_and_blocks(module, tile, 3)
        lower_to(lowered, level, Options(opt="quick"))
        if level != "loop" or max(size) < 8:
            np.testing.assert_allclose(interpret(lowered, [x])[0], expected, **tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tile", "size", "inner"), [(2, (17, 31), 32), (4, (33, 7), 16), (4, (16, 100), 48)]
)
def test_scheduled_code_computes_tiles_of_blocks(tile, size, inner):
    module, x = bottleneck(17, inner, size, (1, 1), (1, 1))
    (expected,) = interpret(module, [x])
    native = Lowered(by_tiles_and_blocks(module, tile, 16)).compile(threads=1)
    np.testing.assert_allclose(native(x), expected, rtol=1e-4, atol=1e-2)


def full_sums(x, w):
    """The greatest sum of |x| |w| in which an element and a tap meet, also beyond the image's border."""
    wide = np.pad(np.abs(x), ((0, 0), (0, 0), (2, 2), (2, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (TAPS, TAPS), axis=(2, 3))
    return np.einsum("nchwab,kcab->nkhw", windows, np.abs(w)).max()


def exactly(x, w):
    """The convolution of a padded image in float64."""
    wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (TAPS, TAPS), axis=(2, 3))
    return np.einsum("nchwab,kcab->nkhw", windows, w.astype(np.float64))


def convolved(x, w, tile):
    """`A^T ((G w G^T) * (B^T x B)) A` in the dtype of the image, by the operations' own semantics."""
    f, (_, channels, *sizes) = minimal_filtering(tile), x.shape
    counts = [-(-size // tile) for size in sizes]
    padded = [(1, count * tile + 1 - size) for count, size in zip(counts, sizes, strict=True)]
    image = np.pad(x, ((0, 0), (0, 0), *padded)).transpose(0, 2, 3, 1)
    before = WinogradInputOp(Block(arg_types=[TensorType(f32, image.shape)]).args[0], tile)
    taps = f.transformed_taps(w).transpose(2, 3, 1, 0).reshape(f.size**2, channels, len(w))
    products = before.numpy(image) @ taps
    type_ = TensorType(f32, products.shape)
    behind = WinogradOutputOp(Block(arg_types=[type_]).args[0], tile, *counts)
    y = behind.numpy(products)[:, : sizes[0], : sizes[1]]
    return y.transpose(0, 3, 1, 2)


@st.composite
def cancelling(draw):
    """An image and weights of random magnitudes whose products cancel, or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    channels = draw(st.integers(1, 40))
    x = rng.standard_normal((1, channels, 8, 8)) * np.exp2(rng.integers(-12, 12, (channels, 8, 8)))
    w = rng.standard_normal((2, channels, 3, 3))
    kind = draw(st.sampled_from(["random", "alternating", "mirrored", "corners"]))
    if kind == "alternating":  # neighbours cancel: a high frequency through a low-pass filter
        sign = (-1.0) ** np.add.outer(np.arange(8), np.arange(8))
        x, w = np.abs(x[:, :, :1, :1]) * sign, np.abs(w[:, :, :1, :1]) * np.ones((3, 3))
    elif kind == "mirrored":  # channels cancel in pairs
        x, w = np.concatenate([x, x], axis=1), np.concatenate([w, -w], axis=1)
    elif kind == "corners":  # what a tile multiplies meets in no output of it
        x[:, :, 1:, 1:] *= 2.0**-20
        w[:, :, :2, :2] *= 2.0**-20
    return x.astype(np.float32), w.astype(np.float32)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(cancelling(), st.sampled_from(TILES))
def test_errors_stay_below_the_bound(pair, tile):
    """The bound of docs/winograd.md, relative to the greatest sum of |x| |w| and not to the result."""
    x, w = pair
    f = minimal_filtering(tile)
    unit = 2.0**-24 * (x.shape[1] + ROUNDINGS)
    bound = f.amplification * unit / (1 - unit) * full_sums(x, w)
    found = convolved(x, w, tile)
    assert np.abs(found - exactly(x, w)).max() <= bound


def test_weights_that_come_slowly_are_not_transformed_into_more():
    """The last cache keeps the weights of either kind; from one that is slow four times as many take longer than they save."""
    weights, x = np.zeros((512, 512, 3, 3), np.float32), np.zeros((1, 512, 7, 7), np.float32)
    module = sw.jit(lambda x: sw.conv(x, weights, padding=1)).lower(x).module("graph")
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    fast, slow = (
        Target.parse(f"zen4:l3=64M,beyond_l2=50e9,read_l3={rate}") for rate in ("50e9", "2e9")
    )
    assert choose(conv, fast)[0] is not None
    assert choose(conv, slow)[0] is None


@pytest.mark.parametrize(("others", "tile"), [(8, 4), (4200, 2)])
def test_weights_that_all_constants_drive_out_of_the_last_cache_come_from_memory(others, tile):
    """Then smaller tiles, of fewer weights, take less time: 9.4 MB come from the last cache in 0.2 ms, and from memory in 0.9."""
    weights, large = np.zeros((256, 256, 3, 3), np.float32), np.zeros((others, others), np.float32)
    x, z = np.zeros((1, 256, 14, 14), np.float32), np.zeros((1, others), np.float32)
    low = sw.jit(lambda x, z: (sw.conv(x, weights, padding=1), z @ large)).lower(x, z)
    module = low.module("graph")
    target = "zen4:l3=64M,read_l3=50e9,read_memory=10e9"
    GraphWinogradPass(winograd=True, target=target).apply(make_context(), module)
    (found,) = (op.tile.value.data for op in module.walk() if isinstance(op, WinogradInputOp))
    assert found == tile


def test_convolutions_wait_for_weights_from_memory_as_well():
    """Both kinds come more slowly then, and of the convolution's own there are fewer."""
    weights, x = np.zeros((512, 512, 3, 3), np.float32), np.zeros((1, 512, 7, 7), np.float32)
    module = sw.jit(lambda x: sw.conv(x, weights, padding=1)).lower(x).module("graph")
    (conv,) = (op for op in module.walk() if isinstance(op, ConvOp))
    target = Target.of("zen4:l3=64M,read_l3=50e9,read_memory=10e9")
    near, far = (choose(conv, target, constants)[1] for constants in (0.0, 1e8))
    direct = [float(text.split("direct ")[1].split()[0]) for text in (near, far)]
    assert direct[1] - direct[0] == pytest.approx(
        1e3 * weights.nbytes * (1 / 10e9 - 1 / 50e9), 0.05
    )


def test_options_say_whether_it_may_run():
    weights = RNG.standard_normal((16, 16, 3, 3)).astype(np.float32)

    def function(x):
        return sw.conv(x, weights, padding=1)

    x = np.zeros((1, 16, 32, 32), np.float32)
    texts = {
        (fp, winograd): sw.jit(function, fp=fp, winograd=winograd).lower(x).as_text("te")
        for fp, winograd in [("contract", False), ("contract", True), ("fast", False)]
    }
    used = {about: "winograd" in text for about, text in texts.items()}
    assert used == {("contract", False): False, ("contract", True): True, ("fast", False): True}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"winograd": 1}, "found winograd=1, expected True or False"),
        (
            {"winograd": True, "fp": "strict"},
            "found winograd with fp='strict', expected fp='contract'",
        ),
    ],
)
def test_rejected_options(options, message):
    with pytest.raises(StepwellError, match=message):
        sw.jit(lambda x: x, **options)

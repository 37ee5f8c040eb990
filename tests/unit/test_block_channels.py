"""Channels of images in blocks: networks compute the same with them, at each level and in scheduled code."""

import numpy as np
import pytest
import stepwell as sw
from stepwell.dialects.graph import BlockedConvOp, BlockedDepthwiseConvOp, ConvOp
from stepwell.driver.options import Options
from stepwell.driver.pipelines import lower_to
from stepwell.frontend.lowered import Lowered
from stepwell.frontend.text import parse_text
from stepwell.interpreters.harness import interpret
from stepwell.transforms.graph.block_channels import rewrite
from stepwell.transforms.graph.blocked_images import images_of
from xdsl.dialects.func import FuncOp

RNG = np.random.default_rng(14)


def weights(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def network(channels, image):
    """With all that images in blocks go through: windows, of each channel too, a residual, a gate, numbers, and sums."""
    w = [weights(channels, 3, 3, 3), weights(2 * channels, channels, 1, 1)]
    w += [weights(2 * channels, 2 * channels, 3, 3), weights(5, 2 * channels, 3, 1)]
    alone = weights(2 * channels, 1, 3, 2)
    bias, scale = weights(channels, 1, 1), weights(1, 2 * channels, 1, 1)

    def function(x):
        a = sw.nn.relu(sw.conv(x, w[0], stride=2, padding=1) + bias)
        a = sw.max_pool(a, 3, stride=1, padding=1) + sw.average_pool(a, 3, stride=1, padding=1)
        b = sw.conv(a, w[1]) * scale
        b = sw.conv(b, alone, padding=((1, 1), (1, 0)), groups=2 * channels) + b
        gate = 1 / (1 + sw.exp(-sw.mean(b, axis=(2, 3), keepdims=True)))
        c = sw.conv(b * gate * 0.5, w[2], padding=1) + b
        return sw.conv(c, w[3], padding=((0, 2), (0, 0))), sw.max(c, axis=(2, 3))

    x = RNG.standard_normal((2, 3, *image)).astype(np.float32)
    return sw.jit(function).lower(x).module("graph"), x


def in_blocks(module, channels):
    """The program with all images in blocks that may be, whatever that takes."""
    module = module.clone()
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    found = images_of(function.body.block, (channels,))
    assert not any(images.obstacle for images in found)
    rewrite(function.body.block, found)
    module.verify()
    assert not any(isinstance(op, ConvOp) for op in module.walk())
    convolutions = [op.blocks for op in module.walk() if isinstance(op, BlockedConvOp)]
    assert [(each.image, each.result) for each in convolutions] == [
        *[(1, channels), (channels, channels)],
        *[(channels, channels), (channels, 1)],
    ]
    assert sum(isinstance(op, BlockedDepthwiseConvOp) for op in module.walk()) == 1
    return module


def check(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(other).max())


@pytest.mark.parametrize(("channels", "image"), [(2, (3, 5)), (3, (7, 2))])
def test_every_level_computes_the_network(channels, image):
    module, x = network(channels, image)
    expected = interpret(module, [x])
    for level in ("graph", "te", "loop"):
        lowered = in_blocks(module, channels)
        lower_to(lowered, level, Options(opt="quick"))
        check(interpret(lowered, [x]), expected)


@pytest.mark.parametrize(("channels", "image"), [(16, (17, 31)), (32, (33, 5)), (8, (7, 100))])
def test_scheduled_code_computes_the_network(channels, image):
    module, x = network(channels, image)
    expected = Lowered(module.clone(), options=Options(opt="quick")).compile()(x)
    check(Lowered(in_blocks(module, channels)).compile(threads=1)(x), expected)


@pytest.mark.parametrize(("axis", "sizes"), [(1, (4, 2, 6)), (2, (1, 3, 3))])
def test_images_are_joined_and_cut_in_blocks(axis, sizes):
    """Along channels, of which parts are whole blocks, and along rows."""
    w = [weights(12, 3, 3, 3), *(weights(5, n if axis == 1 else 12, 1, 1) for n in sizes)]
    w.append(weights(3, 2 * 12 if axis == 1 else 12, 2, 1))

    def function(x):
        a = sw.conv(x, w[0], padding=1)
        parts = sw.split(a, np.cumsum(sizes)[:-1].tolist(), axis=axis)
        both = sw.concat([parts[2], a, *parts[:2]], axis=axis)
        return *(sw.conv(p, v) for p, v in zip(parts, w[1:4], strict=True)), sw.conv(both, w[4])

    x = RNG.standard_normal((2, 3, 7, 5)).astype(np.float32)
    module = sw.jit(function).lower(x).module("graph")
    expected = interpret(module, [x])
    (block,) = (op.body.block for op in module.walk() if isinstance(op, FuncOp))
    found = images_of(block, (2,))
    assert len(found) == 1
    rewrite(block, found)
    module.verify()
    assert not any(isinstance(op, ConvOp) for op in module.walk())
    check(interpret(module, [x]), expected)


def test_pooling_of_one_axis_is_left_alone():
    text = """
        func.func @main(%x: tensor<7x1x5xf32>, %w: tensor<2x1x2xf32>, %row: tensor<4xf32>) -> (tensor<7x2x5xf32>, tensor<2xf32>) {
          %y = graph.conv %x, %w strides = [1] dilations = [1] pad = [1], [0] groups = 1
              : tensor<7x1x5xf32>, tensor<2x1x2xf32> -> tensor<7x2x5xf32>
          %p = graph.average_pool %row window = [2] strides = [2] dilations = [1] low = [0] high = [0]
              : tensor<4xf32> -> tensor<2xf32>
          func.return %y, %p : tensor<7x2x5xf32>, tensor<2xf32>
        }"""
    run = Lowered(parse_text(text, "pool.mlir")).compile(threads=1)
    x, w = np.ones((7, 1, 5), np.float32), np.ones((2, 1, 2), np.float32)
    np.testing.assert_array_equal(run(x, w, np.arange(4, dtype=np.float32))[1], [0.5, 2.5])

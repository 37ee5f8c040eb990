"""How to make the operations of networks at random. See `random_operations`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random

from stepwell.dialects import graph
from stepwell.dialects.graph.base import FLOATS, GraphOp, shape_of
from stepwell.dialects.graph.blocked_convolution import Blocks, blocked_shape, split_weights
from stepwell.dialects.graph.windows import Window

from .random_operands import (
    COMPUTED_TYPES,
    STORED,
    Maker,
    Pool,
    broadcast_partner_shape,
    element_of,
    has_axes,
)


def conv(pool: Pool) -> GraphOp:
    """Of any image, by few new weights."""
    rng = pool.rng
    x = pool.pick(COMPUTED_TYPES, lambda shape: len(shape) >= 3 and 0 < prod(shape) <= 256)
    channels, rank = shape_of(x)[1], len(shape_of(x)) - 2
    groups = rng.choice([n for n in (1, 2, 3, channels) if channels % n == 0])
    taps = [rng.choice([1, min(2, extent), min(3, extent)]) for extent in shape_of(x)[2:]]
    strides, before, after = (
        [rng.choice(c) for _ in range(rank)] for c in ((1, 2), (0, 1), (0, 2))
    )
    if rng.random() < 0.3:
        w = pool.fresh(element_of(x), (channels, rng.randint(1, 2), *taps))
        return graph.ConvTransposeOp(x, w, strides, groups=groups)
    w = pool.fresh(element_of(x), (groups * rng.randint(1, 2), channels // groups, *taps))
    return graph.ConvOp(x, w, strides, None, before, after, groups)


def blocked_conv(pool: Pool) -> GraphOp:
    """Of a new image, with few channels in a block."""
    rng = pool.rng
    element, rank = rng.choice([e for e in FLOATS if e not in STORED]), rng.randint(1, 2)
    blocks = Blocks(rng.randint(1, 3), rng.randint(1, 3))
    counts = rng.randint(1, 2) * blocks.result, rng.randint(1, 2) * blocks.image
    image = rng.randint(1, 2), counts[1], *(rng.randint(2, 5) for _ in range(rank))
    weights = split_weights((*counts, *(rng.randint(1, 2) for _ in range(rank))), blocks)
    numbers = _numbers(pool, rank)
    x = pool.fresh(element, blocked_shape(image, blocks.image) if blocks.image > 1 else image)
    return graph.BlockedConvOp(x, pool.fresh(element, weights), numbers, blocks)


def blocked_depthwise_conv(pool: Pool) -> GraphOp:
    """Of a new image, with few channels in a block."""
    rng = pool.rng
    element, rank = rng.choice([e for e in FLOATS if e not in STORED]), rng.randint(1, 2)
    blocks, block = rng.randint(1, 2), rng.randint(1, 3)
    image = rng.randint(1, 2), blocks, *(rng.randint(2, 5) for _ in range(rank)), block
    weights = blocks, *(rng.randint(1, 2) for _ in range(rank)), block
    x, w = pool.fresh(element, image), pool.fresh(element, weights)
    return graph.BlockedDepthwiseConvOp(x, w, _numbers(pool, rank))


def _numbers(pool: Pool, rank: int) -> dict[str, list[int]]:
    """Strides, dilations and pads for each axis of a window."""
    names = {"strides": (1, 2), "dilations": (1,), "before": (0, 1), "after": (0, 2)}
    return {name: [pool.rng.choice(few) for _ in range(rank)] for name, few in names.items()}


def winograd_input(pool: Pool) -> GraphOp:
    """Of a new image, of few whole tiles."""
    rng = pool.rng
    element, tile = rng.choice(graph.WinogradInputOp.ELEMENTS), rng.choice((2, 4))
    height, width = (tile * rng.randint(1, 2) + 2 for _ in range(2))
    x = pool.fresh(element, (rng.randint(1, 2), height, width, rng.randint(1, 3)))
    return graph.WinogradInputOp(x, tile)


def winograd_output(pool: Pool) -> GraphOp:
    """Of new products, of few tiles."""
    rng = pool.rng
    element, tile = rng.choice(graph.WinogradOutputOp.ELEMENTS), rng.choice((2, 4))
    images, rows, columns = (rng.randint(1, 2) for _ in range(3))
    shape = (tile + 2) ** 2, images * rows * columns, rng.randint(1, 3)
    return graph.WinogradOutputOp(pool.fresh(element, shape), tile, rows, columns)


def layer_norm(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(FLOATS, has_axes)
    axis = rng.randrange(len(shape_of(x)))
    normalized = shape_of(x)[axis:]
    parameters = [
        pool.fresh(element_of(x), broadcast_partner_shape(rng, normalized))
        for _ in range(rng.randint(0, 2))
    ]
    return graph.LayerNormOp(x, *parameters, axis=axis, epsilon=rng.choice([1e-5, 1e-3]))


def rms_norm(pool: Pool) -> GraphOp:
    rng = pool.rng
    x = pool.pick(FLOATS, has_axes)
    axis = rng.randrange(len(shape_of(x)))
    scale = pool.fresh(element_of(x), broadcast_partner_shape(rng, shape_of(x)[axis:]))
    return graph.RmsNormOp(x, scale, axis=axis, epsilon=rng.choice([1e-5, 1e-3]))


def batch_norm(pool: Pool) -> GraphOp:
    x = pool.pick(FLOATS, has_axes)
    axis = pool.rng.randrange(len(shape_of(x)))
    parameters = [pool.fresh(element_of(x), (shape_of(x)[axis],)) for _ in range(4)]
    return graph.BatchNormOp(x, *parameters, axis=axis, epsilon=5.0)


def group_norm(pool: Pool) -> GraphOp:
    x = pool.pick(FLOATS, lambda shape: len(shape) > 1)
    channels = shape_of(x)[1]
    groups = pool.rng.choice([n for n in range(1, max(channels, 1) + 1) if channels % n == 0])
    parameters = [pool.fresh(element_of(x), (channels,)) for _ in range(2)]
    return graph.GroupNormOp(x, *parameters, groups=groups, epsilon=1e-3)


def random_window(rng: Random, shape: Sequence[int]) -> Window:
    """A window over some axes; it may not fit."""
    extents = [rng.choice((1, 1, 2, 3)) if extent > 1 else 1 for extent in shape]
    pads = [[rng.randint(0, extent - 1) for extent in extents] for _ in range(2)]
    strides, dilations = ([rng.choice((1, 1, 2, 3)) for _ in shape] for _ in range(2))
    lists = (extents, strides, dilations, *pads)
    return Window(*(tuple(values) for values in lists), ceil=rng.random() < 0.3)


def pool(op: type[graph.PoolOp]) -> Maker:
    def make(pool: Pool) -> GraphOp:
        x = pool.pick(tuple(type_ for type_ in op.ELEMENTS if type_ not in STORED))
        return op(x, random_window(pool.rng, shape_of(x)))

    return make

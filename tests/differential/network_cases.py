"""Cases of the operations that networks are made of: convolutions, pooling, normalization. See `operator_cases`."""

from __future__ import annotations

from typing import Any

from stepwell.dialects import graph
from stepwell.dialects.graph.blocked_convolution import Blocks
from stepwell.dialects.graph.windows import Window
from xdsl.ir import Attribute, Operation

from .operator_case import Case, Cases, Shape, case

_WINDOWS: tuple[tuple[Shape, Shape, Shape, Shape, Shape, Shape, int], ...] = (
    ((1, 1, 3), (1, 1, 1), (1,), (1,), (0,), (0,), 1),
    ((2, 3, 9), (4, 3, 3), (2,), (1,), (1,), (2,), 1),
    ((1, 4, 7, 6), (6, 2, 3, 2), (1, 2), (2, 1), (1, 0), (2, -1), 2),
    ((2, 3, 5, 5), (3, 1, 3, 3), (2, 2), (1, 1), (1, 1), (1, 1), 3),
    ((1, 2, 4, 5, 3), (3, 2, 2, 3, 1), (1, 1, 2), (1, 2, 1), (0, 2, -1), (1, 0, 1), 1),
)
"""Image, weights, strides, dilations, pads before and after, and groups."""


def conv(op: Any, element: Attribute) -> list[Case]:
    names = ("strides", "dilations", "before", "after", "groups")
    return [
        case(op, image, weights, **dict(zip(names, numbers, strict=True)))
        for image, weights, *numbers in _WINDOWS
    ]


def blocked_conv(op: Any, element: Attribute) -> list[Case]:
    """Either, neither or both of image and result have their channels in blocks."""
    shapes = (
        ((1, 2, 5, 4, 3), (2, 2, 2, 3, 2, 3), Blocks(3, 2)),
        ((2, 1, 7, 2), (3, 1, 2, 3), Blocks(2, 1)),
        ((1, 3, 7, 3), (2, 2, 3, 1, 2), Blocks(1, 2)),
        ((1, 3, 4), (2, 3, 2), Blocks(1, 1)),
    )
    return [
        case(
            op, image, weights, numbers=_numbers(len(image) - 2 - (blocks.image > 1)), blocks=blocks
        )
        for image, weights, blocks in shapes
    ]


def blocked_depthwise_conv(op: Any, element: Attribute) -> list[Case]:
    shapes = ((1, 2, 5, 4, 3), (2, 2, 1, 3)), ((2, 1, 7, 2), (1, 3, 2)), ((1, 3, 4, 1), (3, 2, 1))
    return [
        case(op, image, weights, numbers=_numbers(len(weights) - 2)) for image, weights in shapes
    ]


def _numbers(rank: int) -> dict[str, Shape]:
    return {
        "strides": (2, 1)[:rank],
        "dilations": (1, 1)[:rank],
        "before": (1, 0)[:rank],
        "after": (0, 1)[:rank],
    }


def conv_transpose(op: Any, element: Attribute) -> list[Case]:
    """Weights have the image's channels first, and its groups' outputs behind."""
    names = ("strides", "dilations", "before", "after", "groups")
    return [
        case(
            op,
            image,
            (image[1], weights[0] // numbers[-1], *weights[2:]),
            **dict(zip(names, numbers, strict=True)),
        )
        for image, weights, *numbers in _WINDOWS
    ]


def winograd_input(op: Any, element: Attribute) -> list[Case]:
    shapes = ((2, 4, 6, 1), 2), ((1, 10, 6, 2), 4)
    return [case(op, shape, tile=tile) for shape, tile in shapes]


def winograd_output(op: Any, element: Attribute) -> list[Case]:
    shapes = ((16, 12, 1), 2, 2, 3), ((36, 2, 2), 4, 1, 1)
    return [case(op, s, tile=tile, rows=rows, columns=n) for s, tile, rows, n in shapes]


def layer_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (1,), axis=0),
        case(op, (3, 17), (17,), axis=1),
        case(op, (3, 17), (17,), (17,), axis=1, epsilon=1e-3),
        case(op, (2, 3, 5), (3, 5), (5,), axis=1),
        case(op, (2, 7), (), (1,), axis=0),
        case(op, (0, 3), (3,), axis=1),
    ]


def rms_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (1,), axis=0),
        case(op, (3, 17), (17,), axis=1),
        case(op, (2, 3, 5), (3, 5), axis=1, epsilon=1e-3),
        case(op, (0, 3), (3,), axis=1),
    ]


def batch_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (2, 3), *[(3,)] * 4, axis=1, epsilon=5.0),
        case(op, (1, 3, 5, 7), *[(3,)] * 4, axis=1, epsilon=5.0),
        case(op, (5, 3, 2), *[(2,)] * 4, axis=2, epsilon=5.0),
        case(op, (0, 1, 4), *[(1,)] * 4, axis=1, epsilon=5.0),
    ]


def group_norm(op: Any, element: Attribute) -> list[Case]:
    return [
        case(op, (2, 6, 5), (6,), (6,), groups=2),
        case(op, (1, 3, 5, 7), (3,), (3,), groups=3),
        case(op, (2, 4, 3, 1, 2), (4,), (4,), groups=1, epsilon=1e-3),
        case(op, (3, 4), (4,), (4,), groups=2),
        case(op, (0, 2, 3), (2,), (2,), groups=2),
    ]


WINDOWS: tuple[tuple[Shape, Window], ...] = (
    ((5,), Window((1,), (2,), (1,), (0,), (0,))),
    ((19,), Window((3,), (2,), (1,), (1,), (1,))),
    ((3, 7), Window((2, 3), (1, 2), (1, 2), (1, 0), (0, 2))),
    (
        (1, 2, 7, 8),
        Window((1, 1, 3, 2), (1, 1, 2, 3), (1, 1, 1, 1), (0, 0, 1, 0), (0, 0, 1, 0), True),
    ),
    ((2, 0, 5), Window((1, 1, 2), (1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0))),
)


def pool(op: Any, element: Attribute) -> list[Case]:
    return [case(op, shape, window=window) for shape, window in WINDOWS]


def average_pool(op: Any, element: Attribute) -> list[Case]:
    return [
        *pool(op, element),
        *[case(op, shape, window=window, count_padding=True) for shape, window in WINDOWS],
    ]


CASES: dict[type[Operation], Cases] = {
    graph.AveragePoolOp: average_pool,
    graph.BatchNormOp: batch_norm,
    graph.GroupNormOp: group_norm,
    graph.RmsNormOp: rms_norm,
    graph.ConvOp: conv,
    graph.BlockedConvOp: blocked_conv,
    graph.BlockedDepthwiseConvOp: blocked_depthwise_conv,
    graph.ConvTransposeOp: conv_transpose,
    graph.WinogradInputOp: winograd_input,
    graph.WinogradOutputOp: winograd_output,
    graph.LayerNormOp: layer_norm,
}

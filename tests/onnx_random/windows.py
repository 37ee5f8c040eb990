"""Rules of operators on windows of images: convolutions, pooling, and resizing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .builder import Builder, NoValue, Rule


@dataclass(frozen=True)
class Windows:
    """How windows lie on an image, and how many there are along each axis."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]
    count: list[int]

    @property
    def attributes(self) -> dict[str, Any]:
        found = {"kernel_shape": self.kernel, "strides": self.strides, "pads": self.pads}
        return found | ({"dilations": self.dilations} if max(self.dilations) > 1 else {})


def windows(b: Builder, image: list[int], is_dilated: bool = True) -> Windows:
    """Windows that fit the image; each has an element of it."""
    kernel = [b.number(1, 3) for _ in image]
    strides = [b.number(1, 2) for _ in image]
    dilations = [b.pick(1, 1, 2) if is_dilated else 1 for _ in image]
    kernel = [
        k if (k - 1) * d < extent else 1
        for k, d, extent in zip(kernel, dilations, image, strict=True)
    ]
    before, after = ([b.number(0, k - 1) for k in kernel] for _ in range(2))
    count = [
        (low + extent + high - (k - 1) * d - 1) // s + 1
        for low, extent, high, k, d, s in zip(
            before, image, after, kernel, dilations, strides, strict=True
        )
    ]
    return Windows(kernel, strides, dilations, [*before, *after], count)


def convolution(b: Builder) -> None:
    x = b.value(3)
    n, c, *image = b.shapes[x]
    over = windows(b, image)
    groups = b.pick(1, 1, c)
    filters = groups * b.number(1, 3)
    weights = [b.random(filters, c // groups, *over.kernel)]
    weights += [b.random(filters)] if b.chance(0.5) else []
    shape = (n, filters, *over.count)
    b.node("Conv", x, *weights, shape=shape, group=groups, **over.attributes)


def same_size(b: Builder) -> None:
    """A convolution whose pads follow from its result's size."""
    x = b.value(3)
    n, c, *image = b.shapes[x]
    strides = [b.number(1, 2) for _ in image]
    shape = (n, 2, *(-(-extent // stride) for extent, stride in zip(image, strides, strict=True)))
    weights = b.random(2, c, *([3] * len(image)))
    b.node(
        "Conv",
        x,
        weights,
        shape=shape,
        strides=strides,
        auto_pad=b.pick("SAME_UPPER", "SAME_LOWER"),
    )


def transposed_convolution(b: Builder) -> None:
    x = b.value(3)
    n, c, *image = b.shapes[x]
    if n > 1:
        raise NoValue  # which the reference evaluator does not compute
    kernel = [b.number(1, 3) for _ in image]
    strides = [b.number(1, 2) for _ in image]
    pads = [b.number(0, (k - 1) // 2) for k in kernel]
    extents = [
        (extent - 1) * s + k - 2 * p
        for extent, s, k, p in zip(image, strides, kernel, pads, strict=True)
    ]
    weights = b.random(c, 2, *kernel), b.random(2)
    b.node(
        "ConvTranspose", x, *weights, shape=(n, 2, *extents), strides=strides, pads=[*pads, *pads]
    )


def pooling(b: Builder) -> None:
    x = b.value(3)
    n, c, *image = b.shapes[x]
    # The reference evaluator fails for the largest numbers of padded windows of one axis.
    kinds = ("MaxPool", "AveragePool", "LpPool") if len(image) == 2 else ("AveragePool", "LpPool")
    kind = b.pick(*kinds)
    over = windows(b, image, is_dilated=kind == "MaxPool")
    more = {"count_include_pad": b.number(0, 1)} if kind == "AveragePool" else {}
    b.node(kind, x, shape=(n, c, *over.count), **over.attributes, **more)


def global_pooling(b: Builder) -> None:
    x = b.value(3)
    n, c, *image = b.shapes[x]
    # The reference evaluator takes the largest number of an image of two axes alone.
    kinds = ("GlobalAveragePool", "GlobalMaxPool") if len(image) == 2 else ("GlobalAveragePool",)
    b.node(b.pick(*kinds), x, shape=(n, c, *([1] * len(image))))


def resize(b: Builder) -> None:
    x = b.value(3, 4)
    scales = [1.0, 1.0, *(b.pick(1.0, 2.0, 0.5, 1.5, 3.0) for _ in b.shapes[x][2:])]
    shape = [int(extent * scale) for extent, scale in zip(b.shapes[x], scales, strict=True)]
    if min(shape) < 1:
        scales, shape = [2.0] * len(shape), [2 * extent for extent in b.shapes[x]]
    mode = b.pick("nearest", "linear", "cubic")
    position = b.pick("half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners")
    by_scale = ["", b.weight(np.float32(scales))]
    given = by_scale if b.chance(0.6) else ["", "", b.integers(*shape)]
    b.node("Resize", x, *given, shape=shape, mode=mode, coordinate_transformation_mode=position)


RULES: tuple[Rule, ...] = (
    *(convolution, convolution, same_size, transposed_convolution),
    *(pooling, global_pooling, resize),
)

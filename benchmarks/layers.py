"""Convolution layers, by their sizes: the distinct ones of two networks, and other kinds. `convolutions.py` and
`networks.py` measure them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from stepwell.runtime.engine import aligned

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Layer:
    """`channels` → `outputs` channels, by windows of `kernel`² elements, of a square image."""

    channels: int
    outputs: int
    image: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1

    def __str__(self) -> str:
        words = [f"{self.kernel}x{self.kernel} {self.channels}-{self.outputs}@{self.image}"]
        words += [f"s{self.stride}"] if self.stride > 1 else []
        words += [f"d{self.dilation}"] if self.dilation > 1 else []
        words += [f"g{self.groups}"] if self.groups > 1 else []
        return " ".join(words)

    @property
    def group(self) -> str:
        """The kind of layer, which has a way to be computed of its own."""
        if self.groups == self.channels:
            return "depthwise"
        kind = "grouped" if self.groups > 1 else "dilated" if self.dilation > 1 else ""
        return kind or f"{self.kernel}x{self.kernel}{' s2' if self.stride > 1 else ''}"

    @property
    def border(self) -> int:
        return self.dilation * (self.kernel - 1) // 2

    @property
    def result(self) -> int:
        """The extent of the result along one axis."""
        reach = self.dilation * (self.kernel - 1) + 1
        return (self.image + 2 * self.border - reach) // self.stride + 1

    @property
    def flops(self) -> float:
        terms = self.channels // self.groups * self.kernel**2
        return 2.0 * self.outputs * self.result**2 * terms

    def arrays(self) -> tuple[Array, Array]:
        """An image and weights, each at the start of a cache line, as libraries place what is inside of a network."""
        rng = np.random.default_rng(5)
        image = (1, self.channels, self.image, self.image)
        weights = (self.outputs, self.channels // self.groups, self.kernel, self.kernel)
        return (
            placed(rng.standard_normal(image, np.float32)),
            placed(rng.standard_normal(weights, np.float32)),
        )


def placed(array: Array) -> Array:
    """A copy at the start of a cache line."""
    return aligned(np.array(array, order="C"))


def bottleneck(channels: int, inner: int, outputs: int, image: int, stride: int) -> list[Layer]:
    """The layers of a stage of ResNet-50: its first block, which may halve the image, and those after it."""
    after = image // stride
    return [
        Layer(channels, inner, image, 1),
        Layer(inner, inner, image, 3, stride=stride),
        Layer(inner, outputs, after, 1),
        Layer(channels, outputs, image, 1, stride=stride),
        Layer(outputs, inner, after, 1),
        Layer(inner, inner, after, 3),
    ]


def inverted(
    channels: int, outputs: int, image: int, stride: int, expansion: int = 6
) -> list[Layer]:
    """The layers of an inverted residual of MobileNet-V2: expand, depthwise, project."""
    inner = channels * expansion
    expand = [Layer(channels, inner, image, 1)] if expansion > 1 else []
    depthwise = Layer(inner, inner, image, 3, stride=stride, groups=inner)
    return [*expand, depthwise, Layer(inner, outputs, image // stride, 1)]


RESNET_50 = (
    Layer(3, 64, 224, 7, stride=2),
    *bottleneck(64, 64, 256, 56, 1),
    *bottleneck(256, 128, 512, 56, 2),
    *bottleneck(512, 256, 1024, 28, 2),
    *bottleneck(1024, 512, 2048, 14, 2),
)

MOBILENET_V2 = (
    Layer(3, 32, 224, 3, stride=2),
    *inverted(32, 16, 112, 1, expansion=1),
    *inverted(16, 24, 112, 2),
    *inverted(24, 24, 56, 1),
    *inverted(24, 32, 56, 2),
    *inverted(32, 32, 28, 1),
    *inverted(32, 64, 28, 2),
    *inverted(64, 64, 14, 1),
    *inverted(64, 96, 14, 1),
    *inverted(96, 96, 14, 1),
    *inverted(96, 160, 14, 2),
    *inverted(160, 160, 7, 1),
    *inverted(160, 320, 7, 1),
    Layer(320, 1280, 7, 1),
)

OTHERS = (
    Layer(64, 64, 56, 3, dilation=2),
    Layer(256, 256, 14, 3, dilation=2),
    Layer(128, 128, 28, 3, groups=4),
    *(Layer(c, c, image, 3, groups=32) for c, image in ((64, 56), (128, 56), (256, 28), (512, 14))),
    Layer(256, 256, 56, 3, stride=2, groups=32),
    Layer(64, 64, 28, 5),
    *(
        Layer(c, c, image, kernel, groups=c)
        for c, image, kernel in ((120, 28, 5), (672, 14, 5), (96, 56, 7))
    ),
)
"""Dilated, grouped and large ones, and depthwise ones of MobileNet-V3 and ConvNeXt."""

LAYERS = tuple(dict.fromkeys((*RESNET_50, *MOBILENET_V2, *OTHERS)))
"""Each once."""

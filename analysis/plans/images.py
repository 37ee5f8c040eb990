"""How many images of a batch go through a network's layers at a time: what leaves the last cache between layers, and what weights then cost."""

from __future__ import annotations

from collections.abc import Sequence

from ...frozen import frozen
from ...targets.target import Target
from .cost import time_text, unhidden_part


@frozen
class LayerBytes:
    """
    What a layer has for all images of the batch together, in bytes: operands and result that are of images, and operands
    that are not, such as weights.
    """

    images: float
    weights: float


@frozen
class ImagesPlan:
    """So many of the images of a batch go through all layers before the next ones do."""

    layers: int
    images: int
    block: int
    saved: float
    """the seconds that are predicted to be saved"""

    def __str__(self) -> str:
        which = "image by image" if self.block == 1 else f"{self.block} images at a time"
        return (
            f"{self.layers} operations on {self.images} images {which}: what lies between them stays in the last cache, "
            f"predicted to save {time_text(self.saved)}"
        )


def plan_images(
    layers: Sequence[LayerBytes], images: int, target: Target, threads: int
) -> ImagesPlan | str:
    """
    The plan that is predicted to save most; why there is none.

    What does not stay in the last cache from one layer to the next comes from memory. Of images, which are read in more
    places at a time than prefetchers follow, half of that is waited for (`Model` in `convolution_cost.py`); of weights, which are
    read in order and come once for each block of images, the part that no arithmetic hides. Threads share the images of a block.
    """
    last = target.core.caches[-1]
    cache = last.bytes / last.shared_by
    rate = target.rates.read_memory.core

    def waiting(block: int) -> float:
        far = sum(one.images for one in layers if one.images * block / images > cache)
        weights = sum(one.weights for one in layers)
        again = images / block - 1 if weights > cache else 0.0
        return (far / 2 + unhidden_part(target) * weights * again) / rate

    blocks = [n for n in range(1, images) if images % n == 0 and n % threads == 0]
    if not blocks:
        return f"no block of fewer than {images} images is shared by {threads} threads"
    best = min(blocks, key=lambda block: (waiting(block), -block))
    saved = waiting(images) - waiting(best)
    if saved <= 0:
        return f"{len(layers)} operations on all {images} images at once are predicted to wait no longer for memory"
    return ImagesPlan(len(layers), images, best, saved)

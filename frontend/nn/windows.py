"""The parameters of what moves a window over images: convolutions and pooling say them alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ...dialects.graph.windows import same_pads
from ...errors import StepwellError
from ..numpy.arguments import integers

Extents = int | Sequence[int]
"""A number for each axis of the window, or one for all of them."""

Padding = int | str | Sequence[int] | Sequence[Sequence[int]]
"""A number for both ends of all axes, or of each, a pair for each axis, or "valid", "same" or "same_lower"."""

Pads = tuple[tuple[int, ...], tuple[int, ...]]
"""How many elements are before each axis of the window, and how many behind it."""


def numbers(value: Extents, rank: int, what: str) -> tuple[int, ...]:
    """A number for each of `rank` axes; raises StepwellError for another count of them."""
    found = integers(value, what)
    if len(found) == 1:
        found *= rank
    if len(found) != rank:
        raise StepwellError(
            f"found {len(found)} numbers for {what}, expected one, or {rank}, one for each axis of the window"
        )
    return found


def pads(
    padding: Padding, images: Sequence[int], reaches: Sequence[int], strides: Sequence[int]
) -> Pads:
    """
    The pads of windows that reach over so many elements, moved over images of these extents.

    "valid" is none. With "same" a window has ceil(extent / stride) places along each axis, and where the number of
    elements that this takes is odd, the last one is behind the image (TensorFlow's "same", ONNX's SAME_UPPER); with
    "same_lower" it is before.
    """
    if not isinstance(padding, str):
        return explicit_pads(padding, len(images))
    if padding == "valid":
        return (0,) * len(images), (0,) * len(images)
    if padding not in ("same", "same_lower"):
        raise StepwellError(
            f"found padding '{padding:.40}', expected 'valid', 'same', 'same_lower' or numbers"
        )
    if min(strides, default=1) < 1:
        raise StepwellError(f"found stride {list(strides)}, expected numbers of at least 1")
    pairs = [
        same_pads(*each, upper=padding == "same")
        for each in zip(images, reaches, strides, strict=True)
    ]
    return tuple(low for low, _ in pairs), tuple(high for _, high in pairs)


def explicit_pads(padding: Extents | Sequence[Sequence[int]], rank: int) -> Pads:
    """The pads that numbers say: one, one for each axis, or a pair for each."""
    if isinstance(padding, Sequence) and any(isinstance(each, Sequence) for each in padding):
        pairs = [integers(each, "padding") for each in padding]
        if len(pairs) != rank or any(len(pair) != 2 for pair in pairs):
            raise StepwellError(
                f"found padding {padding!r:.60}, expected a pair (before, after) for each of {rank} axes"
            )
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    both = numbers(cast("Extents", padding), rank, "padding")
    return both, both

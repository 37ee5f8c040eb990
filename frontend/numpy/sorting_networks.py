"""Tensors put in order element by element, by comparators whose places are known: no branches, and any number at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..tensor import Tensor
from .elementwise import maximum, minimum

MOST_IN_NETWORK = 16
"""How many tensors are put in order so: 63 comparators. A network grows faster than a sort of long rows."""


def in_order(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The least elements of all tensors at each place, then the next, and so on; NaN at a place makes all of them NaN."""
    parts = list(tensors)
    for low, high in comparators(len(parts)):
        pair = parts[low], parts[high]
        parts[low], parts[high] = minimum(*pair), maximum(*pair)
    return parts


def comparators(count: int) -> Iterator[tuple[int, int]]:
    """
    The pairs of places that Batcher's merge exchange compares, in order (Knuth, The Art of Computer Programming 3, 5.2.2,
    algorithm M).
    """
    top = 1 << max(count - 1, 0).bit_length() >> 1
    step = top
    while step:
        width, offset, distance = top, 0, step
        while True:
            for low in range(count - distance):
                if low & step == offset:
                    yield low, low + distance
            if width == step:
                break
            distance, width, offset = width - step, width // 2, step
        step //= 2

"""Which elements of a row a sorting network compares."""

from __future__ import annotations

from collections.abc import Iterator


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

"""Blocks that are turned in registers: by which rows, and in which pieces their columns are stored."""

from __future__ import annotations

CHUNK_BYTES = 16
"""Shuffles inside of so many bytes are one instruction each on x86 and AArch64, those across often more."""


def powers_of_two(count: int) -> list[int]:
    """The powers of two that a number is the sum of, the greatest first."""
    return [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]


def chunk_lanes(element_bytes: int, lanes: int) -> int:
    """How many neighbouring lanes of so many one shuffle takes for sure."""
    return min(max(CHUNK_BYTES // element_bytes, 1), lanes)


def pieces(rows: int, lanes: int, chunk: int) -> list[list[int]]:
    """
    How many rows each block has that is turned, and of a block how many each part has: a column of a part is one store.

    Columns of as many rows as there are lanes are whole vectors, which shuffles across chunks of lanes put together. Columns of fewer rows
    leave chunk by chunk: a store takes less than its part of such shuffles, which have fewer ports, and on some cores one of those of the
    multiply-adds around. (On Intel's Granite Rapids tiles of 8 x 48 and 12 x 32 took 0.98 of the time with sums of 64 to 192 terms.)
    """
    whole = rows // lanes * lanes
    rest = rows - whole
    rests = [chunk] * (rest // chunk) + powers_of_two(rest % chunk)
    return [[size] for size in powers_of_two(whole)] + ([rests] if rests else [])

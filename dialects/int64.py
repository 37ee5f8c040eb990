"""Integers of 64 bits, the widest that any of our levels computes with."""

from __future__ import annotations


def is_int64(value: int | str) -> bool:
    """
    Whether an integer, or the decimal digits of one, fits into 64 bits with a sign. Extents, bounds, steps
    and parameters of schedule steps do.
    """
    if isinstance(value, str):
        if len(value.lstrip("+-0")) > len(str(2**63)):  # Python reads no more than 4300 digits
            return False
        value = int(value)
    return -(2**63) <= value < 2**63

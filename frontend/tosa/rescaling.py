"""TOSA's exact scaling of integers by a multiplier and a power of two."""

from __future__ import annotations

import numpy as np

from ..numpy import elementwise as ew
from ..recording import dtype_of
from ..upstream.arrays import cast_value
from ..upstream.operations import Node, Value, known
from .registry import tosa

_WIDE = np.dtype(np.int64)


def scaled(
    value: Value, multiplier: np.ndarray, shift: np.ndarray, *, doubly: bool = False
) -> Value:
    """
    `value * multiplier / 2**shift` in 64 bits, rounded half up: the specification's apply_scale_32 and apply_scale_16.

    `doubly` is its DOUBLE_ROUND: shifts over 31 round at bit 30 away from zero first.
    """
    multiplier, shift = multiplier.astype(_WIDE), shift.astype(_WIDE)
    half = np.left_shift(np.ones((), _WIDE), shift - 1)
    product = ew.multiply(cast_value(value, _WIDE), multiplier)
    if doubly and bool(np.any(shift > 31)):
        more = np.where(shift > 31, 1 << 30, 0)
        is_negative = ew.less(cast_value(value, _WIDE), np.zeros((), _WIDE))
        product = ew.add(product, ew.where(is_negative, -more, more))
    return ew.right_shift(ew.add(product, half), shift)


def reciprocal(divisors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A multiplier and a shift for each divisor, of at least 1: the specification's reciprocal_scale."""
    bits = np.array([(int(d) - 1).bit_length() for d in divisors.reshape(-1)], _WIDE)
    bits = bits.reshape(divisors.shape)
    numerator = np.left_shift(np.asarray((1 << 30) + 1, _WIDE), bits)
    return numerator // divisors, bits + 30


@tosa("rescale")
def rescale(
    x: Value,
    multiplier: Value,
    shift: Value,
    input_zp: Value,
    output_zp: Value,
    *,
    node: Node,
) -> Value:
    """From one quantization to another; INEXACT_ROUND allows any rounding, so it is SINGLE_ROUND here."""
    settings = node.settings
    factors, shifts = known(multiplier, node, "multipliers"), known(shift, node, "shifts")
    counts = (1, x.shape[-1]) if settings["per_channel"] else (1,)
    if factors.size not in counts or shifts.size != factors.size:
        raise node.refuse(f"with {factors.size} multipliers", "one, or one for each channel")
    if bool(np.any((shifts < 2) | (shifts > 62))):
        raise node.refuse(f"with shifts {shifts.tolist()}", "2 to 62; mend the constant")
    source, target = dtype_of(x), node.dtype
    if source.kind not in "iu" or target.kind not in "iu":
        raise node.refuse(f"of {source} to {target}", "integers; cast floats")
    value = _extended(x, source, bool(settings["input_unsigned"]))
    value = ew.subtract(
        value,
        _extended(known(input_zp, node, "a zero point"), source, bool(settings["input_unsigned"])),
    )
    doubly = settings["rounding_mode"] == "DOUBLE_ROUND" and bool(settings["scale32"])
    result = scaled(value, factors, shifts, doubly=doubly)
    is_unsigned = bool(settings["output_unsigned"])
    result = ew.add(result, _extended(known(output_zp, node, "a zero point"), target, is_unsigned))
    low, high = _limits(target, is_unsigned)
    inside = ew.minimum(ew.maximum(result, np.asarray(low, _WIDE)), np.asarray(high, _WIDE))
    return cast_value(inside, target)


def _limits(dtype: np.dtype, is_unsigned: bool) -> tuple[int, int]:
    bits = 8 * dtype.itemsize
    return (0, 2**bits - 1) if is_unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _extended(x: Value, dtype: np.dtype, is_unsigned: bool) -> Value:
    """In 64 bits; TOSA's types have no sign, so the operation says whether the highest bit is one."""
    wide = cast_value(x, _WIDE)
    return ew.bitwise_and(wide, np.asarray(_limits(dtype, True)[1], _WIDE)) if is_unsigned else wide

"""TOSA's functions of single elements (https://www.mlplatform.org/tosa/tosa_spec.html)."""

from __future__ import annotations

import numpy as np

from ..numpy import elementwise as ew
from ..numpy import manipulation, mathematics
from ..recording import dtype_of
from ..upstream.arrays import cast_value, divide_towards_zero, enter_public
from ..upstream.operations import Node, Value
from .registry import tosa, zero_point_of

_SAME = {
    "abs": "abs",
    "add": "add",
    "bitwise_and": "bitwise_and",
    "bitwise_not": "bitwise_not",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "ceil": "ceil",
    "cos": "cos",
    "equal": "equal",
    "erf": "erf",
    "exp": "exp",
    "floor": "floor",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "log": "log",
    "logical_and": "logical_and",
    "logical_left_shift": "left_shift",
    "logical_not": "logical_not",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "pow": "power",
    "reciprocal": "reciprocal",
    "rsqrt": "rsqrt",
    "select": "where",
    "sigmoid": "sigmoid",
    "sin": "sin",
    "sub": "subtract",
    "tanh": "tanh",
}
"""Operations that are one of our public functions."""

enter_public(tosa, _SAME)


@tosa("identity")
def identity(x: Value, *, node: Node) -> Value:
    return x


@tosa("intdiv")
def intdiv(x: Value, y: Value, *, node: Node) -> Value:
    return divide_towards_zero(x, y)


@tosa("maximum")
def maximum(x: Value, y: Value, *, node: Node) -> Value:
    return mathematics.fmax(x, y) if _ignores_nan(node) else ew.maximum(x, y)


@tosa("minimum")
def minimum(x: Value, y: Value, *, node: Node) -> Value:
    return mathematics.fmin(x, y) if _ignores_nan(node) else ew.minimum(x, y)


@tosa("clamp")
def clamp(x: Value, *, node: Node) -> Value:
    dtype = dtype_of(x)
    low, high = (np.asarray(node.settings[name], dtype) for name in ("min_val", "max_val"))
    if _ignores_nan(node):
        return mathematics.fmin(mathematics.fmax(x, low), high)
    return ew.minimum(ew.maximum(x, low), high)


def _ignores_nan(node: Node) -> bool:
    """Whether the number counts where it stands beside NaN."""
    return node.settings.get("nan_mode") == "IGNORE" and node.dtype.kind not in "iub"


@tosa("mul")
def mul(x: Value, y: Value, shift: Value, *, node: Node) -> Value:
    """In the type of the result; with a shift the product of 64 bits, divided by its power of two and rounded half up."""
    bits = int(zero_point_of(shift, node))
    if not bits:
        return ew.multiply(cast_value(x, node.dtype), cast_value(y, node.dtype))
    if node.dtype != np.int32 or not 0 < bits < 64:
        raise node.refuse(f"of {node.dtype} with a shift of {bits}", "i32, shifted by 0 to 63")
    wide = np.dtype(np.int64)
    product = ew.multiply(cast_value(x, wide), cast_value(y, wide))
    rounded = ew.add(product, np.asarray(1 << (bits - 1), wide))
    return cast_value(ew.right_shift(rounded, np.asarray(bits, wide)), node.dtype)


@tosa("negate")
def negate(x: Value, input_zp: Value, output_zp: Value, *, node: Node) -> Value:
    """About the zero points; narrow integers saturate."""
    before, after = zero_point_of(input_zp, node), zero_point_of(output_zp, node)
    if node.dtype.kind not in "iu" or node.dtype.itemsize > 2:
        if before or after:
            raise node.refuse(f"of {node.dtype} with zero points", "zeros; mend the constants")
        return ew.negative(x)
    wide = np.dtype(np.int32)
    turned = ew.subtract(np.asarray(before + after, wide), cast_value(x, wide))
    return saturated(turned, node.dtype)


def saturated(x: Value, dtype: np.dtype) -> Value:
    """Integers in a narrower type, those outside of it as the nearest inside."""
    limits, wide = np.iinfo(dtype), dtype_of(x)
    inside = ew.maximum(x, np.asarray(limits.min, wide))
    return cast_value(ew.minimum(inside, np.asarray(limits.max, wide)), dtype)


@tosa("cast")
def cast(x: Value, *, node: Node) -> Value:
    """Floats become integers by rounding, half to even, and saturate; integers wrap; other than zero is true."""
    if node.dtype.kind not in "iu" or dtype_of(x).kind in "iub":
        return cast_value(x, node.dtype)
    return manipulation.astype(ew.rint(x), node.dtype)


@tosa("arithmetic_right_shift")
def arithmetic_right_shift(x: Value, shift: Value, *, node: Node) -> Value:
    """With `round`, plus the last bit that is shifted out."""
    shifted = ew.right_shift(x, shift)
    if not node.settings.get("round", 0):
        return shifted
    one = np.ones((), node.dtype)
    last = ew.bitwise_and(ew.right_shift(x, ew.subtract(shift, one)), one)
    is_shifted = ew.greater(shift, np.zeros((), node.dtype))
    return ew.add(shifted, ew.where(is_shifted, last, np.zeros((), node.dtype)))


@tosa("logical_right_shift")
def logical_right_shift(x: Value, shift: Value, *, node: Node) -> Value:
    """Zeros come in: the copies of the sign are masked out."""
    one, zero = np.ones((), node.dtype), np.zeros((), node.dtype)
    most = np.asarray(np.iinfo(node.dtype).max, node.dtype)
    mask = ew.right_shift(most, ew.subtract(ew.maximum(shift, one), one))
    return ew.where(ew.greater(shift, zero), ew.bitwise_and(ew.right_shift(x, shift), mask), x)

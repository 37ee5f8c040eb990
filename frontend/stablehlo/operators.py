"""The operations of StableHLO and CHLO, as functions of NumPy's kind (https://openxla.org/stablehlo/spec)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import BlockArgument

from ...dialects import graph
from ...dialects.graph.windows import Window
from ...dialects.upstream.stablehlo import HloOp
from ..control_flow import cond, while_loop
from ..nn import convolution
from ..numpy import einsum, joining, manipulation, padding, products, reductions, sorting
from ..numpy import elementwise as ew
from ..public import public
from ..recording import as_tensor, dtype_of, record
from ..tensor import Tensor
from ..upstream.arrays import cast_value, divide_towards_zero, enter_public, flipped
from ..upstream.operations import Node, Value, known
from .registry import hlo

# Functions of single elements

_SAME = {
    "abs": "abs",
    "add": "add",
    "cbrt": "cbrt",
    "ceil": "ceil",
    "cosine": "cos",
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "floor": "floor",
    "is_finite": "isfinite",
    "log": "log",
    "log_plus_one": "log1p",
    "logistic": "sigmoid",
    "maximum": "maximum",
    "minimum": "minimum",
    "multiply": "multiply",
    "negate": "negative",
    "power": "power",
    "round_nearest_even": "rint",
    "rsqrt": "rsqrt",
    "shift_left": "left_shift",
    "sign": "sign",
    "sine": "sin",
    "sqrt": "sqrt",
    "subtract": "subtract",
    "tan": "tan",
    "tanh": "tanh",
    "chlo.acos": "acos",
    "chlo.acosh": "acosh",
    "chlo.asin": "asin",
    "chlo.asinh": "asinh",
    "chlo.atan": "atan",
    "chlo.atanh": "atanh",
    "chlo.cosh": "cosh",
    "chlo.erf": "erf",
    "chlo.sinh": "sinh",
    "chlo.square": "square",
    "chlo.tan": "tan",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "not": "bitwise_not",
    "select": "where",
}
"""Operations that are one of our public functions."""


enter_public(hlo, _SAME)


@hlo("divide")
def divide(x: Value, y: Value, *, node: Node) -> Value:
    """Of integers towards zero."""
    if node.dtype.kind == "f":
        return ew.divide(x, y)
    return divide_towards_zero(x, y)


@hlo("remainder")
def remainder(x: Value, y: Value, *, node: Node) -> Value:
    """With the sign of the dividend."""
    function = public("fmod")
    assert function is not None
    return function(x, y)


@hlo("chlo.erfc")
def erfc(x: Value, *, node: Node) -> Value:
    return ew.subtract(_one(x), ew.erf(x))


def _one(x: Value) -> np.ndarray:
    return np.ones((), dtype_of(x))


@hlo("round_nearest_afz")
def round_away(x: Value, *, node: Node) -> Value:
    half = np.asarray(0.5, dtype_of(x))
    return ew.multiply(ew.sign(x), ew.floor(ew.add(ew.abs(x), half)))


@hlo("clamp")
def clamp(low: Value, x: Value, high: Value, *, node: Node) -> Value:
    return ew.minimum(ew.maximum(x, low), high)


@hlo("compare")
def compare(x: Value, y: Value, *, node: Node) -> Value:
    functions = {
        "EQ": ew.equal,
        "NE": ew.not_equal,
        "LT": ew.less,
        "LE": ew.less_equal,
        "GT": ew.greater,
        "GE": ew.greater_equal,
    }
    return functions[node.settings["words"][0]](x, y)


@hlo("convert")
def convert(x: Value, *, node: Node) -> Value:
    return cast_value(x, node.dtype)


@hlo("optimization_barrier")
def barrier(*values: Value, node: Node) -> list[Value]:
    return list(values)


# Constants and movement


@hlo("constant")
def constant(*, node: Node) -> Value:
    return np.asarray(node.settings["value"])


@hlo("iota")
def iota(*, node: Node) -> Value:
    axis: int = node.settings["dim"]
    along: np.ndarray = np.arange(node.shape[axis]).astype(node.dtype)
    column = [-1 if number == axis else 1 for number in range(len(node.shape))]
    return np.ascontiguousarray(np.broadcast_to(along.reshape(column), node.shape))


@hlo("reshape")
def reshape(x: Value, *, node: Node) -> Value:
    return manipulation.reshape(x, node.shape)


@hlo("transpose")
def transpose(x: Value, *, node: Node) -> Value:
    return manipulation.transpose(x, node.settings["dims"])


@hlo("broadcast_in_dim")
def broadcast_in_dim(x: Value, *, node: Node) -> Value:
    """Axis i of the operand becomes axis dims[i] of the result; the others are new."""
    aligned = [1] * len(node.shape)
    for axis, extent in zip(node.settings["dims"], x.shape, strict=True):
        aligned[axis] = extent
    return manipulation.broadcast_to(manipulation.reshape(x, aligned), node.shape)


@hlo("concatenate")
def concatenate(*values: Value, node: Node) -> Value:
    return joining.concatenate(list(values), axis=node.settings["dim"])


@hlo("reverse")
def reverse(x: Value, *, node: Node) -> Value:
    return flipped(x, node.settings["dims"])


@hlo("slice")
def slice_(x: Value, *, node: Node) -> Value:
    return x[tuple(slice(*part) for part in node.settings["slices"])]


@hlo("pad")
def pad(x: Value, value: Value, *, node: Node) -> Value:
    """Padding of less than 0 cuts; interior padding stands between elements."""
    number = known(value, node, "a value")
    low, high = node.settings["low"], node.settings["high"]
    for axis, count in enumerate(node.settings["interior"]):
        x = _dilated(x, axis, count + 1, number)
    return padding.pad_or_cut(x, list(zip(low, high, strict=True)), number[()])


def _dilated(x: Value, axis: int, factor: int, value: np.ndarray) -> Value:
    """With `factor - 1` numbers between the elements along an axis."""
    shape = list(x.shape)
    if factor == 1 or shape[axis] < 2:
        return x
    apart = manipulation.expand_dims(x, axis + 1)
    widths = [(0, factor - 1 if number == axis + 1 else 0) for number in range(len(shape) + 1)]
    wide = padding.pad(apart, widths, constant_values=value[()])
    shape[axis] *= factor
    whole = manipulation.reshape(wide, shape)
    last = shape[axis] - factor + 1
    return whole[tuple(slice(last if number == axis else None) for number in range(len(shape)))]


# Products


@hlo("dot_general")
def dot_general(x: Value, y: Value, *, node: Node) -> Value:
    """An einsum: the axes of the batch, then those of each operand that are neither in it nor contracted."""
    batch = node.settings.get("batching_dims", [[], []])
    contracted = node.settings.get("contracting_dims", [[], []])
    labels = iter(range(52))
    left: dict[int, int] = {axis: next(labels) for axis in range(len(x.shape))}
    shared = {
        b: left[a] for pair in (batch, contracted) for a, b in zip(pair[0], pair[1], strict=True)
    }
    right = {axis: shared[axis] if axis in shared else next(labels) for axis in range(len(y.shape))}
    kept = [left[axis] for axis in batch[0]]
    kept += [left[axis] for axis in left if axis not in (*batch[0], *contracted[0])]
    kept += [right[axis] for axis in right if axis not in shared]
    text = f"{_letters(left.values())},{_letters(right.values())}->{_letters(kept)}"
    return einsum.einsum(text, cast_value(x, node.dtype), cast_value(y, node.dtype))


def _letters(labels: Any) -> str:
    return "".join(
        chr(ord("a") + label if label < 26 else ord("A") + label - 26) for label in labels
    )


@hlo("dot")
def dot(x: Value, y: Value, *, node: Node) -> Value:
    return products.matmul(cast_value(x, node.dtype), cast_value(y, node.dtype))


@hlo("convolution")
def convolve(x: Value, w: Value, *, node: Node) -> Value:
    """Transposed to channels first and back; dilation of the image is zeros between its elements."""
    image, kernel, result = node.settings["layouts"]
    window, count = node.settings["window"], len(image) - 2
    if node.settings.get("batch_group_count", 1) != 1:
        raise node.refuse("with groups of the batch", "groups of features; split the batch")
    spatial = list(range(count))
    x = manipulation.transpose(x, [image.index(name) for name in ("b", "f", *spatial)])
    w = manipulation.transpose(w, [kernel.index(name) for name in ("o", "i", *spatial)])
    zero = np.zeros((), dtype_of(x))
    for axis, factor in enumerate(window.get("lhs_dilate", [1] * count)):
        x = _dilated(x, axis + 2, factor, zero)
    flips = [n + 2 for n, word in enumerate(window.get("reverse", [])) if word in ("true", True, 1)]
    if flips:
        w = flipped(w, flips)
    pads = window.get("pad", [[0, 0]] * count)
    if any(width < 0 for pair in pads for width in pair):
        x, pads = padding.pad_or_cut(x, [(0, 0), (0, 0), *map(tuple, pads)], 0), [[0, 0]] * count
    y = convolution.conv(
        cast_value(x, node.dtype),
        cast_value(w, node.dtype),
        stride=window.get("stride", [1] * count),
        dilation=window.get("rhs_dilate", [1] * count),
        padding=list(map(tuple, pads)),
        groups=node.settings.get("feature_group_count", 1),
    )
    order = ["b", "f", *spatial]
    return manipulation.transpose(y, [order.index(name) for name in result])


# Reductions

_REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (reductions.sum, ew.add),
    "multiply": (reductions.prod, ew.multiply),
    "maximum": (reductions.max, ew.maximum),
    "minimum": (reductions.min, ew.minimum),
    "and": (reductions.all, ew.logical_and),
    "or": (reductions.any, ew.logical_or),
}
"""What a reducer is over axes, and on two values."""


def reducer_of(node: Node) -> str | None:
    """The name of the only operation of a reducer on its two arguments."""
    if "applies" in node.settings:
        return node.settings["applies"].partition(".")[2]
    block = node.op.regions[0].block
    first, last = block.first_op, block.last_op
    if first is None or last is None or first.next_op is not last or len(first.operands) != 2:
        return None
    is_plain = set(first.operands) == set(block.args) and list(last.operands) == [first.results[0]]
    return first.name.partition(".")[2] if is_plain else None


@hlo("reduce")
def reduce(*values: Value, node: Node) -> Value:
    count, axes = len(values) // 2, tuple(node.settings["dimensions"])
    if count == 2 and len(axes) == 1:
        return _best_and_index(values[0], values[1], axes[0], node)
    name = reducer_of(node) if count == 1 else None
    if name not in _REDUCTIONS or (name in ("and", "or") and node.dtype != np.bool_):
        raise node.refuse("with this reducer", f"one of {', '.join(_REDUCTIONS)}, or an arg-max")
    x, start = values
    whole, pair = _REDUCTIONS[name]
    if not axes:
        return pair(x, start)
    reduced = cast_value(whole(x, axis=axes), node.dtype)
    return reduced if _is_identity(name, start) else pair(reduced, start)


def _is_identity(name: str, start: Value) -> bool:
    if isinstance(start, Tensor):
        return False
    number = np.asarray(start)
    least, most = (-np.inf, np.inf) if number.dtype.kind == "f" else (None, None)
    if number.dtype.kind in "iu":
        least, most = np.iinfo(number.dtype).min, np.iinfo(number.dtype).max
    found = {"add": 0, "multiply": 1, "maximum": least, "minimum": most, "and": True, "or": False}
    return bool(number == found[name]) if found[name] is not None else False


def _best_and_index(x: Value, index: Value, axis: int, node: Node) -> list[Value]:
    """The arg-max and arg-min of jax.numpy: the extreme along an axis and where it is first, of NaN the first."""
    numbers = known(index, node, "indices")
    column = [-1 if n == axis else 1 for n in range(numbers.ndim)]
    along = np.reshape(np.arange(int(numbers.shape[axis])), column)
    compared = [op for op in node.op.regions[0].block.ops if op.name == "stablehlo.compare"]
    words = [op.settings["words"][0] for op in compared if isinstance(op, HloOp)]
    if not np.all(numbers == along) or not words or words[0] not in ("GT", "GE", "LT", "LE"):
        raise node.refuse(
            "of two operands with this reducer", "the arg-max or arg-min of jax.numpy"
        )
    is_most = words[0] in ("GT", "GE")
    best = (reductions.max if is_most else reductions.min)(x, axis=axis)
    where = (reductions.argmax if is_most else reductions.argmin)(x, axis=axis)
    return [best, cast_value(where, numbers.dtype)]


@hlo("reduce_window")
def reduce_window(x: Value, start: Value, *, node: Node) -> Value:
    """Pooling."""
    name, settings = reducer_of(node), node.settings
    if name not in ("add", "maximum", "minimum") or not _is_identity(name, start):
        raise node.refuse("with this reducer", "add, maximum or minimum from its identity")
    extents, rank = list(settings["window_dimensions"]), len(x.shape)
    strides = list(settings.get("window_strides") or [1] * rank)
    dilations = list(settings.get("window_dilations") or [1] * rank)
    pads: list[list[int]] = np.reshape(
        settings.get("padding", np.zeros((rank, 2), int)), (rank, 2)
    ).tolist()
    if set(settings.get("base_dilations") or [1]) != {1}:
        raise node.refuse("with base dilations", "none; pad the operand")
    if name == "minimum":
        x = ew.negative(x)
    low, high = tuple(before for before, _ in pads), tuple(after for _, after in pads)
    window = Window(tuple(extents), tuple(strides), tuple(dilations), low, high)
    op = graph.SumPoolOp if name == "add" else graph.MaxPoolOp
    result = record(op, as_tensor(x), window)
    return ew.negative(result) if name == "minimum" else result


@hlo("sort")
def sort(*values: Value, node: Node) -> list[Value]:
    """Stable, by one of the operands, which the comparator compares with itself."""
    axis = node.settings["dimension"]
    key, descending = _sorting_key(node)
    if len(values) == 1:
        return [sorting.sort(values[0], axis=axis, descending=descending)]
    order = sorting.argsort(values[key], axis=axis, descending=descending)
    take = public("take_along_axis")
    assert take is not None
    return [take(value, order, axis=axis) for value in values]


def _sorting_key(node: Node) -> tuple[int, bool]:
    """Which operand is compared, and whether the greater one comes first."""
    block = node.op.regions[0].block
    last = block.last_op
    compared = last.operands[0].owner if last is not None else None
    if not isinstance(compared, HloOp) or compared.name != "stablehlo.compare":
        raise node.refuse("with this comparator", "a comparison of one operand; sort by one key")
    used: set[int] = set()
    waiting = [*compared.operands]
    while waiting:
        value = waiting.pop()
        if isinstance(value, BlockArgument) and value.owner is block:
            used.add(value.index)
        elif isinstance(value.owner, HloOp):
            waiting += value.owner.operands
    keys = {number // 2 for number in used}
    first = compared.operands[0]
    word = compared.settings["words"][0]
    if len(keys) != 1 or word not in ("LT", "GT") or first in block.args[1::2]:
        raise node.refuse("with this comparator", "a comparison of one operand; sort by one key")
    return keys.pop(), word == "GT"


@hlo("chlo.top_k")
def top_k(x: Value, *, node: Node) -> list[Value]:
    function = public("topk")
    assert function is not None
    values, indices = function(x, node.settings["k"], axis=-1)
    return [values, cast_value(indices, np.dtype(np.int32))]


# Control flow


@hlo("while")
def while_(*state: Value, node: Node) -> list[Value]:
    tensors = tuple(as_tensor(value) for value in state)
    return list(
        while_loop(lambda now: node.run(0, now)[0], lambda now: tuple(node.run(1, now)), tensors)
    )


@hlo("case", "if")
def case(index: Value, *, node: Node) -> list[Value]:
    """One of the regions by number, the last one for any other number; of `if` the first where it holds."""
    branches = len(node.op.regions)
    if node.op.name == "stablehlo.if":
        return list(cond(index, lambda: tuple(node.run(0, ())), lambda: tuple(node.run(1, ()))))

    def from_number(first: int) -> tuple[Value, ...]:
        if first == branches - 1:
            return tuple(node.run(first, ()))
        is_it = ew.equal(index, np.asarray(first, dtype_of(index)))
        return tuple(
            cond(is_it, lambda: tuple(node.run(first, ())), lambda: from_number(first + 1))
        )

    return list(from_number(0))

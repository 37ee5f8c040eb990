"""Products: matmul, gemm, einsum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...errors import StepwellError
from .. import array_functions as arrays
from .. import functions as f
from .registry import Value, onnx_op, onnx_ops

onnx_ops({"MatMul": f.matmul}, inputs=2)


@onnx_op("Gemm")
def gemm(
    a: Value,
    b: Value,
    c: Value = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    broadcast: int = 1,
) -> Value:
    """alpha · a @ b + beta · c"""
    product = f.matmul(arrays.transpose(a) if transA else a, arrays.transpose(b) if transB else b)
    product = scaled(product, alpha)
    return product if c is None else f.add(product, scaled(c, beta))


def scaled(x: Value, factor: float) -> Value:
    return x if factor == 1.0 else f.multiply(x, np.asarray(factor).astype(x.dtype))


@onnx_op("FusedMatMul", domain="com.microsoft")
def fused_matmul(
    a: Value,
    b: Value,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """alpha · a @ b on the last two axes, either transposed first."""
    left = arrays.swapaxes(a, -1, -2) if transA else a
    right = arrays.swapaxes(b, -1, -2) if transB else b
    return scaled(f.matmul(left, right), alpha)


@onnx_op("MatMulInteger")
def matmul_integer(
    a: Value, b: Value, a_zero_point: Value = None, b_zero_point: Value = None
) -> Value:
    """(a - its zero point) @ (b - its zero point) in int32; points may be given for rows of a and columns of b."""
    left, right = arrays.astype(a, np.int32), arrays.astype(b, np.int32)
    if a_zero_point is not None:
        point = arrays.astype(a_zero_point, np.int32)
        left = f.subtract(left, arrays.expand_dims(point, -1) if len(point.shape) == 1 else point)
    if b_zero_point is not None:
        right = f.subtract(right, arrays.astype(b_zero_point, np.int32))
    return f.matmul(left, right)


# Einsum.


@onnx_op("Einsum")
def einsum(*xs: Value, equation: str) -> Value:
    """
    Einstein's sum, two operands at a time: axes that no later operand and not the result has are summed, and the
    product of what is left is one matrix product.
    """
    terms, result = _terms(equation, [len(x.shape) for x in xs])
    operands = [_without_repeats(x, term) for x, term in zip(xs, terms, strict=True)]
    x, term = operands[0]
    for position, (y, other) in enumerate(operands[1:], 1):
        later = set("".join(names for _, names in operands[position + 1 :])) | set(result)
        x, term = _product(x, term, y, other, later)
    x, term = _summed(x, term, set(result))
    return _ordered(x, term, result)


def _terms(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The axes of each operand and of the result, a letter each; what `...` stands for gets letters of its own."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    free = [chr(code) for code in range(0x100, 0x100 + 64)]  # letters that no equation has
    if len(terms) != len(ranks):
        raise StepwellError(
            f"found {len(ranks)} operands of the equation '{equation}', expected {len(terms)}"
        )
    counts = [rank - len(term.replace("...", "")) for term, rank in zip(terms, ranks, strict=True)]
    if any(
        count < 0 or (count and "..." not in term)
        for count, term in zip(counts, terms, strict=True)
    ):
        raise StepwellError(
            f"found the equation '{equation}', expected a letter for each axis of an operand"
        )
    dots = max(
        (count for count, term in zip(counts, terms, strict=True) if "..." in term), default=0
    )
    terms = [
        term.replace("...", "".join(free[dots - count : dots]))
        for term, count in zip(terms, counts, strict=True)
    ]
    if arrow:
        return terms, right.replace("...", "".join(free[:dots]))
    letters = "".join(terms)
    once = sorted(one for one in set(letters) if letters.count(one) == 1 and one not in free)
    return terms, "".join(free[:dots]) + "".join(once)


def _without_repeats(x: Value, term: str) -> tuple[Value, str]:
    """An operand with the diagonal in place of axes of the same letter."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            first = term.index(letter)
            second = term.index(letter, first + 1)
            mask = np.expand_dims(
                np.eye(x.shape[first], dtype=np.bool_),
                [axis for axis in range(len(term)) if axis not in (first, second)],
            )
            diagonal = f.where(mask, x, np.zeros((), x.dtype))
            x = f.sum(diagonal, second, x.dtype)
            term = term[:second] + term[second + 1 :]
    return x, term


def _summed(x: Value, term: str, kept: set[str]) -> tuple[Value, str]:
    axes = tuple(axis for axis, letter in enumerate(term) if letter not in kept)
    if not axes:
        return x, term
    return f.sum(x, axes, x.dtype), "".join(letter for letter in term if letter in kept)


def _ordered(x: Value, term: str, wanted: str) -> Value:
    order = [term.index(letter) for letter in wanted]
    return x if order == sorted(order) else arrays.transpose(x, order)


def _product(x: Value, left: str, y: Value, right: str, later: set[str]) -> tuple[Value, str]:
    """The product of two operands, and its axes: those of both that are needed later, then those of each."""
    x, left = _summed(x, left, later | set(right))
    y, right = _summed(y, right, later | set(left))
    shared = [letter for letter in left if letter in right]
    extents = dict(zip(right, y.shape, strict=True))
    for letter, extent in zip(left, x.shape, strict=True):
        extents[letter] = extent if extents.get(letter, 1) == 1 else extents[letter]
    batch = "".join(letter for letter in shared if letter in later)
    inner = "".join(letter for letter in shared if letter not in later)
    rows = "".join(letter for letter in left if letter not in right)
    columns = "".join(letter for letter in right if letter not in left)

    def matrix(value: Value, term: str, groups: Sequence[str]) -> Value:
        ordered = _ordered(value, term, "".join(groups))
        full = arrays.broadcast_to(ordered, [extents[letter] for letter in "".join(groups)])
        sizes = [math.prod(extents[letter] for letter in group) for group in groups[1:]]
        return arrays.reshape(full, [*(extents[letter] for letter in batch), *sizes])

    product = f.matmul(
        matrix(x, left, (batch, rows, inner)), matrix(y, right, (batch, inner, columns))
    )
    result = batch + rows + columns
    return arrays.reshape(product, [extents[letter] for letter in result]), result

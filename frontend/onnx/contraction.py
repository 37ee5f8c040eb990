"""Products: matmul, gemm, einsum."""

from __future__ import annotations

import numpy as np

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

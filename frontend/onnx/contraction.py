"""Products and determinants of matrices: matmul, gemm, det."""

from __future__ import annotations

import numpy as np

from ..numpy import elementwise, factorizations, manipulation, products
from .registry import Value, onnx_op, onnx_ops

onnx_ops({"MatMul": products.matmul}, inputs=2)
onnx_ops({"Det": factorizations.det}, inputs=1)


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
    product = products.matmul(
        manipulation.transpose(a) if transA else a, manipulation.transpose(b) if transB else b
    )
    product = scaled(product, alpha)
    return product if c is None else elementwise.add(product, scaled(c, beta))


def scaled(x: Value, factor: float) -> Value:
    return x if factor == 1.0 else elementwise.multiply(x, np.asarray(factor).astype(x.dtype))


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
    left = manipulation.swapaxes(a, -1, -2) if transA else a
    right = manipulation.swapaxes(b, -1, -2) if transB else b
    return scaled(products.matmul(left, right), alpha)

"""Sums of powers and of exponentials, with the names of ONNX's reductions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...dialects import graph
from ..numpy.arguments import AxisLike, axes_of
from ..numpy.elementwise import floating, log, power
from ..recording import as_tensor, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable


def lp_norm(x: Tensor, p: float, total: Callable[[Tensor], Tensor]) -> Tensor:
    """total(|x|ᵖ)^(1/p), for p = 1 and 2 without powers."""
    if p == 1:
        return total(abs(x))
    if p == 2:
        return record(graph.SqrtOp, total(x * x))
    return power(total(power(abs(x), float(p))), 1 / p)


def _sum(x: Tensor, axis: AxisLike, keepdims: bool) -> Tensor:
    return record(graph.SumOp, x, axes_of(axis), keepdims)


@traceable
def reduce_l1(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The sum of the magnitudes. The element type stays; integers wrap.

    >>> sw.nn.reduce_l1([[1, -2], [3, 4]], axis=1)
    array([3, 7])
    """
    return _sum(abs(as_tensor(x)), axis, keepdims)


@traceable
def reduce_l2(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The square root of the sum of the squares. Integers become floats.

    >>> sw.nn.reduce_l2([[3.0, 4.0], [5.0, 12.0]], axis=1)
    array([ 5., 13.])
    """
    tensor = floating(x)
    return record(graph.SqrtOp, _sum(tensor * tensor, axis, keepdims))


@traceable
def reduce_sum_square(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The sum of the squares. The element type stays; integers wrap.

    >>> sw.nn.reduce_sum_square([[1, 2], [3, 4]], axis=1)
    array([ 5, 25])
    """
    tensor = as_tensor(x)
    return _sum(tensor * tensor, axis, keepdims)


@traceable
def reduce_log_sum(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    The natural logarithm of the sum. Integers become floats.

    >>> sw.nn.reduce_log_sum([1.0, 2.0, 3.0])
    array(1.7918)
    """
    return log(_sum(floating(x), axis, keepdims))


@traceable
def logsumexp(x: TensorLike, /, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """
    log(Σ exp(x)), computed from x less its greatest element, so that large elements do not overflow; of nothing, -inf.

    >>> sw.nn.logsumexp([1000.0, 1000.0])
    array(1000.6931)
    """
    tensor, axes = floating(x), axes_of(axis)
    if not tensor.size:
        return log(_sum(tensor, axes, keepdims))
    greatest = record(graph.MaxOp, tensor, axes, True)
    # An infinite one is not taken off: inf - inf is no number.
    shift = record(graph.WhereOp, abs(greatest) < np.inf, greatest, _zero(tensor))
    total = _sum(record(graph.ExpOp, tensor - shift), axes, True)
    result = record(graph.LogOp, total) + shift
    return result if keepdims else record(graph.SumOp, result, axes, False)


def _zero(x: Tensor) -> Tensor:
    return as_tensor(x.dtype.type(0))


reduce_log_sum_exp = logsumexp

"""Mathematical functions of numbers, element by element, and tests of floats."""

from __future__ import annotations

import numpy as np

from ...dialects import graph
from ..recording import as_tensor, promoted
from ..tensor import Tensor, TensorLike
from ..traceable import traceable
from .elementwise import absolute, equal, floating, less, not_equal, unary, where

tan = unary(graph.TanOp)
asin = arcsin = unary(graph.AsinOp)
acos = arccos = unary(graph.AcosOp)
atan = arctan = unary(graph.AtanOp)
sinh = unary(graph.SinhOp)
cosh = unary(graph.CoshOp)
asinh = arcsinh = unary(graph.AsinhOp)
acosh = arccosh = unary(graph.AcoshOp)
atanh = arctanh = unary(graph.AtanhOp)
exp2 = unary(graph.Exp2Op)
expm1 = unary(graph.Expm1Op)
log1p = unary(graph.Log1pOp)
log2 = unary(graph.Log2Op)
log10 = unary(graph.Log10Op)
cbrt = unary(graph.CbrtOp)
trunc = fix = unary(graph.TruncOp)

# Tests.


@traceable
def isnan(x: TensorLike, /) -> Tensor:
    """Whether an element is NaN."""
    tensor = as_tensor(x)
    return not_equal(tensor, tensor)


@traceable
def isinf(x: TensorLike, /) -> Tensor:
    """Whether an element is infinity, of either sign."""
    return equal(absolute(floating(x)), np.inf)


@traceable
def isfinite(x: TensorLike, /) -> Tensor:
    """Whether an element is neither infinity nor NaN."""
    return less(absolute(floating(x)), np.inf)


@traceable
def fmod(x: TensorLike, y: TensorLike, /) -> Tensor:
    """The remainder of a truncated quotient, with the sign of `x` (C's fmod); of integers by 0, 0."""
    a, b = promoted(x, y)
    if a.dtype.kind == "u":
        return a % b
    remainder = absolute(a) % absolute(b)
    # By subtraction from -0.0 so that a negative number's remainder 0 is -0.0, as C's is.
    return where(a < 0, -remainder, remainder)

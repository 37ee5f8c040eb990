"""Elementary functions, tests of floats, and activation functions, element by element."""

from __future__ import annotations

import numpy as np

from ..dialects import graph
from .functions import absolute, equal, floating, less, not_equal, number, relu, unary, where
from .recording import as_tensor, promoted, record
from .tensor import Tensor, TensorLike
from .traceable import traceable

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


# Activation functions.


@traceable
def elu(x: TensorLike, /, alpha: float = 1.0) -> Tensor:
    """x where it is positive, alpha · (exp(x) - 1) elsewhere (Clevert and others, arXiv:1511.07289)."""
    tensor = floating(x)
    return where(tensor > 0, tensor, _below(tensor) * number(alpha, "alpha"))


def _below(x: Tensor) -> Tensor:
    """exp(x) - 1 of what is negative, of the rest 0: nothing overflows that is not used."""
    return record(graph.Expm1Op, -relu(-x))


@traceable
def selu(
    x: TensorLike, /, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805
) -> Tensor:
    """gamma · elu(x, alpha), whose defaults keep mean and variance (Klambauer and others, arXiv:1706.02515)."""
    return elu(floating(x), alpha) * number(gamma, "gamma")


@traceable
def celu(x: TensorLike, /, alpha: float = 1.0) -> Tensor:
    """max(x, 0) + min(alpha · (exp(x / alpha) - 1), 0) (Barron, arXiv:1704.07483), for a positive alpha."""
    tensor, factor = floating(x), number(alpha, "alpha")
    return relu(tensor) + _below(tensor / factor) * factor


@traceable
def prelu(x: TensorLike, slope: TensorLike, /) -> Tensor:
    """x where it is at least 0, slope · x elsewhere; `slope` broadcasts to x (ONNX PRelu)."""
    tensor, factor = promoted(x, slope)
    return where(tensor < 0, tensor * factor, tensor)


@traceable
def softplus(x: TensorLike, /) -> Tensor:
    """log(1 + exp(x)), computed as max(x, 0) + log1p(exp(-|x|)): nothing overflows."""
    tensor = floating(x)
    return relu(tensor) + record(graph.Log1pOp, record(graph.ExpOp, -absolute(tensor)))


@traceable
def softsign(x: TensorLike, /) -> Tensor:
    """x / (1 + |x|)"""
    tensor = floating(x)
    return tensor / (absolute(tensor) + 1)


@traceable
def mish(x: TensorLike, /) -> Tensor:
    """x · tanh(softplus(x)) (Misra, arXiv:1908.08681)."""
    tensor = floating(x)
    return tensor * record(graph.TanhOp, softplus(tensor))


@traceable
def hard_swish(x: TensorLike, /) -> Tensor:
    """x · hard_sigmoid(x) with a slope of 1/6 (Howard and others, arXiv:1905.02244)."""
    tensor = floating(x)
    return tensor * record(graph.HardSigmoidOp, tensor, 1 / 6, 0.5)


@traceable
def thresholded_relu(x: TensorLike, /, alpha: float = 1.0) -> Tensor:
    """x where it is above alpha, 0 elsewhere (ONNX ThresholdedRelu)."""
    tensor = floating(x)
    return where(tensor > number(alpha, "alpha"), tensor, tensor.dtype.type(0))


@traceable
def shrink(x: TensorLike, /, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    """x + bias below -lambd, x - bias above lambd, 0 between them (ONNX Shrink)."""
    tensor = as_tensor(x)
    zero, shift = tensor.dtype.type(0), tensor.dtype.type(number(bias, "bias"))
    limit = number(lambd, "lambd")
    above = where(tensor > limit, tensor - shift, zero)
    return where(tensor < -limit, tensor + shift, above)

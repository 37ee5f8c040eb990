"""Activation functions, element by element."""

from __future__ import annotations

from ...dialects import graph
from ..numpy.arguments import number
from ..numpy.elementwise import absolute, floating, unary, where
from ..recording import as_tensor, promoted, record
from ..tensor import Tensor, TensorLike
from ..traceable import traceable

relu = unary(graph.ReluOp, "sw.relu([-1.0, 2.0])", "array([0., 2.])")
sigmoid = unary(graph.SigmoidOp, "sw.sigmoid([0.0, 2.0])", "array([0.5   , 0.8808])")
silu = unary(graph.SiluOp, "sw.silu([0.0, 2.0])", "array([0.    , 1.7616])")
mish = unary(graph.MishOp, "sw.mish([0.0, 2.0])", "array([0.   , 1.944])")


@traceable
def leaky_relu(x: TensorLike, /, alpha: float = 0.01) -> Tensor:
    """
    `x` where it is at least 0, `alpha * x` elsewhere.

    >>> sw.nn.leaky_relu([-1.0, 2.0])
    array([-0.01,  2.  ])
    """
    return record(graph.LeakyReluOp, floating(x), number(alpha, "alpha"))


@traceable
def hard_sigmoid(x: TensorLike, /, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """
    `alpha * x + beta` between 0 and 1 (ONNX HardSigmoid).

    >>> sw.nn.hard_sigmoid([-1.0, 5.0])
    array([0.3, 1. ])
    """
    return record(graph.HardSigmoidOp, floating(x), number(alpha, "alpha"), number(beta, "beta"))


@traceable
def gelu(x: TensorLike, /, approximate: str = "none") -> Tensor:
    """
    x · Φ(x), with Φ by erf ("none") or approximated by tanh ("tanh").

    >>> sw.nn.gelu([-1.0, 2.0])
    array([-0.1587,  1.9545])
    """
    return record(graph.GeluOp, floating(x), approximate)


@traceable
def elu(x: TensorLike, /, alpha: float = 1.0) -> Tensor:
    """
    x where it is positive, alpha · (exp(x) - 1) elsewhere (Clevert and others, arXiv:1511.07289).

    >>> sw.nn.elu([-1.0, 2.0])
    array([-0.6321,  2.    ])
    """
    tensor = floating(x)
    return where(tensor > 0, tensor, _below(tensor) * number(alpha, "alpha"))


def _below(x: Tensor) -> Tensor:
    """exp(x) - 1 of what is negative, of the rest 0: nothing overflows that is not used."""
    return record(graph.Expm1Op, -relu(-x))


@traceable
def selu(
    x: TensorLike, /, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805
) -> Tensor:
    """
    gamma · elu(x, alpha), whose defaults keep mean and variance (Klambauer and others, arXiv:1706.02515).

    >>> sw.nn.selu([-1.0, 2.0])
    array([-1.1113,  2.1014])
    """
    return elu(floating(x), alpha) * number(gamma, "gamma")


@traceable
def celu(x: TensorLike, /, alpha: float = 1.0) -> Tensor:
    """
    max(x, 0) + min(alpha · (exp(x / alpha) - 1), 0) (Barron, arXiv:1704.07483), for a positive alpha.

    >>> sw.nn.celu([-1.0, 2.0])
    array([-0.6321,  2.    ])
    """
    tensor, factor = floating(x), number(alpha, "alpha")
    return relu(tensor) + _below(tensor / factor) * factor


@traceable
def prelu(x: TensorLike, slope: TensorLike, /) -> Tensor:
    """
    x where it is at least 0, slope · x elsewhere; `slope` broadcasts to x (ONNX PRelu).

    >>> sw.nn.prelu([-1.0, 2.0], 0.25)
    array([-0.25,  2.  ])
    """
    tensor, factor = promoted(x, slope)
    return where(tensor < 0, tensor * factor, tensor)


@traceable
def softplus(x: TensorLike, /) -> Tensor:
    """
    log(1 + exp(x)), computed as max(x, 0) + log1p(exp(-|x|)): nothing overflows.

    >>> sw.nn.softplus([-1.0, 1000.0])
    array([   0.3133, 1000.    ])
    """
    tensor = floating(x)
    return relu(tensor) + record(graph.Log1pOp, record(graph.ExpOp, -absolute(tensor)))


@traceable
def softsign(x: TensorLike, /) -> Tensor:
    """
    x / (1 + |x|)

    >>> sw.nn.softsign([-1.0, 3.0])
    array([-0.5 ,  0.75])
    """
    tensor = floating(x)
    return tensor / (absolute(tensor) + 1)


@traceable
def hard_swish(x: TensorLike, /) -> Tensor:
    """
    x · hard_sigmoid(x) with a slope of 1/6 (Howard and others, arXiv:1905.02244).

    >>> sw.nn.hard_swish([-1.0, 5.0])
    array([-0.3333,  5.    ])
    """
    tensor = floating(x)
    return tensor * record(graph.HardSigmoidOp, tensor, 1 / 6, 0.5)


@traceable
def thresholded_relu(x: TensorLike, /, alpha: float = 1.0) -> Tensor:
    """
    x where it is above alpha, 0 elsewhere (ONNX ThresholdedRelu).

    >>> sw.nn.thresholded_relu([0.5, 2.0])
    array([0., 2.])
    """
    tensor = floating(x)
    return where(tensor > number(alpha, "alpha"), tensor, tensor.dtype.type(0))


@traceable
def shrink(x: TensorLike, /, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    """
    x + bias below -lambd, x - bias above lambd, 0 between them (ONNX Shrink).

    >>> sw.nn.shrink([-1.0, 0.2, 2.0], bias=0.5)
    array([-0.5,  0. ,  1.5])
    """
    tensor = as_tensor(x)
    zero, shift = tensor.dtype.type(0), tensor.dtype.type(number(bias, "bias"))
    limit = number(lambd, "lambd")
    above = where(tensor > limit, tensor - shift, zero)
    return where(tensor < -limit, tensor + shift, above)

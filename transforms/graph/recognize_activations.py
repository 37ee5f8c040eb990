"""Activation functions in the primitive operations that exporters write them with."""

from __future__ import annotations

from functools import partial
from math import pi
from typing import ClassVar

from ...frozen import frozen
from ..numerics import NumericalEffect
from .functions import (
    absolute,
    clip,
    erf,
    exp,
    gelu,
    hard_sigmoid,
    log,
    log1p,
    mish,
    relu,
    sigmoid,
    silu,
    tanh,
)
from .rules import EquationsPass, Rule
from .terms import Variable

x = Variable("x")

HALF_ROOT = 0.5**0.5
"""1 / sqrt(2): what gelu scales the argument of erf by."""
TANH_SCALE = (2 / pi) ** 0.5
TANH_CUBE = 0.044715
"""Of gelu by tanh: Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415."""

in_any_order = partial(Rule, any_order=True)

SOFTPLUS = (
    log(1 + exp(x)),
    log1p(exp(x)),
    relu(x) + log(1 + exp(-absolute(x))),
    relu(x) + log1p(exp(-absolute(x))),
)
"""log(1 + exp(x)), as it is written plainly and without overflow."""

ACTIVATIONS = (
    in_any_order(1 / (1 + exp(-x)), sigmoid(x)),
    in_any_order(0.5 * (1 + tanh(0.5 * x)), sigmoid(x)),
    in_any_order(0.5 * tanh(0.5 * x) + 0.5, sigmoid(x)),
    in_any_order(x / (1 + exp(-x)), silu(x)),
    in_any_order(x * sigmoid(x), silu(x)),
    in_any_order(0.5 * x * (1 + erf(HALF_ROOT * x)), gelu(x, approximate="none")),
    in_any_order(x * (0.5 + 0.5 * erf(HALF_ROOT * x)), gelu(x, approximate="none")),
    in_any_order(
        0.5 * x * (1 + tanh(TANH_SCALE * (x + TANH_CUBE * x * x * x))),
        gelu(x, approximate="tanh"),
    ),
    in_any_order(
        0.5 * x * (1 + tanh(TANH_SCALE * x * (1 + TANH_CUBE * x * x))),
        gelu(x, approximate="tanh"),
    ),
    in_any_order(
        0.5 * x * (1 + tanh(TANH_SCALE * x + TANH_SCALE * TANH_CUBE * x * x * x)),
        gelu(x, approximate="tanh"),
    ),
    in_any_order(
        x * sigmoid(2 * TANH_SCALE * (x + TANH_CUBE * x * x * x)), gelu(x, approximate="tanh")
    ),
    *(in_any_order(x * tanh(softplus), mish(x)) for softplus in SOFTPLUS),
    # Hard swish is a product with a hard sigmoid, and no operation of its own: they are one kernel.
    in_any_order(x * clip(x + 3, min=0, max=6) / 6, x * hard_sigmoid(x, alpha=1 / 6, beta=0.5)),
    in_any_order(clip(x + 3, min=0, max=6) / 6, hard_sigmoid(x, alpha=1 / 6, beta=0.5)),
    in_any_order(clip(x / 6 + 0.5, min=0, max=1), hard_sigmoid(x, alpha=1 / 6, beta=0.5)),
    in_any_order(clip(0.2 * x + 0.5, min=0, max=1), hard_sigmoid(x, alpha=0.2, beta=0.5)),
)


@frozen
class GraphRecognizeActivationsPass(EquationsPass):
    """Recognize sigmoid, silu, gelu, mish and hard_sigmoid in primitive operations; not under `fp=strict`."""

    name = "graph-recognize-activations"
    numerics: ClassVar[NumericalEffect] = "reassociates"
    RULES: ClassVar = ACTIVATIONS

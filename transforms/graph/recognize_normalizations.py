"""Softmax, layer and RMS normalization in the primitive operations that exporters write them with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ...dialects import graph
from ...dialects.graph.expressions import Expr
from ..numerics import NumericalEffect
from .functions import (
    exp,
    layer_norm,
    log,
    log_softmax,
    max_of,
    mean,
    rms_norm,
    rsqrt,
    softmax,
    sqrt,
    sum_of,
)
from .rules import EquationsPass, Rule
from .terms import Apply, Constant, Setting, Term, Variable

x, scale, bias = Variable("x"), Variable("scale"), Variable("bias")
c = Constant("c")
axes, axis, epsilon = Setting("axes"), Setting("axis"), Setting("epsilon")


def _total(term: Term) -> Apply:
    return sum_of(term, axes=axes, keepdims=True)


def _mean(term: Term) -> Apply:
    return mean(term, axes=axes, keepdims=True)


shifted = x - max_of(x, axes=axes, keepdims=True)
centered = x - _mean(x)
variance = _mean(centered * centered)
square = _mean(x * x)


def _is_one_axis(axes: tuple[int, ...]) -> bool:
    return len(axes) == 1


def _softmax(x: Expr, axes: tuple[int, ...]) -> Expr:
    return x.made(graph.SoftmaxOp(x.value, axes[0]))


def _log_softmax(x: Expr, axes: tuple[int, ...]) -> Expr:
    return x.made(graph.LogSoftmaxOp(x.value, axes[0]))


def _are_last_axes(x: Expr, axes: tuple[int, ...], c: float) -> bool:
    return axes != () and axes == tuple(range(axes[0], x.rank)) and c >= 0


def _layer_norm(x: Expr, axes: tuple[int, ...], c: float) -> Expr:
    return x.made(graph.LayerNormOp(x.value, axis=axes[0], epsilon=float(c)))


def _rms_norm(x: Expr, axes: tuple[int, ...], c: float) -> Expr:
    return x.made(graph.RmsNormOp(x.value, axis=axes[0], epsilon=float(c)))


def _parameter(value: Expr, axis: int, x: Expr) -> Expr:
    """A parameter without the axes before those that are normalized over, along which it does not vary."""
    extra = value.rank - (x.rank - axis)
    return value.squeeze(range(extra)) if extra > 0 else value


def _scaled(x: Expr, scale: Expr, axis: int, epsilon: float) -> Expr:
    scale = _parameter(scale, axis, x)
    return x.made(graph.LayerNormOp(x.value, scale.value, axis=axis, epsilon=epsilon))


def _rms_scaled(x: Expr, scale: Expr, axis: int, epsilon: float) -> Expr:
    scale = _parameter(scale, axis, x)
    return x.made(graph.RmsNormOp(x.value, scale.value, axis=axis, epsilon=epsilon))


def _shifted(x: Expr, scale: Expr, bias: Expr, axis: int, epsilon: float) -> Expr:
    bias = _parameter(bias, axis, x)
    return x.made(graph.LayerNormOp(x.value, scale.value, bias.value, axis=axis, epsilon=epsilon))


NORMALIZATIONS = (
    *(
        Rule(before, _softmax, text="softmax(x, axis)", when=_is_one_axis)
        for e in (exp(shifted), exp(x))
        for before in (e / _total(e), e * (1 / _total(e)))
    ),
    Rule(log(softmax(x, axis=axis)), log_softmax(x, axis=axis)),
    *(
        Rule(s - log(_total(exp(s))), _log_softmax, text="log_softmax(x, axis)", when=_is_one_axis)
        for s in (shifted, x)
    ),
    *(
        Rule(before, _layer_norm, text="layer_norm(x, axis, epsilon=c)", when=_are_last_axes)
        for before in (centered / sqrt(variance + c), centered * rsqrt(variance + c))
    ),
    Rule(
        layer_norm(x, axis=axis, epsilon=epsilon) * scale,
        _scaled,
        text="layer_norm(x, scale, axis, epsilon)",
    ),
    Rule(
        layer_norm(x, scale, axis=axis, epsilon=epsilon) + bias,
        _shifted,
        text="layer_norm(x, scale, bias, axis, epsilon)",
    ),
    *(
        Rule(before, _rms_norm, text="rms_norm(x, axis, epsilon=c)", when=_are_last_axes)
        for before in (x / sqrt(square + c), x * rsqrt(square + c))
    ),
    Rule(
        rms_norm(x, axis=axis, epsilon=epsilon) * scale,
        _rms_scaled,
        text="rms_norm(x, scale, axis, epsilon)",
    ),
)


@dataclass(frozen=True)
class GraphRecognizeNormalizationsPass(EquationsPass):
    """Recognize softmax, log_softmax, layer_norm and rms_norm in primitive operations; not under `fp=strict`."""

    name = "graph-recognize-normalizations"
    numerics: ClassVar[NumericalEffect] = "reassociates"
    RULES: ClassVar = NORMALIZATIONS

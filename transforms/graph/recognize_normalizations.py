"""Softmax, layer, group and RMS normalization in the primitive operations that exporters write them with."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from ...dialects import graph
from ...dialects.graph.expressions import Expr, built_before
from ...dialects.graph.shapes import is_static
from ...dialects.shaped import tensor_type
from ...frozen import frozen
from ..numerics import NumericalEffect
from ..remarks import remark
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
from .rules import EquationsPass, Rule, erase_unused
from .terms import Apply, Constant, Setting, Term, Variable
from .worklist import Pattern

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


def _numbers_of_channels(value: SSAValue, like: SSAValue) -> bool:
    """Whether a value broadcasts to the shape of another with one number for each channel on axis 1."""
    shape = tensor_type(like).get_shape()
    found = tensor_type(value).get_shape()
    along = tuple(extent if axis == 1 else 1 for axis, extent in enumerate(shape))
    return (1,) * (len(shape) - len(found)) + found == along


def _split_by_channels(op: Operation, x: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """Of a sum or product that is computed for `x`: the operand with all elements and that with a number a channel."""
    if op.results[0].type != x.type:
        return None
    pairs = (op.operands, op.operands[::-1])
    return next(((a, b) for a, b in pairs if a.has_one_use() and _numbers_of_channels(b, x)), None)


class GroupNorm(Pattern):
    """
    reshape(layer_norm(reshape(x, [n, groups, …]))) * scale + bias → group_norm(x, scale, bias)

    PyTorch's exporters write it so, by an instance normalization. Each group's channels are computed together: scale
    and bias are regrouped, and the result is not, so that all of it is one kernel on one shape.
    """

    ROOTS: ClassVar = (graph.AddOp,)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AddOp, rewriter: PatternRewriter) -> None:
        shifted = _split_by_channels(op, op.result)
        product = shifted[0].owner if shifted else None
        is_product = isinstance(product, graph.MulOp)
        scaled = _split_by_channels(product, op.result) if is_product else None
        joined = scaled[0].owner if scaled else None
        norm = joined.operand.owner if isinstance(joined, graph.ReshapeOp) else None
        grouped = norm.operand.owner if isinstance(norm, graph.LayerNormOp) else None
        if shifted is None or scaled is None or not isinstance(norm, graph.LayerNormOp):
            return
        if not isinstance(grouped, graph.ReshapeOp) or not _is_of_groups(norm, op.result):
            return
        x = grouped.operand
        if x.type != op.result.type or not norm.result.has_one_use():
            return
        remark(op, "rewrote a layer_norm of groups of channels → group_norm(x, scale, bias)")
        builder = built_before(op)
        channels = tensor_type(x).get_shape()[1]
        scale, bias = (
            Expr(value, builder).reshape([channels]) for value in (scaled[1], shifted[1])
        )
        new = graph.GroupNormOp(
            x,
            scale.value,
            bias.value,
            groups=tensor_type(grouped.result).get_shape()[1],
            epsilon=norm.epsilon.value.data,
        )
        operands = list(op.operands)
        rewriter.replace(op, new)
        erase_unused(operands, rewriter)


def _is_of_groups(norm: graph.LayerNormOp, x: SSAValue) -> bool:
    """Whether it normalizes groups of channels of each element of the batch of a value, which is reshaped for it."""
    shape, grouped = tensor_type(x).get_shape(), tensor_type(norm.result).get_shape()
    return (
        is_static(shape)
        and len(norm.operands) == 1
        and norm.axis.value.data == 2
        and grouped[0] == shape[0]
        and shape[1] % grouped[1] == 0
    )


@frozen
class GraphRecognizeNormalizationsPass(EquationsPass):
    """Recognize softmax, log_softmax, layer_norm, group_norm and rms_norm in primitive operations; not under `fp=strict`."""

    name = "graph-recognize-normalizations"
    numerics: ClassVar[NumericalEffect] = "reassociates"
    RULES: ClassVar = NORMALIZATIONS
    PATTERNS: ClassVar = (GroupNorm(),)

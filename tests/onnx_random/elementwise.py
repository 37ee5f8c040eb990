"""Rules of operators that work element by element, and of products, sums and normalizations."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from .builder import Builder, NoValue, Rule

UNARY = (
    *("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Erf", "Softplus", "Elu", "Selu", "HardSwish"),
    *("Mish", "LeakyRelu", "HardSigmoid", "Celu", "ThresholdedRelu", "Shrink"),
    *("Identity", "Sin", "Cos", "Atan", "Asinh"),
)


def unary(b: Builder) -> None:
    x = b.value()
    kinds = (*UNARY, "Gelu") if b.opset >= 20 else UNARY
    b.node(b.pick(*kinds), x, shape=b.shapes[x])


def of_exact(b: Builder) -> None:
    """What jumps: only of the model's inputs."""
    x = b.exact()
    b.node(b.pick("Ceil", "Floor", "Round", "Sign"), x, shape=b.shapes[x])


def bounded(b: Builder) -> None:
    """Of what lies between -1 and 1."""
    x = b.value()
    inside = b.node("Tanh", x)
    half = b.node("Mul", inside, b.scalar(0.5))
    b.node(b.pick("Asin", "Acos", "Atanh", "Sinh", "Cosh", "Tan"), half, shape=b.shapes[x])


def positive(b: Builder) -> None:
    x = b.value()
    above = b.node("Add", b.node("Abs", x), b.scalar(1))
    kind = b.pick("Sqrt", "Log", "Reciprocal", "Pow", "Acosh")
    others = [b.scalar(b.pick(0.5, -0.5, 2, -1, 1.7))] if kind == "Pow" else []
    b.node(kind, above, *others, shape=b.shapes[x])


def another(b: Builder, x: str) -> str:
    """A value or a weight that broadcasts to the shape of `x`."""
    shape = b.shapes[x]
    if b.chance(0.5):
        return b.pick(*(name for name in b.shapes if b.shapes[name] == shape))
    return b.random(
        *(extent if b.chance(0.6) else 1 for extent in shape[b.number(0, len(shape)) :])
    )


def binary(b: Builder) -> None:
    x = b.value()
    pair = [x, another(b, x)]
    b.rng.shuffle(pair)
    b.node(b.pick("Add", "Sub", "Mul", "Max", "Min"), *pair, shape=b.shapes[x])


def ternary(b: Builder) -> None:
    x = b.value()
    y, z = another(b, x), another(b, x)
    match b.pick("Sum", "Mean", "Clip", "PRelu"):
        case "Clip":
            b.node("Clip", x, b.scalar(-0.5), b.scalar(0.75), shape=b.shapes[x])
        case "PRelu":
            slope = b.random(*b.shapes[x][1:]) if len(b.shapes[x]) > 1 else b.random(1)
            b.node("PRelu", x, slope, shape=b.shapes[x])
        case kind:
            b.node(kind, x, y, z, shape=b.shapes[x])


def quotient(b: Builder) -> None:
    x = b.value()
    divisor = b.scalar(b.pick(2, -4, 3, 0.1)) if b.chance(0.5) else b.random(1, least=1, most=3)
    b.node("Div", x, divisor, shape=b.shapes[x] or (1,))


def select(b: Builder) -> None:
    condition, x = b.exact(), b.value()
    try:
        joint = np.broadcast_shapes(b.shapes[condition], b.shapes[x])
    except ValueError:
        raise NoValue from None
    holds = b.node(b.pick("Greater", "LessOrEqual", "Less", "Equal"), condition, b.scalar(0.1))
    if b.chance(0.5):
        other = b.node("GreaterOrEqual", condition, b.scalar(-0.5))
        holds = b.node(b.pick("And", "Or", "Xor"), b.node("Not", holds), other)
    b.node("Where", holds, x, b.scalar(0.5), shape=joint)


def whole_numbers(b: Builder) -> None:
    """Arithmetic of integers, which is exact."""
    x = b.exact()
    to = b.pick(TensorProto.INT32, TensorProto.INT64)
    dtype = np.int32 if to == TensorProto.INT32 else np.int64
    n = b.node("Cast", b.node("Mul", x, b.scalar(7)), to=to)
    other = b.weight(dtype(b.pick(2, 3, -5)))
    kind = b.pick("Add", "Mul", "Sub", "Div", "Mod", "Max", "BitwiseAnd", "BitwiseXor")
    b.as_float(b.node(kind, n, other), b.shapes[x])


def product(b: Builder) -> None:
    x = b.value(2)
    *batch, m, k = b.shapes[x]
    n = b.number(1, 5)
    if b.chance(0.5) or batch:
        b.node("MatMul", x, b.random(k, n), shape=(*batch, m, n))
    else:
        b.node("Gemm", x, b.random(n, k), b.random(n), shape=(m, n), transB=1, alpha=0.5)


def square(b: Builder) -> None:
    """A product of a value with itself, as attention has it."""
    x = b.value(2)
    *batch, m, _ = b.shapes[x]
    axes = [*range(len(batch)), len(batch) + 1, len(batch)]
    b.node("MatMul", x, b.node("Transpose", x, perm=axes), shape=(*batch, m, m))


def einsum(b: Builder) -> None:
    x = b.value(2, 3)
    *batch, m, k = b.shapes[x]
    b.node("Einsum", x, b.random(3, k), equation="...ij,kj->...ki", shape=(*batch, 3, m))


def along_axis(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x) - b.pick(0, len(b.shapes[x]))
    b.node(b.pick("Softmax", "LogSoftmax", "LpNormalization"), x, shape=b.shapes[x], axis=axis)


EPSILON = 1e-3
"""Added to variances: where they are as small as ONNX's default, 1e-5, the evaluator's rounding of means shows."""


def layer_norm(b: Builder) -> None:
    x = b.value(1)
    axis = b.axis_of(x)
    extents = b.shapes[x][axis:]
    b.node(
        "LayerNormalization",
        x,
        b.random(*extents),
        b.random(*extents),
        shape=b.shapes[x],
        axis=axis,
        epsilon=EPSILON,
    )


def channel_norm(b: Builder) -> None:
    x = b.value(3)
    c = b.shapes[x][1]
    match b.pick("Instance", "Batch", "Batch", "Group", "MeanVariance"):
        case "Batch":
            weights = [b.random(c) for _ in range(3)] + [b.random(c, least=0.5, most=2)]
            b.node("BatchNormalization", x, *weights, shape=b.shapes[x])
        case "Group" if b.opset >= 21:
            weights = b.random(c), b.random(c)
            groups = b.pick(1, c)
            b.node(
                "GroupNormalization",
                x,
                *weights,
                shape=b.shapes[x],
                num_groups=groups,
                epsilon=EPSILON,
            )
        case "MeanVariance" if len(b.shapes[x]) == 4:
            b.node("MeanVarianceNormalization", x, shape=b.shapes[x])
        case _:
            weights = b.random(c), b.random(c)
            b.node("InstanceNormalization", x, *weights, shape=b.shapes[x], epsilon=EPSILON)


REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceProd"),
    *("ReduceLogSumExp", "ReduceSumSquare"),
)


def reduction(b: Builder) -> None:
    x = b.value(1)
    shape = b.shapes[x]
    axes = sorted({b.axis_of(x) for _ in range(b.number(1, 2))})
    keep = b.number(0, 1)
    rest = [1 if axis in axes else extent for axis, extent in enumerate(shape)]
    rest = rest if keep else [one for axis, one in enumerate(shape) if axis not in axes]
    given = b.integers(*(axis - b.pick(0, len(shape)) for axis in axes))
    b.node(b.pick(*REDUCTIONS), x, given, shape=rest, keepdims=keep)


RULES: tuple[Rule, ...] = (
    *(unary, unary, of_exact, bounded, positive, binary, binary, ternary, quotient, select),
    *(whole_numbers, product, square, einsum, along_axis, layer_norm, channel_norm, reduction),
)

"""Rules that add what exporters write for one operation: what graph rewrites look for, and what nearly is it."""

from __future__ import annotations

import numpy as np

from .builder import Builder, Rule

NEARLY = 0.97
"""What a number of an idiom is at times multiplied by: then it is another function."""


def constant(b: Builder, number: float) -> str:
    return b.scalar(number * b.pick(1, 1, 1, NEARLY))


def gelu(b: Builder) -> None:
    x = b.value()
    shape = b.shapes[x]
    inside = b.node("Erf", b.node("Div", x, constant(b, 2**0.5)))
    outside = b.node("Mul", x, b.node("Add", inside, constant(b, 1)))
    b.node("Mul", outside, constant(b, 0.5), shape=shape)


def gelu_by_tanh(b: Builder) -> None:
    x = b.value()
    cube = b.node("Mul", b.node("Pow", x, b.scalar(3)), constant(b, 0.044715))
    scaled = b.node("Mul", b.node("Add", x, cube), constant(b, (2 / np.pi) ** 0.5))
    one = b.node("Add", b.node("Tanh", scaled), b.scalar(1))
    b.node("Mul", b.node("Mul", x, b.scalar(0.5)), one, shape=b.shapes[x])


def gate(b: Builder) -> None:
    x = b.value()
    kind = b.pick("silu", "hard", "mish")
    if kind == "silu":
        inner = b.node("Sigmoid", x)
    elif kind == "mish":
        inner = b.node("Tanh", b.node("Softplus", x))
    else:
        ends = b.scalar(0), constant(b, 6)
        inner = b.node("Clip", b.node("Add", x, constant(b, 3)), *ends)
        if b.chance(0.5):
            b.node("Div", b.node("Mul", x, inner), constant(b, 6), shape=b.shapes[x])
            return
        inner = b.node("Div", inner, constant(b, 6))
    pair = (x, inner) if b.chance(0.5) else (inner, x)
    b.node("Mul", *pair, shape=b.shapes[x])


def softmax(b: Builder) -> None:
    x = b.value(1)
    axis = b.integers(b.axis_of(x))
    largest = b.node("ReduceMax", x, axis)
    e = b.node("Exp", b.node("Sub", x, largest))
    b.node("Div", e, b.node("ReduceSum", e, axis), shape=b.shapes[x])


def norm(b: Builder) -> None:
    """Layer or RMS normalization in primitive operators."""
    x = b.value(1)
    shape = b.shapes[x]
    axis = b.integers(-1)
    centred = b.node("Sub", x, b.node("ReduceMean", x, axis)) if b.chance(0.6) else x
    variance = b.node("ReduceMean", b.node("Pow", centred, b.scalar(2)), axis)
    root = b.node("Sqrt", b.node("Add", variance, b.scalar(1e-3)))
    normal = b.node("Div", centred, root)
    b.node("Mul", normal, b.random(shape[-1]), shape=shape)


def group_norm(b: Builder) -> None:
    """By an instance normalization of groups of channels, which do not always have the same number of them."""
    x = b.value(3)
    shape = b.shapes[x]
    channels = shape[1]
    groups = b.pick(*(n for n in range(1, channels + 1) if np.prod(shape[1:]) % n == 0))
    ones, zeros = (b.weight(np.full(groups, number, np.float32)) for number in (1, 0))
    grouped = b.node("Reshape", x, b.integers(shape[0], groups, -1))
    normal = b.node("InstanceNormalization", grouped, ones, zeros, epsilon=1e-3)
    back = b.node("Reshape", normal, b.integers(*shape))
    by_channel = (channels, *[1] * (len(shape) - 2))
    scaled = b.node("Mul", back, b.random(*by_channel))
    b.node("Add", scaled, b.random(*by_channel), shape=shape)


def attention(b: Builder) -> None:
    """Queries, keys and values by sibling products of one value."""
    x = b.value(2, 3)
    *batch, m, k = b.shapes[x]
    width = b.number(1, 4)
    q, key, v = (b.node("MatMul", x, b.random(k, width)) for _ in range(3))
    axes = [*range(len(batch)), len(batch) + 1, len(batch)]
    scores = b.node("MatMul", q, b.node("Transpose", key, perm=axes))
    weights = b.node("Softmax", b.node("Mul", scores, b.scalar(width**-0.5)), axis=-1)
    b.node("MatMul", weights, v, shape=(*batch, m, width))


def chain(b: Builder) -> None:
    """Products one behind the other, through a few numbers or through many."""
    x = b.value(2, 3)
    *batch, m, k = b.shapes[x]
    inner, n = b.pick(1, 2, 9), b.number(1, 6)
    weights = b.random(k, inner), b.random(inner, n)
    if b.chance(0.5):
        b.node("MatMul", x, b.node("MatMul", *weights), shape=(*batch, m, n))
    else:
        b.node("MatMul", b.node("MatMul", x, weights[0]), weights[1], shape=(*batch, m, n))


def layer(b: Builder) -> None:
    """A convolution, and what is folded into it: pads before it, scales, shifts and a batch normalization behind it."""
    x = b.value(4, 4)
    n, c, height, width = b.shapes[x]
    padded = b.node("Pad", x, b.integers(0, 0, 1, 1, 0, 0, 1, 1), b.scalar(b.pick(0, 0, 0.5)))
    filters = b.number(1, 4)
    found = b.node("Conv", padded, b.random(filters, c, 3, 3))
    shape = (n, filters, height, width)
    for _ in range(b.number(1, 2)):
        scale = b.random(1, filters, 1, 1) if b.chance(0.5) else b.scalar(b.pick(0.5, -3))
        found = b.node(b.pick("Mul", "Add", "Sub"), found, scale, shape=shape)
    weights = [b.random(filters) for _ in range(3)] + [b.random(filters, least=0.5, most=2)]
    b.node("BatchNormalization", found, *weights, shape=shape)


def there_and_back(b: Builder) -> None:
    """A transpose and its inverse around an operation."""
    x = b.value(2, 4)
    shape = b.shapes[x]
    order = b.rng.permutation(len(shape))
    turned = b.node("Transpose", x, perm=order.tolist())
    inside = b.node(b.pick("Relu", "Exp", "Neg"), turned)
    other = b.node("Add", inside, b.random(shape[order[-1]]))
    b.node("Transpose", other, perm=np.argsort(order).tolist(), shape=shape)


def numbers_that_meet(b: Builder) -> None:
    x = b.value()
    for _ in range(b.number(2, 3)):
        x = b.node(
            b.pick("Mul", "Div", "Add", "Sub"),
            x,
            b.scalar(b.pick(2, 3, 0.7, -1)),
            shape=b.shapes.get(x),
        )


RULES: tuple[Rule, ...] = (
    *(
        gelu,
        gelu_by_tanh,
        gate,
        softmax,
        norm,
        group_norm,
        attention,
        chain,
        layer,
        there_and_back,
        numbers_that_meet,
    ),
)

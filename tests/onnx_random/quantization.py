"""Rules of quantized values, as quantizers write them: exact inputs, so that no rounding decides an integer."""

from __future__ import annotations

import numpy as np

from .builder import Builder, Rule

DTYPES = (np.uint8, np.int8)


def there_and_back(b: Builder) -> None:
    x = b.exact()
    scale, zero = b.scalar(b.pick(0.02, 0.125)), b.weight(b.pick(*DTYPES)(b.number(0, 40)))
    q = b.node("QuantizeLinear", x, scale, zero)
    b.node("DequantizeLinear", q, scale, zero, shape=b.shapes[x])


def quantized_weights(b: Builder) -> None:
    """A product with weights that are stored as integers, with a scale for each column."""
    x = b.value(2)
    *batch, m, k = b.shapes[x]
    n = b.number(1, 5)
    dtype = b.pick(*DTYPES)
    info = np.iinfo(dtype)
    weights = b.weight(b.rng.integers(info.min, info.max + 1, (k, n)).astype(dtype))
    scale = b.random(n, least=0.005, most=0.02)
    zero = b.weight(b.rng.integers(0, 20, n).astype(dtype))
    w = b.node("DequantizeLinear", weights, scale, zero, axis=1)
    b.node("MatMul", x, w, shape=(*batch, m, n))


def dynamic(b: Builder) -> None:
    """A product of integers whose scale the values decide."""
    x = b.exact(2)
    *batch, m, k = b.shapes[x]
    n = b.number(1, 5)
    q, scale, zero = b.several("DynamicQuantizeLinear", [x], [None] * 3)
    weights = b.weight(b.rng.integers(-128, 128, (k, n)).astype(np.int8))
    whole = b.node("MatMulInteger", q, weights, zero)
    product = b.as_float(whole, (*batch, m, n))
    b.node("Mul", product, b.node("Mul", scale, b.scalar(0.01)), shape=(*batch, m, n))


def product_of_integers(b: Builder) -> None:
    x = b.exact(2)
    *batch, m, k = b.shapes[x]
    n = b.number(1, 5)
    scale, zero = b.scalar(0.03125), b.weight(np.uint8(b.number(0, 80)))
    q = b.node("QuantizeLinear", x, scale, zero)
    weights = b.weight(b.rng.integers(0, 256, (k, n)).astype(np.uint8))
    # Powers of two: quotients that lie between two integers are the same everywhere.
    others = b.scalar(0.0625), b.weight(np.uint8(128)), b.scalar(0.5), b.weight(np.uint8(100))
    product = b.node("QLinearMatMul", q, scale, zero, weights, *others)
    b.node("DequantizeLinear", product, *others[2:], shape=(*batch, m, n))


RULES: tuple[Rule, ...] = (there_and_back, quantized_weights, dynamic, product_of_integers)

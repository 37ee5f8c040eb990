"""
Elementary functions of numbers. To add one that `math` has, add a class here: a name, NumPy's function and the
operation of `math`.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import numpy as np
from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from ..interfaces import Array
from ..scalar import ScalarBuilder
from .base import FLOATS, INTEGERS, NUMBERS, graph_op
from .elementwise import BinaryElementwiseOp, UnaryElementwiseOp


class ElementaryOp(UnaryElementwiseOp, ABC):
    """A function that is one of NumPy and one operation of `math`."""

    ELEMENTS: ClassVar = FLOATS
    NUMPY: ClassVar[np.ufunc]
    MATH: ClassVar[type[Operation]]

    def numpy(self, x: Array) -> Array:
        return self.NUMPY(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.emit(self.MATH(x))  # pyright: ignore[reportCallIssue]


@graph_op
class TanOp(ElementaryOp):
    """The tangent of an angle in radians."""

    name = "graph.tan"
    NUMPY: ClassVar = np.tan
    MATH: ClassVar = math.TanOp


@graph_op
class AsinOp(ElementaryOp):
    """The inverse sine, from -π/2 to π/2; NaN beyond ±1."""

    name = "graph.asin"
    NUMPY: ClassVar = np.arcsin
    MATH: ClassVar = math.AsinOp


@graph_op
class AcosOp(ElementaryOp):
    """The inverse cosine, from 0 to π; NaN beyond ±1."""

    name = "graph.acos"
    NUMPY: ClassVar = np.arccos
    MATH: ClassVar = math.AcosOp


@graph_op
class AtanOp(ElementaryOp):
    """The inverse tangent, from -π/2 to π/2."""

    name = "graph.atan"
    NUMPY: ClassVar = np.arctan
    MATH: ClassVar = math.AtanOp


@graph_op
class SinhOp(ElementaryOp):
    """The hyperbolic sine."""

    name = "graph.sinh"
    NUMPY: ClassVar = np.sinh
    MATH: ClassVar = math.SinhOp


@graph_op
class CoshOp(ElementaryOp):
    """The hyperbolic cosine."""

    name = "graph.cosh"
    NUMPY: ClassVar = np.cosh
    MATH: ClassVar = math.CoshOp


@graph_op
class AsinhOp(ElementaryOp):
    """The inverse hyperbolic sine."""

    name = "graph.asinh"
    NUMPY: ClassVar = np.arcsinh
    MATH: ClassVar = math.AsinhOp


@graph_op
class AcoshOp(ElementaryOp):
    """The inverse hyperbolic cosine; NaN below 1."""

    name = "graph.acosh"
    NUMPY: ClassVar = np.arccosh
    MATH: ClassVar = math.AcoshOp


@graph_op
class AtanhOp(ElementaryOp):
    """The inverse hyperbolic tangent; NaN beyond ±1."""

    name = "graph.atanh"
    NUMPY: ClassVar = np.arctanh
    MATH: ClassVar = math.AtanhOp


@graph_op
class Exp2Op(ElementaryOp):
    """2 to the power of x."""

    name = "graph.exp2"
    NUMPY: ClassVar = np.exp2
    MATH: ClassVar = math.Exp2Op


@graph_op
class Expm1Op(ElementaryOp):
    """exp(x) - 1, exact also near 0."""

    name = "graph.expm1"
    NUMPY: ClassVar = np.expm1
    MATH: ClassVar = math.ExpM1Op


@graph_op
class Log1pOp(ElementaryOp):
    """log(1 + x), exact also near 0."""

    name = "graph.log1p"
    NUMPY: ClassVar = np.log1p
    MATH: ClassVar = math.Log1pOp


@graph_op
class Log2Op(ElementaryOp):
    """The logarithm to base 2."""

    name = "graph.log2"
    NUMPY: ClassVar = np.log2
    MATH: ClassVar = math.Log2Op


@graph_op
class Log10Op(ElementaryOp):
    """The logarithm to base 10."""

    name = "graph.log10"
    NUMPY: ClassVar = np.log10
    MATH: ClassVar = math.Log10Op


@graph_op
class CbrtOp(ElementaryOp):
    """The cube root, of negative numbers too."""

    name = "graph.cbrt"
    NUMPY: ClassVar = np.cbrt
    MATH: ClassVar = math.CbrtOp


@graph_op
class TruncOp(UnaryElementwiseOp):
    """The integer next to x towards 0; integers as they are."""

    name = "graph.trunc"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array) -> Array:
        return np.trunc(x) if x.dtype.kind == "f" else x

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.emit(math.TruncOp(x)) if b.is_float else x


@graph_op
class Atan2Op(BinaryElementwiseOp):
    """The angle from the first axis to the point (y, x) of a plane, from -π to π."""

    name = "graph.atan2"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, y: Array, x: Array) -> Array:
        return np.arctan2(y, x)

    def scalar(self, b: ScalarBuilder, y: SSAValue, x: SSAValue) -> SSAValue:
        return b.emit(math.Atan2Op(y, x))


@graph_op
class CopysignOp(BinaryElementwiseOp):
    """The magnitude of x with the sign of y, that of a zero and of NaN too."""

    name = "graph.copysign"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array, y: Array) -> Array:
        return np.copysign(x, y)

    def scalar(self, b: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return b.emit(math.CopySignOp(x, y))


@graph_op
class BitCountOp(UnaryElementwiseOp):
    """The number of bits that are 1 in the magnitude of an integer."""

    name = "graph.bit_count"
    ELEMENTS: ClassVar = INTEGERS

    def numpy(self, x: Array) -> Array:
        return np.bitwise_count(x).astype(x.dtype)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.emit(math.CtPopOp(b.abs(x)))

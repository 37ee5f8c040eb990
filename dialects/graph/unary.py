"""
Element-wise operations of one operand. To add one, add a class here: a name, what it computes in
NumPy, and one element of it in scalars.
"""

from __future__ import annotations

from math import erf, pi, sqrt
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, f64
from xdsl.ir import SSAValue
from xdsl.irdl import opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from ..interfaces import Array
from ..scalar import NONPOSITIVE, ScalarBuilder
from ..shaped import tensor_type
from .base import (
    BITS,
    FLOATS,
    NUMBERS,
    Value,
    graph_op,
    number_attr,
    number_of,
    verify_same_element,
)
from .elementwise import UnaryElementwiseOp

_ERF = np.frompyfunc(erf, 1, 1)


def _erf(x: Array) -> Array:
    """The error function, which NumPy lacks, computed in double precision."""
    return np.asarray(_ERF(x)).astype(x.dtype)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@graph_op
class NegOp(UnaryElementwiseOp):
    """-x; integers wrap."""

    name = "graph.neg"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array) -> Array:
        return np.negative(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.neg(x)

    def simplified(self) -> SSAValue | None:
        """neg(neg(x)) → x"""
        return self.operand.owner.operand if isinstance(self.operand.owner, NegOp) else None


@graph_op
class AbsOp(UnaryElementwiseOp):
    """|x|; of the least integer, itself."""

    name = "graph.abs"

    def numpy(self, x: Array) -> Array:
        return np.abs(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.abs(x)


@graph_op
class SignOp(UnaryElementwiseOp):
    """-1, 0 or 1; NaN of NaN."""

    name = "graph.sign"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array) -> Array:
        return np.sign(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        zero, one = b.constant(0), b.constant(1)
        # -0.0 gives 0.0, as in NumPy: only NaN is left as it is.
        rest = b.select(b.compare("eq", x, zero), zero, x) if b.is_float else x
        below = rest if b.is_unsigned else b.select(b.compare("lt", x, zero), b.constant(-1), rest)
        return b.select(b.compare("gt", x, zero), one, below)


@graph_op
class CeilOp(UnaryElementwiseOp):
    """The least integer not below x; integers as they are."""

    name = "graph.ceil"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array) -> Array:
        return np.ceil(x) if x.dtype.kind == "f" else x

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.ceil(x)


@graph_op
class FloorOp(UnaryElementwiseOp):
    """The greatest integer not above x; integers as they are."""

    name = "graph.floor"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array) -> Array:
        return np.floor(x) if x.dtype.kind == "f" else x

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.floor(x)


@graph_op
class RoundOp(UnaryElementwiseOp):
    """The nearest integer, halves to the even one; integers as they are."""

    name = "graph.round"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array) -> Array:
        return np.round(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.round_even(x)


@graph_op
class ExpOp(UnaryElementwiseOp):
    name = "graph.exp"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return np.exp(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.exp(x, is_nonpositive=NONPOSITIVE in self.attributes)


@graph_op
class LogOp(UnaryElementwiseOp):
    """The natural logarithm."""

    name = "graph.log"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return np.log(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.log(x)


@graph_op
class SqrtOp(UnaryElementwiseOp):
    name = "graph.sqrt"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return np.sqrt(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.sqrt(x)


@graph_op
class RsqrtOp(UnaryElementwiseOp):
    """1 / sqrt(x), by a division: as exact as that."""

    name = "graph.rsqrt"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return 1 / np.sqrt(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.reciprocal(b.sqrt(x))


@graph_op
class ReciprocalOp(UnaryElementwiseOp):
    """1 / x, by a division."""

    name = "graph.reciprocal"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return 1 / x

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.reciprocal(x)


@graph_op
class SinOp(UnaryElementwiseOp):
    name = "graph.sin"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return np.sin(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.sin(x)


@graph_op
class CosOp(UnaryElementwiseOp):
    name = "graph.cos"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return np.cos(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.cos(x)


@graph_op
class TanhOp(UnaryElementwiseOp):
    name = "graph.tanh"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return np.tanh(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.tanh(x)


@graph_op
class SigmoidOp(UnaryElementwiseOp):
    """1 / (1 + exp(-x))."""

    name = "graph.sigmoid"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return _sigmoid(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.sigmoid(x)


@graph_op
class ErfOp(UnaryElementwiseOp):
    """The Gauss error function."""

    name = "graph.erf"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return _erf(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.erf(x)


@graph_op
class ReluOp(UnaryElementwiseOp):
    """max(x, 0); NaN of NaN."""

    name = "graph.relu"
    ELEMENTS: ClassVar = NUMBERS

    def numpy(self, x: Array) -> Array:
        return np.maximum(x, x.dtype.type(0))

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.maximum(x, b.constant(0))


@graph_op
class SiluOp(UnaryElementwiseOp):
    """x · sigmoid(x) (swish), computed as x / (1 + exp(-x))."""

    name = "graph.silu"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        return x / (1 + np.exp(-x))

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.div(x, b.add(b.constant(1), b.exp(b.neg(x))))


@graph_op
class MishOp(UnaryElementwiseOp):
    """
    x · tanh(softplus(x)) (Misra, arXiv:1908.08681), with one exponential and no logarithm.

    tanh(log(1 + e)) is n / (n + 2) with e = exp(x) and n = e · (e + 2). Where x is positive, both sides of that fraction
    are divided by e², so that nothing overflows.
    """

    name = "graph.mish"
    ELEMENTS: ClassVar = FLOATS

    def numpy(self, x: Array) -> Array:
        decay = np.exp(-np.abs(x))
        positive = x > 0
        above = np.where(positive, 1 + 2 * decay, decay * (decay + 2))
        rest = np.where(positive, 2 * (decay * decay), x.dtype.type(2))
        return x * (above / (above + rest))

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        one, two = b.constant(1), b.constant(2)
        decay = b.exp(b.neg(b.abs(x)), is_nonpositive=True)
        positive = b.compare("gt", x, b.constant(0))
        large = b.add(one, b.mul(two, decay))
        above = b.select(positive, large, b.mul(decay, b.add(decay, two)))
        rest = b.select(positive, b.mul(two, b.mul(decay, decay)), two)
        return b.mul(x, b.div(above, b.add(above, rest)))


@graph_op
class NotOp(UnaryElementwiseOp):
    """Every bit inverted (`numpy.invert`): logical not on i1."""

    name = "graph.not"
    ELEMENTS: ClassVar = BITS

    def numpy(self, x: Array) -> Array:
        return np.invert(x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.bit_not(x)

    def simplified(self) -> SSAValue | None:
        """not(not(x)) → x"""
        return self.operand.owner.operand if isinstance(self.operand.owner, NotOp) else None


@graph_op
class LeakyReluOp(UnaryElementwiseOp):
    """
    x where x ≥ 0, alpha · x elsewhere (ONNX LeakyRelu).

        %r = graph.leaky_relu %x alpha = 1.000000e-02 : tensor<4xf32>
    """

    name = "graph.leaky_relu"
    ELEMENTS: ClassVar = FLOATS

    alpha = prop_def(FloatAttr.constr(f64))
    assembly_format = "$operand `alpha` `=` $alpha attr-dict `:` type($operand)"

    def __init__(self, operand: Value, alpha: float = 0.01):
        super().__init__(operand)
        self.properties["alpha"] = FloatAttr(float(alpha), f64)

    def numpy(self, x: Array) -> Array:
        return np.where(x >= 0, x, x.dtype.type(self.alpha.value.data) * x)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        leaked = b.mul(b.constant(self.alpha.value.data), x)
        return b.select(b.compare("ge", x, b.constant(0)), x, leaked)


@graph_op
class HardSigmoidOp(UnaryElementwiseOp):
    """
    max(0, min(1, alpha · x + beta)) (ONNX HardSigmoid).

        %r = graph.hard_sigmoid %x alpha = 2.000000e-01 beta = 5.000000e-01 : tensor<4xf32>
    """

    name = "graph.hard_sigmoid"
    ELEMENTS: ClassVar = FLOATS

    alpha = prop_def(FloatAttr.constr(f64))
    beta = prop_def(FloatAttr.constr(f64))
    assembly_format = "$operand `alpha` `=` $alpha `beta` `=` $beta attr-dict `:` type($operand)"

    def __init__(self, operand: Value, alpha: float = 0.2, beta: float = 0.5):
        super().__init__(operand)
        self.properties["alpha"] = FloatAttr(float(alpha), f64)
        self.properties["beta"] = FloatAttr(float(beta), f64)

    def numpy(self, x: Array) -> Array:
        number = x.dtype.type
        line = number(self.alpha.value.data) * x + number(self.beta.value.data)
        return np.maximum(np.minimum(line, number(1)), number(0))

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        scaled = b.mul(b.constant(self.alpha.value.data), x)
        line = b.add(scaled, b.constant(self.beta.value.data))
        return b.maximum(b.minimum(line, b.constant(1)), b.constant(0))


@graph_op
class GeluOp(UnaryElementwiseOp):
    """
    x · Φ(x): with `none` by erf, with `tanh` by the approximation of Hendrycks and Gimpel
    (arXiv:1606.08415).

        %r = graph.gelu %x approximate = "none" : tensor<4xf32>
    """

    name = "graph.gelu"
    ELEMENTS: ClassVar = FLOATS

    approximate = prop_def(StringAttr)
    assembly_format = "$operand `approximate` `=` $approximate attr-dict `:` type($operand)"

    def __init__(self, operand: Value, approximate: str = "none"):
        super().__init__(operand)
        self.properties["approximate"] = StringAttr(approximate)

    def verify_(self) -> None:
        if self.approximate.data not in ("none", "tanh"):
            raise VerifyException(
                f'found approximate = "{self.approximate.data}", expected "none" or "tanh"; write one of them'
            )
        super().verify_()

    def numpy(self, x: Array) -> Array:
        number = x.dtype.type
        if self.approximate.data == "none":
            return number(0.5) * x * (1 + _erf(x * number(sqrt(0.5))))
        inner = number(sqrt(2 / pi)) * (x + number(0.044715) * (x * x * x))
        return number(0.5) * x * (1 + np.tanh(inner))

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        if self.approximate.data == "none":
            curve = b.erf(b.mul(x, b.constant(sqrt(0.5))))
        else:
            cube = b.mul(b.mul(x, x), x)
            sum_ = b.add(x, b.mul(b.constant(0.044715), cube))
            curve = b.tanh(b.mul(b.constant(sqrt(2 / pi)), sum_))
        return b.mul(b.mul(b.constant(0.5), x), b.add(b.constant(1), curve))


@graph_op
class ClipOp(UnaryElementwiseOp):
    """
    x between two bounds, either of which may be absent (`numpy.clip`); NaN of NaN.

        %r = graph.clip %x min = 0.000000e+00 : f32 max = 6.000000e+00 : f32 : tensor<4xf32>
    """

    name = "graph.clip"
    ELEMENTS: ClassVar = NUMBERS

    min = opt_prop_def(FloatAttr | IntegerAttr)
    max = opt_prop_def(FloatAttr | IntegerAttr)
    assembly_format = "$operand (`min` `=` $min^)? (`max` `=` $max^)? attr-dict `:` type($operand)"

    def __init__(
        self, operand: Value, min: float | int | None = None, max: float | int | None = None
    ):
        super().__init__(operand)
        element = tensor_type(operand).get_element_type()
        if min is not None:
            self.properties["min"] = number_attr(min, element)
        if max is not None:
            self.properties["max"] = number_attr(max, element)

    def verify_(self) -> None:
        super().verify_()
        for bound in (self.min, self.max):
            if bound is not None:
                verify_same_element(bound.type, self.body_type, "a bound")

    def numpy(self, x: Array) -> Array:
        raised = x if self.min is None else np.maximum(x, number_of(self.min))
        return raised if self.max is None else np.minimum(raised, number_of(self.max))

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        raised = x if self.min is None else b.maximum(x, b.constant(self.min.value.data))
        return raised if self.max is None else b.minimum(raised, b.constant(self.max.value.data))

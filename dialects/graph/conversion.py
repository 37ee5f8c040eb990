"""Conversion between element types: `cast` of numbers, `bitcast` of the bits that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..dtypes import (
    bit_width,
    converted,
    is_element_type,
    is_float,
    is_narrow_float,
    numpy_dtype,
    significand_bits,
    signless,
)
from ..interfaces import Array
from ..scalar import ScalarBuilder
from ..shaped import Tensor, tensor_type
from .base import EVERY, INTEGERS, NUMBERS, Value, graph_op
from .elementwise import ElementwiseOp


def saturating_cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """
    `x` as `dtype`. Integers wrap; floats become integers by truncation, saturating, NaN becoming 0;
    anything but zero becomes true.
    """
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return converted(x, dtype)
    info = np.iinfo(dtype)
    # The bounds as floats: powers of two, so exact, the upper one just out of range.
    low, high = x.dtype.type(info.min), x.dtype.type(2.0) ** (info.bits - (dtype.kind == "i"))
    inside = (x > low) & (x < high)
    truncated = np.where(inside, x, 0).astype(dtype)
    outside: Array = np.where(x >= high, info.max, info.min).astype(dtype)
    return np.where(inside | np.isnan(x), truncated, outside)


@graph_op
class CastOp(ElementwiseOp):
    """
    Another element type. Integers wrap; floats become integers by truncation, saturating, NaN becoming
    0; anything but zero becomes true.

        %r = graph.cast %x : tensor<2xf32> -> tensor<2xi32>
    """

    name = "graph.cast"
    COMPUTES: ClassVar = False

    operand = operand_def()
    result = result_def()

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, element_type: Attribute):
        type_ = self.infer_type(tensor_type(operand), element_type)
        super().__init__(operands=[operand], result_types=[type_])

    @classmethod
    def infer_type(cls, operand: Tensor, element_type: Attribute) -> Tensor:
        return TensorType(element_type, operand.get_shape())

    def inferred_types(self) -> Sequence[Tensor]:
        target = tensor_type(self.result).get_element_type()
        if not is_element_type(target):
            raise VerifyException(
                f"found a cast to {target}, expected one of {', '.join(map(str, EVERY))}; use one of them"
            )
        return (self.infer_type(tensor_type(self.operand), target),)

    @property
    def body_type(self) -> Attribute:
        return tensor_type(self.operand).get_element_type()

    @property
    def target(self) -> Attribute:
        """The element type of the result."""
        return tensor_type(self.result).get_element_type()

    def numpy(self, x: Array) -> Array:
        return saturating_cast(x, numpy_dtype(self.target))

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        return b.cast_to(x, self.target)

    def simplified(self) -> SSAValue | None:
        """
        A cast to the operand's type → the operand; there and back through a type that holds every value →
        the first operand.
        """
        if self.operand.type == self.result.type:
            return self.operand
        source = self.operand.owner
        if (
            isinstance(source, CastOp)
            and source.operand.type == self.result.type
            and _holds_every(self.body_type, self.target)
        ):
            return source.operand
        return None


def _holds_every(wide: Attribute, narrow: Attribute) -> bool:
    """Whether every value of `narrow` is one of `wide` and comes back by a cast as it was."""
    if is_float(narrow):
        return (
            is_float(wide)
            and not is_narrow_float(wide)
            and significand_bits(wide) > significand_bits(narrow)
        )
    if is_float(wide):
        return bit_width(narrow) <= significand_bits(wide)
    return wide in INTEGERS and bit_width(narrow) <= bit_width(wide)


@graph_op
class BitcastOp(ElementwiseOp):
    """
    The bits of each element as one of another type of the same width.

        %r = graph.bitcast %x : tensor<2xf32> -> tensor<2xi32>
    """

    name = "graph.bitcast"
    ELEMENTS: ClassVar = NUMBERS
    COMPUTES: ClassVar = False

    operand = operand_def()
    result = result_def()

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, element_type: Attribute):
        type_ = TensorType(element_type, tensor_type(operand).get_shape())
        super().__init__(operands=[operand], result_types=[type_])

    def inferred_types(self) -> Sequence[Tensor]:
        source, target = self.body_type, self.target
        if target not in NUMBERS or source not in NUMBERS or bit_width(source) != bit_width(target):
            raise VerifyException(
                f"found the bits of {source} as {target}, expected numbers of as many bits; use graph.cast"
            )
        return (TensorType(target, tensor_type(self.operand).get_shape()),)

    @property
    def body_type(self) -> Attribute:
        return tensor_type(self.operand).get_element_type()

    @property
    def target(self) -> Attribute:
        """The element type of the result."""
        return tensor_type(self.result).get_element_type()

    def reference(self, *arrays: Array) -> Array:
        """Without computing, and so without widening narrow floats."""
        (x,) = arrays
        return self.numpy(x)

    def numpy(self, x: Array) -> Array:
        return np.ascontiguousarray(x).view(numpy_dtype(self.target)).reshape(x.shape)

    def scalar(self, b: ScalarBuilder, x: SSAValue) -> SSAValue:
        type_ = signless(self.target)
        return x if x.type == type_ else b.emit(arith.BitcastOp(x, type_))

"""Reductions over axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..combiner import Combiner
from ..dtypes import is_bool, is_unsigned
from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.compute import Iterator
from ..te.text import axis_names
from .base import EVERY, NUMBERS, GraphOp, Value, graph_op
from .shapes import (
    element_count,
    normalized_axes,
    normalized_axis,
    reduced,
    require_canonical_axes,
    require_canonical_axis,
    shape_text,
)

_OF_UNSIGNED = {Combiner.MAX: Combiner.UMAX, Combiner.MIN: Combiner.UMIN}


@dataclass(frozen=True)
class _Space:
    """The iterators of a reduction and the operand's index over them."""

    names: tuple[str, ...]
    reduction: tuple[Iterator, ...]
    indices: tuple[AffineExpr, ...]

    @staticmethod
    def of(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> _Space:
        """Every axis keeps its letter; a kept axis of extent 1 is called `u`, for unit."""
        letters = axis_names(len(shape))
        kept = [axis for axis in range(len(shape)) if keepdims or axis not in axes]
        names = [letters[a] if a not in axes else f"u{a}" if len(axes) > 1 else "u" for a in kept]
        position = {axis: kept.index(axis) for axis in kept if axis not in axes}
        position |= {axis: len(kept) + number for number, axis in enumerate(axes)}
        return _Space(
            tuple(names),
            tuple(Iterator(letters[axis], shape[axis]) for axis in axes),
            tuple(AffineExpr.dimension(position[axis]) for axis in range(len(shape))),
        )


class ReductionOp(GraphOp, DefinedInTe, ABC):
    """
    Joins the elements along any axes. The element type stays: cast first to accumulate in a wider one.

        %r = graph.sum %x axes = [1] keepdims : tensor<2x3xf32> -> tensor<2x1xf32>
    """

    ELEMENTS: ClassVar = NUMBERS
    COMBINER: ClassVar[Combiner]
    """What joins two elements, where they are signed numbers."""

    HAS_IDENTITY: ClassVar[bool] = True
    """Whether the result over no elements is defined."""

    operand = operand_def()
    axes = prop_def(DenseArrayBase.constr(i64))
    keepdims = opt_prop_def(UnitAttr)
    result = result_def()

    assembly_format = (
        "$operand `axes` `=` $axes (`keepdims` $keepdims^)? attr-dict "
        "`:` type($operand) `->` type($result)"
    )

    def __init__(
        self, operand: Value, axes: int | Sequence[int] | None = None, keepdims: bool = False
    ):
        """`axes` may be negative; None means all of them."""
        type_ = tensor_type(operand)
        axes = normalized_axes(axes, type_.get_num_dims())
        super().__init__(
            operands=[operand],
            properties={
                "axes": DenseArrayBase.from_list(i64, axes),
                "keepdims": UnitAttr() if keepdims else None,
            },
            result_types=[self.infer_type(type_, axes, keepdims)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
        """The result type; `axes` counted from 0 and in order."""
        return TensorType(operand.get_element_type(), reduced(operand.get_shape(), axes, keepdims))

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        axes = self.axis_tuple
        require_canonical_axes(axes, type_.get_num_dims())
        shape = type_.get_shape()
        inferred = self.infer_type(type_, axes, self.keepdims is not None)
        if not self.HAS_IDENTITY and any(shape[axis] == 0 for axis in axes):
            require_elements(shape, axes, inferred.get_shape(), self.name)
        return (inferred,)

    @property
    def axis_tuple(self) -> tuple[int, ...]:
        return tuple(self.axes.get_values())

    def simplified(self) -> SSAValue | None:
        """Over no axes → the operand"""
        return self.operand if not self.axes.get_values() else None

    def numpy(self, x: Array) -> Array:
        keepdims = self.keepdims is not None
        if x.size == 0 and not self.HAS_IDENTITY:
            # NumPy refuses, although the result has no elements either.
            return np.empty(reduced(x.shape, self.axis_tuple, keepdims), x.dtype)
        return self.ufunc().reduce(x, axis=self.axis_tuple, keepdims=keepdims, dtype=x.dtype)

    def define(self, te: TeBuilder) -> SSAValue:
        type_ = tensor_type(self.operand)
        space = _Space.of(type_.get_shape(), self.axis_tuple, self.keepdims is not None)
        return te.compute(
            tensor_type(self.result),
            [Access(self.operand, space.indices)],
            names=space.names,
            reduction=space.reduction,
            combiner=self._combiner(type_.get_element_type()) if space.reduction else None,
        )

    def _combiner(self, element: Attribute) -> Combiner:
        if is_bool(element):
            return Combiner.OR if self.COMBINER is Combiner.MAX else Combiner.AND
        return (
            _OF_UNSIGNED.get(self.COMBINER, self.COMBINER)
            if is_unsigned(element)
            else self.COMBINER
        )

    @abstractmethod
    def ufunc(self) -> np.ufunc:
        """The NumPy function that joins two elements."""

    def flops(self) -> int | None:
        return element_count(shape_of(self.operand))


def require_elements(
    shape: Sequence[int], axes: Sequence[int], result: Sequence[int], name: str
) -> None:
    """Raise VerifyException, as NumPy raises, for a reduction without an identity over no elements."""
    if element_count(result) == 0:
        return
    raise VerifyException(
        f"found shape {shape_text(shape)} with no elements along axes {list(axes)}, expected at least one: "
        f"{name} of "
        "nothing is not defined; reduce over other axes"
    )


@graph_op
class SumOp(ReductionOp):
    """The sum; of nothing, 0; integers wrap."""

    name = "graph.sum"
    COMBINER: ClassVar = Combiner.ADD

    def ufunc(self) -> np.ufunc:
        return np.add


@graph_op
class ProdOp(ReductionOp):
    """The product; of nothing, 1; integers wrap."""

    name = "graph.prod"
    COMBINER: ClassVar = Combiner.MUL

    def ufunc(self) -> np.ufunc:
        return np.multiply


@graph_op
class MaxOp(ReductionOp):
    """The greatest; NaN if there is one; on i1, whether any is true. Of nothing: not defined."""

    name = "graph.max"
    COMBINER: ClassVar = Combiner.MAX
    ELEMENTS: ClassVar = EVERY
    HAS_IDENTITY: ClassVar = False

    def ufunc(self) -> np.ufunc:
        return np.maximum


@graph_op
class MinOp(ReductionOp):
    """The least; NaN if there is one; on i1, whether all are true. Of nothing: not defined."""

    name = "graph.min"
    COMBINER: ClassVar = Combiner.MIN
    ELEMENTS: ClassVar = EVERY
    HAS_IDENTITY: ClassVar = False

    def ufunc(self) -> np.ufunc:
        return np.minimum


class ArgReductionOp(GraphOp, DefinedInTe, ABC):
    """
    Where along one axis the extreme element is, as i64: of equal ones the first, of NaNs the first.

        %r = graph.argmax %x axis = 1 : tensor<2x3xf32> -> tensor<2xi64>
    """

    COMBINER: ClassVar[Combiner]

    operand = operand_def()
    axis = prop_def(IntegerAttr.constr(i64))
    keepdims = opt_prop_def(UnitAttr)
    result = result_def()

    assembly_format = (
        "$operand `axis` `=` $axis (`keepdims` $keepdims^)? attr-dict "
        "`:` type($operand) `->` type($result)"
    )

    def __init__(self, operand: Value, axis: int, keepdims: bool = False):
        type_ = tensor_type(operand)
        axis = normalized_axis(axis, type_.get_num_dims())
        super().__init__(
            operands=[operand],
            properties={
                "axis": IntegerAttr(axis, i64),
                "keepdims": UnitAttr() if keepdims else None,
            },
            result_types=[self.infer_type(type_, axis, keepdims)],
        )

    @classmethod
    def infer_type(cls, operand: Tensor, axis: int, keepdims: bool) -> Tensor:
        """The result type; `axis` counted from 0."""
        return TensorType(i64, reduced(operand.get_shape(), (axis,), keepdims))

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.operand)
        axis = self.axis.value.data
        require_canonical_axis(axis, type_.get_num_dims())
        inferred = self.infer_type(type_, axis, self.keepdims is not None)
        if type_.get_shape()[axis] == 0:
            require_elements(type_.get_shape(), (axis,), inferred.get_shape(), self.name)
        return (inferred,)

    def define(self, te: TeBuilder) -> SSAValue:
        type_ = tensor_type(self.operand)
        element = type_.get_element_type()
        space = _Space.of(type_.get_shape(), (self.axis.value.data,), self.keepdims is not None)

        def body(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> tuple[SSAValue, SSAValue]:
            return _in_signed_order(b.of_type(element), elements[0]), b.from_index(iterators[-1])

        return te.compute(
            tensor_type(self.result),
            [Access(self.operand, space.indices)],
            body,
            names=space.names,
            reduction=space.reduction,
            combiner=self.COMBINER,
        )

    def flops(self) -> int | None:
        return element_count(shape_of(self.operand))


def _in_signed_order(b: ScalarBuilder, value: SSAValue) -> SSAValue:
    """The value as one whose order among signed numbers is its own: with the top bit flipped if it is unsigned."""
    if b.is_bool:
        return b.cast_to(value, i8)
    return b.bit_xor(value, b.constant(1 << (b.width - 1))) if b.is_unsigned else value


@graph_op
class ArgmaxOp(ArgReductionOp):
    """Where the greatest element is."""

    name = "graph.argmax"
    COMBINER: ClassVar = Combiner.ARGMAX

    def numpy(self, x: Array) -> Array:
        axis, keepdims = self.axis.value.data, self.keepdims is not None
        if x.size == 0:
            return np.zeros(reduced(x.shape, (axis,), keepdims), np.int64)
        return np.argmax(x, axis=axis, keepdims=keepdims)


@graph_op
class ArgminOp(ArgReductionOp):
    """Where the least element is."""

    name = "graph.argmin"
    COMBINER: ClassVar = Combiner.ARGMIN

    def numpy(self, x: Array) -> Array:
        axis, keepdims = self.axis.value.data, self.keepdims is not None
        if x.size == 0:
            return np.zeros(reduced(x.shape, (axis,), keepdims), np.int64)
        return np.argmin(x, axis=axis, keepdims=keepdims)

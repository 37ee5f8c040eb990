"""Reductions over axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...frozen import frozen
from ..combiner import Combiner
from ..dtypes import is_bool, is_float, is_unsigned
from ..interfaces import Array, DefinedInTe
from ..scalar import NAN_LEFT_OPEN
from ..shaped import Tensor, dense_tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.reads import Iterator
from ..te.text import axis_names
from .base import EVERY, NUMBERS, GraphOp, Value, graph_op
from .shapes import (
    element_count,
    normalized_axes,
    reduced,
    require_canonical_axes,
    shape_text,
)

_OF_UNSIGNED = {Combiner.MAX: Combiner.UMAX, Combiner.MIN: Combiner.UMIN}


def combiner_on(combiner: Combiner, element: Attribute) -> Combiner:
    """What is on elements of this type as `combiner` is on signed numbers."""
    if is_bool(element):
        return Combiner.OR if combiner is Combiner.MAX else Combiner.AND
    return _OF_UNSIGNED.get(combiner, combiner) if is_unsigned(element) else combiner


@frozen
class ReductionSpace:
    """The iterators of a reduction and the operand's index over them."""

    names: tuple[str, ...]
    reduction: tuple[Iterator, ...]
    indices: tuple[AffineExpr, ...]

    @staticmethod
    def of(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> ReductionSpace:
        """Every axis keeps its letter; a kept axis of extent 1 is called `u`, for unit."""
        letters = axis_names(len(shape))
        kept = [axis for axis in range(len(shape)) if keepdims or axis not in axes]
        names = [letters[a] if a not in axes else f"u{a}" if len(axes) > 1 else "u" for a in kept]
        position = {axis: kept.index(axis) for axis in kept if axis not in axes}
        position |= {axis: len(kept) + number for number, axis in enumerate(axes)}
        return ReductionSpace(
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
        return dense_tensor(
            operand.get_element_type(), reduced(operand.get_shape(), axes, keepdims)
        )

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
        space = ReductionSpace.of(type_.get_shape(), self.axis_tuple, self.keepdims is not None)
        return te.compute(
            tensor_type(self.result),
            [Access(self.operand, space.indices)],
            names=space.names,
            reduction=space.reduction,
            combiner=self.combiner_on(type_.get_element_type()) if space.reduction else None,
        )

    def combiner_on(self, element: Attribute) -> Combiner:
        """What joins two elements of this type."""
        return combiner_on(self.COMBINER, element)

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
    """
    The greatest; NaN if there is one, unless `stepwell.nan_left_open` is said; on i1, whether any is true. Of nothing: not
    defined.
    """

    name = "graph.max"
    COMBINER: ClassVar = Combiner.MAX
    ELEMENTS: ClassVar = EVERY
    HAS_IDENTITY: ClassVar = False

    def ufunc(self) -> np.ufunc:
        return np.maximum

    def combiner_on(self, element: Attribute) -> Combiner:
        may_leave_out = NAN_LEFT_OPEN in self.attributes and is_float(element)
        return Combiner.MAXNUM if may_leave_out else super().combiner_on(element)


@graph_op
class MinOp(ReductionOp):
    """The least; NaN if there is one; on i1, whether all are true. Of nothing: not defined."""

    name = "graph.min"
    COMBINER: ClassVar = Combiner.MIN
    ELEMENTS: ClassVar = EVERY
    HAS_IDENTITY: ClassVar = False

    def ufunc(self) -> np.ufunc:
        return np.minimum

"""Pooling: the elements under a window that moves over a tensor, joined."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ...errors import StepwellError
from ..combiner import Combiner
from ..dtypes import is_float, numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, Body, TeBuilder, the_element
from ..te.index_maps import dims
from ..te.reads import Iterator
from ..te.text import axis_names
from .base import FLOATS, NUMBERS, GraphOp, Value, graph_op, number_attr
from .expressions import Decomposable, Expr
from .reductions import combiner_on
from .shapes import element_count, is_static, shape_text
from .windows import Window

NOWHERE = int(np.iinfo(np.int64).max)
"""The index that an element of the padding has: it loses against every other index."""


class PoolOp(GraphOp, ABC):
    """
    Joins the elements under a window, which has an extent for each axis of the operand, so that every layout can be
    said (StableHLO's reduce_window). What lies outside of the operand is left out.

        %r = graph.max_pool %x window = [1, 1, 3, 3] strides = [1, 1, 2, 2] dilations = [1, 1, 1, 1]
            low = [0, 0, 1, 1] high = [0, 0, 1, 1] : tensor<2x8x17x17xf32> -> tensor<2x8x9x9xf32>
    """

    ELEMENTS: ClassVar = NUMBERS

    operand = operand_def()
    window = prop_def(DenseArrayBase.constr(i64))
    strides = prop_def(DenseArrayBase.constr(i64))
    dilations = prop_def(DenseArrayBase.constr(i64))
    low = prop_def(DenseArrayBase.constr(i64))
    high = prop_def(DenseArrayBase.constr(i64))
    ceil = opt_prop_def(UnitAttr)
    result = result_def()

    assembly_format = (
        "$operand `window` `=` $window `strides` `=` $strides `dilations` `=` $dilations "
        "`low` `=` $low `high` `=` $high (`ceil` $ceil^)? attr-dict "
        "`:` type($operand) `->` type($result)"
    )

    def __init__(self, operand: Value, window: Window):
        type_ = tensor_type(operand)
        lists = {
            "window": window.extents,
            "strides": window.strides,
            "dilations": window.dilations,
            "low": window.low,
            "high": window.high,
        }
        super().__init__(
            operands=[operand],
            properties={
                **{name: DenseArrayBase.from_list(i64, values) for name, values in lists.items()},
                "ceil": UnitAttr() if window.ceil else None,
            },
            result_types=[self.infer_type(type_, window)],
        )

    @classmethod
    def result_element(cls, element: Attribute) -> Attribute:
        """The result's element type for an operand of this one."""
        return element

    @classmethod
    def infer_type(cls, operand: Tensor, window: Window) -> Tensor:
        """The result type. Raises VerifyException for a window that does not fit the operand."""
        shape = operand.get_shape()
        if not shape:
            raise VerifyException(
                "found a tensor without axes, expected one to move a window along"
            )
        window.require_elements(shape)
        return TensorType(cls.result_element(operand.get_element_type()), window.places(shape))

    def inferred_types(self) -> Sequence[Tensor]:
        return (self.infer_type(tensor_type(self.operand), self.sliding),)

    @property
    def sliding(self) -> Window:
        """The window of the properties."""
        lists = (self.window, self.strides, self.dilations, self.low, self.high)
        extents, strides, dilations, low, high = (tuple(values.get_values()) for values in lists)
        return Window(extents, strides, dilations, low, high, self.ceil is not None)

    def flops(self) -> int | None:
        count = element_count(shape_of(self.result))
        return None if count is None else count * prod(self.window.get_values())


class _WindowReductionOp(PoolOp, DefinedInTe, ABC):
    """A pool that is one reduction over the window."""

    COMBINER: ClassVar[Combiner]
    """What joins two elements, where they are signed numbers."""

    @abstractmethod
    def outside(self, element: Attribute) -> float | int:
        """What stands for an element outside of the operand: it changes no result."""

    def define(self, te: TeBuilder) -> SSAValue:
        type_ = tensor_type(self.operand)
        element = type_.get_element_type()
        outside = number_attr(self.outside(element), element)
        return reduced_window(
            te, self.sliding, self.operand, outside, combiner_on(self.COMBINER, element)
        )


def reduced_window(
    te: TeBuilder,
    window: Window,
    operand: SSAValue,
    outside: FloatAttr | IntegerAttr,
    combiner: Combiner,
    *,
    element: Attribute | None = None,
    others: Sequence[SSAValue] = (),
    body: Body = the_element,
    hint: str | None = None,
) -> SSAValue:
    """
    Insert a compute that joins what `body` makes of each element under the window, of the operand's element type or
    another. The body is given an element of the operand, `outside` where there is none, and that of the place from
    each of `others`.
    """
    type_ = tensor_type(operand)
    shape, rank = type_.get_shape(), window.rank
    axes, letters = window.axes, axis_names(rank)
    indices = window.indices(dims(rank), dict(zip(axes, dims(len(axes), rank), strict=True)))
    return te.compute(
        TensorType(element or type_.get_element_type(), window.places(shape)),
        [
            Access(operand, indices, outside if window.leaves(shape) else None),
            *(Access(other, dims(rank)) for other in others),
        ],
        body,
        reduction=[Iterator(f"w{letters[axis]}", window.extents[axis]) for axis in axes],
        combiner=combiner if axes else None,
        hint=hint,
    )


def _least(element: Attribute) -> float | int:
    """The least number of an element type."""
    return -np.inf if is_float(element) else int(np.iinfo(numpy_dtype(element)).min)


@graph_op
class MaxPoolOp(_WindowReductionOp):
    """The greatest element under the window; NaN if there is one."""

    name = "graph.max_pool"
    COMBINER: ClassVar = Combiner.MAX

    def outside(self, element: Attribute) -> float | int:
        return _least(element)

    def numpy(self, x: Array) -> Array:
        least = _least(tensor_type(self.operand).get_element_type())
        return self.sliding.slid(x, least).max(axis=tuple(range(-x.ndim, 0)))


@graph_op
class SumPoolOp(_WindowReductionOp):
    """The sum of the elements under the window; integers wrap."""

    name = "graph.sum_pool"
    COMBINER: ClassVar = Combiner.ADD

    def outside(self, element: Attribute) -> float | int:
        return 0

    def numpy(self, x: Array) -> Array:
        return self.sliding.slid(x, 0).sum(axis=tuple(range(-x.ndim, 0)), dtype=x.dtype)


@graph_op
class ArgmaxPoolOp(PoolOp, DefinedInTe):
    """
    Where the greatest element under the window is, as its row-major number among all elements of the operand, i64: of
    equal ones the first, of NaNs the first.
    """

    name = "graph.argmax_pool"

    @classmethod
    def result_element(cls, element: Attribute) -> Attribute:
        return i64

    def define(self, te: TeBuilder) -> SSAValue:
        """
        argmax_pool(x) is min(where(x == max_pool(x) or isnan(x), number of x, nowhere)) over the window.

        Both reductions run on vectors, which one that carries a value with its index would not.
        """
        element = tensor_type(self.operand).get_element_type()
        outside, window = number_attr(_least(element), element), self.sliding
        combiner = combiner_on(Combiner.MAX, element)
        greatest = reduced_window(te, window, self.operand, outside, combiner, hint="greatest")

        def number_if_greatest(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            of_x, (value, extreme) = b.of_type(element), elements
            number, is_inside = self._number(b, iterators)
            chosen = of_x.compare("eq", value, extreme)
            if of_x.is_float:
                chosen = b.bit_or(chosen, of_x.compare("ne", value, value))
            return b.select(b.bit_and(chosen, is_inside), number, b.constant(NOWHERE))

        return reduced_window(
            te,
            window,
            self.operand,
            outside,
            Combiner.MIN,
            element=i64,
            others=[greatest],
            body=number_if_greatest,
        )

    def _number(self, b: ScalarBuilder, iterators: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """The row-major number of the element that is looked at, and whether it is one of the operand."""
        window, index = self.sliding, b.of_type(IndexType())
        within = dict(zip(window.axes, iterators[window.rank :], strict=True))
        number, is_inside = index.constant(0), b.of_type(i1).constant(True)
        for axis, extent in enumerate(shape_of(self.operand)):
            position = index.mul(iterators[axis], index.constant(window.strides[axis]))
            if axis in within:
                step = index.mul(within[axis], index.constant(window.dilations[axis]))
                position = index.add(position, step)
            position = index.sub(position, index.constant(window.low[axis]))
            number = index.add(index.mul(number, index.constant(extent)), position)
            if axis in within:
                is_inside = b.bit_and(is_inside, index.compare("ge", position, index.constant(0)))
                is_inside = b.bit_and(
                    is_inside, index.compare("lt", position, index.constant(extent))
                )
        return b.from_index(number), is_inside

    def numpy(self, x: Array) -> Array:
        window = self.sliding
        under = window.slid(x, _least(tensor_type(self.operand).get_element_type()))
        places = under.shape[: x.ndim]
        flat = under.reshape(*places, prod(window.extents))
        counted = cast(Array, np.arange(x.size).reshape(x.shape))
        numbers = window.slid(counted, NOWHERE).reshape(flat.shape)
        # In the padding nothing is greatest: of equal elements the one with the least number is.
        greatest = flat.max(axis=-1, keepdims=True)
        candidates = np.where((flat == greatest) | (flat != flat), numbers, NOWHERE)
        return candidates.min(axis=-1)


@graph_op
class AveragePoolOp(PoolOp, Decomposable):
    """
    The mean of the elements under the window: of those of the operand, or with `count_padding` of the zeros in its
    padding too. What lies beyond the padding, under the last place of `ceil`, never counts.
    """

    name = "graph.average_pool"
    ELEMENTS: ClassVar = FLOATS

    count_padding = opt_prop_def(UnitAttr)

    assembly_format = (
        "$operand `window` `=` $window `strides` `=` $strides `dilations` `=` $dilations "
        "`low` `=` $low `high` `=` $high (`ceil` $ceil^)? (`count_padding` $count_padding^)? attr-dict "
        "`:` type($operand) `->` type($result)"
    )

    def __init__(self, operand: Value, window: Window, count_padding: bool = False):
        super().__init__(operand, window)
        if count_padding:
            self.properties["count_padding"] = UnitAttr()

    def counts(self, shape: Sequence[int]) -> Array:
        """How many elements are averaged at each place; broadcasts to the result."""
        window, result = self.sliding, np.ones((), np.int64)
        for axis, (extent, places) in enumerate(zip(shape, window.places(shape), strict=True)):
            before, after = (window.low[axis], window.high[axis]) if self.count_padding else (0, 0)
            counts = window.counts(axis, -before, extent + after, places)
            is_constant = counts.size and (counts == counts[0]).all()
            result = np.multiply.outer(result, counts[:1] if is_constant else counts)
        return result

    def numpy(self, x: Array) -> Array:
        total: Array = self.sliding.slid(x, 0).sum(axis=tuple(range(-x.ndim, 0)), dtype=x.dtype)
        return total / self.counts(x.shape).astype(x.dtype)

    def decompose(self, x: Expr) -> Expr:
        """average_pool(x) → sum_pool(x) / counts"""
        if not is_static(x.shape):
            raise StepwellError(
                f"found shape {shape_text(x.shape)} in {self.name}, expected static extents; give the extents",
                op=self,
            )
        total = x.made(SumPoolOp(x.value, self.sliding))
        counts = self.counts(x.shape)
        return total / x.constant(counts if counts.size != 1 else counts.item(), "count")

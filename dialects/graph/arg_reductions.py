"""Where along an axis the greatest or the least element is."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, TensorType, UnitAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def

from ..combiner import Combiner
from ..interfaces import Array, DefinedInTe
from ..scalar import ScalarBuilder
from ..shaped import Tensor, shape_of, tensor_type
from ..te.builder import Access, TeBuilder
from ..te.index_maps import dims
from .base import GraphOp, Value, graph_op
from .reductions import ReductionSpace, combiner_on, require_elements
from .shapes import element_count, normalized_axis, reduced, require_canonical_axis


class ArgReductionOp(GraphOp, DefinedInTe, ABC):
    """
    Where along one axis the extreme element is, as i64: of equal ones the first, of NaNs the first.

        %r = graph.argmax %x axis = 1 : tensor<2x3xf32> -> tensor<2xi64>
    """

    COMBINER: ClassVar[Combiner]
    """What finds the extreme element of signed numbers."""

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
        """
        argmax(x) is min(where(x == max(x) or isnan(x), i, n)) over the indices i = 0, 1, … n - 1.

        Both reductions run on vectors, which one that carries a value with its index would not.
        """
        type_, axis = tensor_type(self.operand), self.axis.value.data
        element, extent = type_.get_element_type(), type_.get_shape()[axis]
        # As a minimum or maximum along the axis is defined, so that one beside this is the same.
        alone = ReductionSpace.of(type_.get_shape(), (axis,), keepdims=False)
        extreme = te.compute(
            TensorType(element, reduced(type_.get_shape(), (axis,), False)),
            [Access(self.operand, alone.indices)],
            names=alone.names,
            reduction=alone.reduction,
            combiner=combiner_on(self.COMBINER, element),
            hint=str(self.COMBINER),
        )
        space = ReductionSpace.of(type_.get_shape(), (axis,), self.keepdims is not None)
        place = [index for n, index in enumerate(space.indices) if n != axis]
        counted_in = i32 if extent < 1 << 31 else i64

        def index_if_extreme(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            of_x = b.of_type(element)
            value, greatest = elements
            is_extreme = of_x.compare("eq", value, greatest)
            if of_x.is_float:
                is_extreme = b.bit_or(is_extreme, of_x.compare("ne", value, value))
            return b.select(is_extreme, b.from_index(iterators[-1]), b.constant(extent))

        shape = shape_of(self.result)
        first = te.compute(
            TensorType(counted_in, shape),
            [Access(self.operand, space.indices), Access(extreme, place)],
            index_if_extreme,
            names=space.names,
            reduction=space.reduction,
            combiner=Combiner.MIN,
            hint="first",
        )

        def widened(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            return b.of_type(counted_in).cast_to(elements[0], i64)

        return te.compute(TensorType(i64, shape), [Access(first, dims(len(shape)))], widened)

    def flops(self) -> int | None:
        return element_count(shape_of(self.operand))


@graph_op
class ArgmaxOp(ArgReductionOp):
    """Where the greatest element is."""

    name = "graph.argmax"
    COMBINER: ClassVar = Combiner.MAX

    def numpy(self, x: Array) -> Array:
        axis, keepdims = self.axis.value.data, self.keepdims is not None
        if x.size == 0:
            return np.zeros(reduced(x.shape, (axis,), keepdims), np.int64)
        return np.argmax(x, axis=axis, keepdims=keepdims)


@graph_op
class ArgminOp(ArgReductionOp):
    """Where the least element is."""

    name = "graph.argmin"
    COMBINER: ClassVar = Combiner.MIN

    def numpy(self, x: Array) -> Array:
        axis, keepdims = self.axis.value.data, self.keepdims is not None
        if x.size == 0:
            return np.zeros(reduced(x.shape, (axis,), keepdims), np.int64)
        return np.argmin(x, axis=axis, keepdims=keepdims)

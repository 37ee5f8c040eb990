"""Operations without operands: `constant` and `iota`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, ParamAttrConstraint, VarConstraint, prop_def, result_def, traits_def
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from ..dtypes import is_element_type, numpy_dtype
from ..interfaces import Array, DefinedInTe
from ..resources import ElementsAttr, elements_to_numpy, retyped, tensor_elements
from ..scalar import ScalarBuilder
from ..shaped import Tensor, tensor_type
from ..te.builder import TeBuilder, signless_tensor
from .base import EVERY, NUMBERS, GraphOp, graph_op
from .shapes import is_static, normalized_axis, require_canonical_axis


@graph_op
class ConstantOp(GraphOp, DefinedInTe):
    """
    A tensor known at compile time; large ones are resources, named here and kept beside the text.

        %w = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    """

    name = "graph.constant"
    COMPUTES: ClassVar = False

    _T: ClassVar = VarConstraint("T", AnyAttr())
    value = prop_def(
        ParamAttrConstraint(DenseIntOrFPElementsAttr, (_T, AnyAttr()))
        | ParamAttrConstraint(DenseResourceAttr, (AnyAttr(), _T))
    )
    result = result_def(_T)

    traits = traits_def(ConstantLike())
    assembly_format = "attr-dict $value"

    def __init__(self, value: ElementsAttr | Array | Any, hint: str = "constant"):
        """`value` is an attribute, or anything `numpy.asarray` takes; `hint` names a resource."""
        if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            value = tensor_elements(np.asarray(value), hint)
        attr = cast(ElementsAttr, value)
        super().__init__(properties={"value": attr}, result_types=[cast(Attribute, attr.type)])

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.result)
        if not is_element_type(type_.get_element_type()):
            raise VerifyException(
                f"found a constant of type {type_}, expected a tensor of "
                f"{', '.join(map(str, EVERY))}; give it one of these element types"
            )
        return (type_,)

    def fold(self) -> Sequence[Attribute]:
        return (self.value,)

    def array(self) -> Array:
        """The elements, read-only."""
        return elements_to_numpy(self.value)

    def numpy(self) -> Array:
        return self.array()

    def define(self, te: TeBuilder) -> SSAValue:
        type_ = signless_tensor(tensor_type(self.result))
        attr = self.value if type_ == self.result.type else retyped(self.value, type_)
        constant = te.insert(arith.ConstantOp(attr, type_))
        constant.result.name_hint = self.result.name_hint
        return constant.result

    def flops(self) -> int:
        return 0


@graph_op
class IotaOp(GraphOp, DefinedInTe):
    """
    Counts 0, 1, 2, … along one axis (`numpy.arange` broadcast); integers wrap.

        %i = graph.iota axis = 1 : tensor<2x5xi64>
    """

    name = "graph.iota"
    COMPUTES: ClassVar = False

    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def()

    assembly_format = "`axis` `=` $axis attr-dict `:` type($result)"

    def __init__(self, result_type: Tensor, axis: int = 0):
        axis = normalized_axis(axis, result_type.get_num_dims())
        super().__init__(properties={"axis": IntegerAttr(axis, i64)}, result_types=[result_type])

    def inferred_types(self) -> Sequence[Tensor]:
        type_ = tensor_type(self.result)
        if type_.get_element_type() not in NUMBERS:
            raise VerifyException(
                f"found element type {type_.get_element_type()}, expected one of "
                f"{', '.join(map(str, NUMBERS))}; count in one of these and cast"
            )
        if not is_static(type_.get_shape()):
            raise VerifyException(f"found result type {type_}, expected static extents; give them")
        require_canonical_axis(self.axis.value.data, type_.get_num_dims())
        return (type_,)

    def numpy(self) -> Array:
        type_ = tensor_type(self.result)
        shape, axis = type_.get_shape(), self.axis.value.data
        count = np.arange(shape[axis]).astype(numpy_dtype(type_.get_element_type()))
        along = count.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        return np.broadcast_to(along, shape)

    def define(self, te: TeBuilder) -> SSAValue:
        def count(
            b: ScalarBuilder, iterators: Sequence[SSAValue], elements: Sequence[SSAValue]
        ) -> SSAValue:
            return b.from_index(iterators[self.axis.value.data])

        return te.compute(tensor_type(self.result), [], count)

    def flops(self) -> int:
        return 0


class GraphConstantMaterialization(ConstantMaterializationInterface):
    """Lets xDSL's folding make `graph.constant` operations."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
            return None
        return ConstantOp(cast(ElementsAttr, value))

"""`tensor.generate`, which xDSL's `tensor` lacks."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import tensor
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..shaped import Tensor as TensorTypeOf
from ..shaped import shape_of
from .extended import extended


@irdl_op_definition
class GenerateOp(IRDLOperation):
    """
    Each element by a body that is given its indices.

        %t = tensor.generate { ^bb0(%i: index): … tensor.yield %x : f32 } : tensor<4xf32>
    """

    name = "tensor.generate"

    dynamic_extents = var_operand_def(IndexType())
    body = region_def("single_block")
    result = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = "$dynamic_extents $body attr-dict `:` type($result)"

    def __init__(self, result: TensorTypeOf, body: Region, extents: Sequence[SSAValue] = ()):
        super().__init__(operands=[extents], result_types=[result], regions=[body])

    def verify_(self) -> None:
        rank = len(shape_of(self.result))
        if len(self.body.block.args) != rank:
            raise VerifyException(
                f"found a body of {len(self.body.block.args)} arguments, expected {rank}: an index for each axis; "
                "mend it"
            )


Tensor = extended(tensor.Tensor, GenerateOp)

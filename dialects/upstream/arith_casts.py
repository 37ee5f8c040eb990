"""
Casts of `arith` on vectors, where xDSL allows scalars only.

The text is upstream's. The operation registered under a name in `arith.Arith` is parsed as xDSL's own
when it is on scalars.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IndexType, IntegerType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

_INTEGER = (IntegerType,)
_INTEGER_OR_INDEX = (IntegerType, IndexType)


def _element(type_: Attribute) -> Attribute:
    return cast("VectorType[Attribute]", type_).element_type if _shape(type_) else type_


def _shape(type_: Attribute) -> tuple[int, ...]:
    return type_.get_shape() if isinstance(type_, VectorType) else ()


def _bits(type_: Attribute) -> int:
    """As `dtypes.bit_width`, which would bring NumPy: text is read and written without it."""
    return 64 if isinstance(type_, IndexType) else cast(FixedBitwidthType, type_).bitwidth


class _Cast(IRDLOperation):
    """What casts have in common. `WIDER` says whether the result has more bits, or fewer."""

    SCALAR: ClassVar[type[Operation]]
    SOURCES: ClassVar[tuple[Any, ...]] = _INTEGER
    TARGETS: ClassVar[tuple[Any, ...]] = _INTEGER
    WIDER: ClassVar[bool | None] = None

    input = operand_def(AnyAttr())
    result = result_def(AnyAttr())
    traits = traits_def(Pure())

    def __init__(self, value: SSAValue, type_: Attribute):
        super().__init__(operands=[value], result_types=[type_])

    def verify_(self) -> None:
        old, new = self.input.type, self.result.type
        if (
            _shape(old) != _shape(new)
            or not isinstance(_element(old), self.SOURCES)
            or not isinstance(_element(new), self.TARGETS)
            or not self._fits(_element(old), _element(new))
        ):
            raise VerifyException(
                f"found a cast of {old} to {new}, expected as many lanes of what {self.name} casts to; "
                "mend the types"
            )

    def _fits(self, old: Attribute, new: Attribute) -> bool:
        if self.WIDER is None:
            return old != new
        return _bits(new) != _bits(old) and (_bits(new) > _bits(old)) == self.WIDER

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.input)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.input.type)
        printer.print_string(" to ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Operation:
        operand = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        old = cast(Attribute, parser.parse_type())
        parser.parse_keyword("to")
        new = cast(Attribute, parser.parse_type())
        value = parser.resolve_operand(operand, old)
        kind = cls if isinstance(value.type, VectorType) else cls.SCALAR
        return kind.create(
            operands=[value],
            result_types=[new],
            attributes=attributes,
        )


@irdl_op_definition
class VectorIndexCastOp(_Cast):
    """`arith.index_cast %v : vector<8xindex> to vector<8xi32>`"""

    name = "arith.index_cast"
    SCALAR: ClassVar[type[Operation]] = arith.IndexCastOp
    SOURCES: ClassVar[tuple[Any, ...]] = _INTEGER_OR_INDEX
    TARGETS: ClassVar[tuple[Any, ...]] = _INTEGER_OR_INDEX

    def _fits(self, old: Attribute, new: Attribute) -> bool:
        return isinstance(old, IndexType) != isinstance(new, IndexType)


@irdl_op_definition
class VectorSIToFPOp(_Cast):
    """`arith.sitofp %v : vector<8xi32> to vector<8xf32>`"""

    name = "arith.sitofp"
    SCALAR: ClassVar[type[Operation]] = arith.SIToFPOp
    TARGETS: ClassVar[tuple[Any, ...]] = (AnyFloat,)


@irdl_op_definition
class VectorUIToFPOp(_Cast):
    """`arith.uitofp %v : vector<8xi32> to vector<8xf32>`"""

    name = "arith.uitofp"
    SCALAR: ClassVar[type[Operation]] = arith.UIToFPOp
    TARGETS: ClassVar[tuple[Any, ...]] = (AnyFloat,)


@irdl_op_definition
class VectorFPToSIOp(_Cast):
    """`arith.fptosi %v : vector<8xf32> to vector<8xi32>`"""

    name = "arith.fptosi"
    SCALAR: ClassVar[type[Operation]] = arith.FPToSIOp
    SOURCES: ClassVar[tuple[Any, ...]] = (AnyFloat,)


@irdl_op_definition
class VectorFPToUIOp(_Cast):
    """`arith.fptoui %v : vector<8xf32> to vector<8xi32>`"""

    name = "arith.fptoui"
    SCALAR: ClassVar[type[Operation]] = arith.FPToUIOp
    SOURCES: ClassVar[tuple[Any, ...]] = (AnyFloat,)


@irdl_op_definition
class VectorTruncIOp(_Cast):
    """`arith.trunci %v : vector<8xi32> to vector<8xi8>`"""

    name = "arith.trunci"
    SCALAR: ClassVar[type[Operation]] = arith.TruncIOp
    WIDER: ClassVar[bool | None] = False


@irdl_op_definition
class VectorExtSIOp(_Cast):
    """`arith.extsi %v : vector<8xi8> to vector<8xi32>`"""

    name = "arith.extsi"
    SCALAR: ClassVar[type[Operation]] = arith.ExtSIOp
    WIDER: ClassVar[bool | None] = True


@irdl_op_definition
class VectorExtUIOp(_Cast):
    """`arith.extui %v : vector<8xi8> to vector<8xi32>`"""

    name = "arith.extui"
    SCALAR: ClassVar[type[Operation]] = arith.ExtUIOp
    WIDER: ClassVar[bool | None] = True


CASTS: dict[type[Operation], type[Operation]] = {
    op.SCALAR: op
    for op in (
        VectorIndexCastOp,
        VectorSIToFPOp,
        VectorUIToFPOp,
        VectorFPToSIOp,
        VectorFPToUIOp,
        VectorTruncIOp,
        VectorExtSIOp,
        VectorExtUIOp,
    )
}
"""xDSL's casts of scalars, and the same of vectors."""
